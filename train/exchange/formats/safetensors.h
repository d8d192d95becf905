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

/// Opens a safetensors file. Its values are the entries of "__metadata__". Throws InputError, beginning with the path, for a file that does
/// not match its header: tensors must follow one another without gaps, from the header to the end.
WeightFile open_safetensors(const std::string& path);

/// Opens a safetensors file in memory, which must outlive the result. Errors begin with `name`.
WeightFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

/// Opens a model in several files by its index, a "model.safetensors.index.json" beside them. Throws InputError if the index and the files
/// do not agree. The message names all missing files, or all files and tensors that the index does not name.
WeightFile open_safetensors_index(const std::string& path);

/// A tensor's name, and the name of the file that has it.
using ShardOfTensor = std::pair<std::string, std::string>;

/// Returns the "weight_map" of an index, sorted. Throws InputError for a text that is not an index, a tensor that is named twice, and a
/// name that is not a file in the index's own folder.
std::vector<ShardOfTensor> parse_safetensors_index(std::string_view text, const std::string& name);

/// Writes a safetensors file as the format's own library does: tensors ordered by type (f64, f32, bf16, f16), then by name, and a header
/// padded to a multiple of 8 bytes. "__metadata__" is {"format": "pt"}, which transformers requires. Atomic, as write_file() is. Throws
/// InputError for a tensor of another type, two tensors with the same name, or a name that is not UTF-8.
void write_safetensors(const std::string& path, std::vector<NewTensor> tensors, Faults* faults = nullptr);

}  // namespace dikkat
