#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "train/exchange/formats/new_tensor.h"
#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// Opens a GGUF file of version 2 or 3. Shapes are row-major, the reverse of the dimensions in the file. Texts in arrays (a vocabulary) are
/// views into the file. Throws InputError, beginning with the path, for a file that llama.cpp would refuse too: tensors follow one another
/// in the order of their descriptions, each padded to the alignment.
WeightFile open_gguf(const std::string& path);

/// The same for a file in memory, which must outlive the result; `name` begins error messages.
WeightFile parse_gguf(std::span<const std::byte> bytes, const std::string& name);

/// Writes a GGUF file of version 3, values and tensors in the order given. Every tensor, the last too, is padded with zeros to 32 bytes, or
/// to the value "general.alignment" (u32). Atomic, as write_file() is. Throws InputError for a name of more than 63 bytes, more than four
/// extents, a row of q8_0 or q4_0 that is not a multiple of 32, or two equal names or keys.
void write_gguf(const std::string& path, const std::vector<MetaEntry>& metadata, const std::vector<NewTensor>& tensors,
                Faults* faults = nullptr);

}  // namespace dikkat
