#pragma once

#include <cstdint>
#include <string_view>

#include "autograd/base/index.h"
#include "autograd/base/names.h"

namespace dikkat {

/// The way in which the features of a text's positions become one vector: those of its last position, or their mean.
enum class Pooling : std::uint8_t { last, mean };
template <>
struct Names<Pooling> {
  static constexpr std::string_view of[] = {"last", "mean"};
};

/// Training of vectors from pairs of texts (train/run/objectives/contrast.h has the formula).
struct EmbeddingConfig {
  index batch = 0;  // pairs of a step, which are compared with each other; 0: the run does not train vectors
  Pooling pooling = Pooling::mean;
  double temperature = 0.05;  // cosines are divided by it

  bool is_on() const { return batch > 0; }

  bool operator==(const EmbeddingConfig&) const = default;
};

}  // namespace dikkat
