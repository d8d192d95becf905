#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// Opens a model in several files by its index, a "model.safetensors.index.json" next to them. Throws InputError if the index and the files
/// do not agree. The message names all missing files, or all files and tensors that the index does not name.
WeightFile open_safetensors_index(const std::string& path);

/// A tensor's name, and the name of the file that has it.
using ShardOfTensor = std::pair<std::string, std::string>;

/// Returns the "weight_map" of an index, sorted. Throws InputError for JSON that is not an index, a tensor that is named twice, and a name
/// that is not a file in its folder.
std::vector<ShardOfTensor> parse_safetensors_index(std::string_view text, const std::string& name);

}  // namespace dikkat
