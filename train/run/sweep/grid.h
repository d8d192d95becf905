#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"

// What a sweep varies: keys of the configuration with lists of values, and all combinations of these.
namespace dikkat {

/// A key and the values that it takes in turn, as TOML.
struct Variation {
  std::string key;
  std::vector<std::string> values;

  bool operator==(const Variation&) const = default;
};

/// From texts such as "optim.learning_rate=1e-3,2e-3". Throws InputError with all that is wrong: an unknown key, a value that the key does
/// not accept, a key or value that is given twice, and keys that no sweep can compare by their losses (texts, tokenizers, seeds).
std::vector<Variation> parse_variations(std::span<const std::string> texts);

/// From "1,2,3". Throws InputError for what is no seed, or is given twice.
std::vector<index> parse_seeds(std::string_view text);

/// One point of a grid.
struct GridPoint {
  std::string name;                      // "optim.learning_rate=0.002,model.n_layer=4": also the name of a file
  std::vector<std::string> assignments;  // each as apply_override() takes it
};

/// All combinations; the values of the last key change fastest. Without variations there is one point, whose name is empty. Throws
/// InputError if there are more than anybody can mean.
std::vector<GridPoint> grid_of(std::span<const Variation> variations);

}  // namespace dikkat
