#pragma once

#include <functional>
#include <span>
#include <vector>

#include "train/model/pooling.h"

namespace dikkat {

/// Computes vectors of texts with a trained model: pooled features, normalized to length 1. The bits of a vector depend only on its text.
/// So each text begins a row of its own, because rotary angles have other bits at other positions, and texts of similar lengths share a
/// pass, which leaves little padding.
class TextVectors {
 public:
  /// Keeps a reference to the model.
  TextVectors(const Gpt& model, Pooling pooling) : model_(model), pooling_(pooling) {}

  /// Returns the width of a vector.
  index width() const { return model_.config().n_embd; }
  /// Returns the vectors of texts, (texts, C). Each text has 1 token or more, and fits into the model's context. A pass of the model has at
  /// most kTokensAtOnce positions, or one text. Calls `progress` after each with the number of texts that are done.
  std::vector<float> operator()(std::span<const std::vector<Token>> texts, const std::function<void(index done)>& progress = {});

  static constexpr index kTokensAtOnce = 2048;

 private:
  void compute(std::span<const std::vector<Token>> texts, std::span<const std::size_t> some, float* vectors);

  const Gpt& model_;
  Pooling pooling_;
  Tape tape_{Recording::off};
  Batch batch_;
};

/// Divides a vector by its length. A vector of zeros stays one.
void normalize(std::span<float> vector);

}  // namespace dikkat
