#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/exchange/formats/new_tensor.h"
#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// Opens a safetensors file. Its "__metadata__" are the values. Throws InputError, beginning with the path, for a file that is not exactly
/// what its header says: tensors follow one another without gaps, from the header to the end.
WeightFile open_safetensors(const std::string& path);

/// The same for a file in memory, which must outlive the result; `name` begins error messages.
WeightFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

/// Opens a model divided into several files by its index, a "model.safetensors.index.json" beside them. Throws InputError if the index and
/// the files do not agree: all files that are missing are named at once, then files and tensors that the index does not name.
WeightFile open_safetensors_index(const std::string& path);

/// A tensor's name, and the name of the file that has it.
using ShardOfTensor = std::pair<std::string, std::string>;

/// The "weight_map" of an index, sorted. Throws InputError for a text that is none, a tensor that is named twice, and a file name that is
/// not one in the index's own folder.
std::vector<ShardOfTensor> parse_safetensors_index(std::string_view text, const std::string& name);

/// Writes a safetensors file as the format's own library does: tensors ordered by type (f64, f32, bf16, f16), then by name, the header
/// padded to a multiple of 8 bytes, "__metadata__" {"format": "pt"}, which transformers asks for. Atomic, as write_file() is. Throws
/// InputError for a tensor of another type, two of the same name, or a name that is not UTF-8.
void write_safetensors(const std::string& path, std::vector<NewTensor> tensors, Faults* faults = nullptr);

}  // namespace dikkat
