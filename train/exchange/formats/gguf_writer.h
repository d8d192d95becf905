#pragma once

#include <string>
#include <vector>

#include "train/exchange/formats/new_tensor.h"
#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// Writes a GGUF file of version 3, with values and tensors in the given order. Every tensor is padded with zeros to 32 bytes, or to the
/// value "general.alignment" (u32). Atomic, as write_file() is. Throws InputError for a name of more than 63 bytes, more than four extents,
/// and two equal names or keys. Throws it also for a row of q8_0 or q4_0 that is not a multiple of 32.
void write_gguf(const std::string& path, const std::vector<MetaEntry>& metadata, const std::vector<NewTensor>& tensors,
                Faults* faults = nullptr);

}  // namespace dikkat
