#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"

// A sweep varies keys of the configuration. It trains all combinations of their values.
namespace dikkat {

/// A key and the values that it takes in turn, as TOML.
struct Variation {
  std::string key;
  std::vector<std::string> values;

  bool operator==(const Variation&) const = default;
};

/// Parses strings such as "optim.learning_rate=1e-3,2e-3". Throws InputError with all problems: an unknown key, a value that the key does
/// not accept, a repeated key or value, and keys whose values cannot be compared by their losses (texts, tokenizers, seeds).
std::vector<Variation> parse_variations(std::span<const std::string> texts);

/// Parses "1,2,3". Throws InputError for an item that is not a seed, or is repeated.
std::vector<index> parse_seeds(std::string_view text);

/// One point of a grid.
struct GridPoint {
  std::string name;                      // "optim.learning_rate=0.002,model.n_layer=4", which is also a file name
  std::vector<std::string> assignments;  // for apply_override()
};

/// Returns all combinations. The values of the last key change fastest. Without variations there is one point with an empty name. Throws
/// InputError if there are too many.
std::vector<GridPoint> grid_of(std::span<const Variation> variations);

}  // namespace dikkat
