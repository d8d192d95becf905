#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// Opens a GGUF file of version 2 or 3. Shapes are row-major, the reverse of the dimensions in the file. Strings in arrays (a vocabulary)
/// are views into the file. Throws InputError, beginning with the path, for a file that llama.cpp refuses too. Tensors must follow one
/// another in the order of their descriptions, each padded to the alignment.
WeightFile open_gguf(const std::string& path);

/// Opens a GGUF file in memory, which must outlive the result. Errors begin with `name`.
WeightFile parse_gguf(std::span<const std::byte> bytes, const std::string& name);

}  // namespace dikkat
