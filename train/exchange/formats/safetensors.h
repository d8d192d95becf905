#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "train/exchange/formats/new_tensor.h"
#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// Opens a safetensors file. Its values are the entries of "__metadata__". Throws InputError, beginning with the path, for a file that does
/// not match its header. Tensors must follow one another without gaps, from the header to the end.
WeightFile open_safetensors(const std::string& path);

/// Opens a safetensors file in memory, which must outlive the result. Errors begin with `name`.
WeightFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

/// Writes a safetensors file as the format's own library does. Tensors are ordered by type (f64, f32, bf16, f16), then by name, and the
/// header is padded to a multiple of 8 bytes. "__metadata__" is {"format": "pt"}, which transformers requires. Atomic, as write_file() is.
/// Throws InputError for a tensor of another type, two tensors with the same name, or a name that is not UTF-8.
void write_safetensors(const std::string& path, std::vector<NewTensor> tensors, Faults* faults = nullptr);

}  // namespace dikkat
