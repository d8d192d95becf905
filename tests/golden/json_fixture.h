#pragma once

#include <algorithm>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/model/language_model.h"

// PyTorch's numbers in JSON files of this folder. The Python programs beside them write them.
namespace dikkat::testing {

/// Reads a file of this folder.
inline nlohmann::json json_fixture(const char* file) {
  return nlohmann::json::parse(std::ifstream(std::string(DIKKAT_SOURCE_DIR "/tests/golden/") + file));
}

/// Returns the configuration of a fixture's model, which has no dropout.
inline TransformerConfig golden_config(const nlohmann::json& c) {
  TransformerConfig config;
  config.n_layer = c["n_layer"];
  config.n_head = c["n_head"];
  config.n_embd = c["n_embd"];
  config.block_size = c["block_size"];
  config.vocab_size = c["vocab_size"].get<index>();
  config.dropout = 0;
  return config;
}

/// Sets a laid-out parameter to the numbers that `all` has under its path.
inline void load_golden(ParameterStore::Entry& entry, const nlohmann::json& all) {
  const nlohmann::json& list = all.at(entry.path);
  require(std::ssize(list) == entry.size(), "golden: ", entry.path, " has ", list.size(), " numbers, expected ", entry.size());
  std::ranges::transform(list, static_cast<float*>(entry.record.data),
                         [](const nlohmann::json& number) { return static_cast<float>(number.get<double>()); });
}

}  // namespace dikkat::testing
