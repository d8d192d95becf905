#pragma once

#include <functional>
#include <span>
#include <vector>

#include "train/model/pooling.h"

namespace dikkat {

/// A text's place in a row of packed texts.
struct VectorPlace {
  index text = 0;   // its index
  index begin = 0;  // its first position
};
/// Packs texts of these lengths, 1 or more, into a row so that the bits of a text's features depend on neither its place nor its neighbors.
/// Attention goes through a row in blocks of 64 positions, and in panels of 16. So a text of at most 64 tokens lies in one block, a longer
/// one begins with a block, and each has its own panels. Returns the places in the order of positions. `cols` gets the length of the row.
std::vector<VectorPlace> place_texts(std::span<const index> lengths, index& cols);

/// Computes vectors of texts with a trained model: pooled features, normalized to length 1. The bits of a vector depend only on its text.
class TextVectors {
 public:
  /// Keeps a reference to the model.
  TextVectors(const Gpt& model, Pooling pooling) : model_(model), pooling_(pooling) {}

  /// Returns the width of a vector.
  index width() const { return model_.config().n_embd; }
  /// Returns the vectors of texts, (texts, C). Each text has 1 token or more, and fits into the model's context. Texts of about
  /// kTokensAtOnce tokens share a pass of the model. Calls `progress` after each with the number of texts that are done.
  std::vector<float> operator()(std::span<const std::vector<Token>> texts, const std::function<void(index done)>& progress = {});

  static constexpr index kTokensAtOnce = 2048;

 private:
  void compute(std::span<const std::vector<Token>> texts, std::span<const index> some, float* vectors);

  const Gpt& model_;
  Pooling pooling_;
  Tape tape_{Recording::off};
  Batch batch_;
};

/// Divides a vector by its length. A vector of zeros stays one.
void normalize(std::span<float> vector);

}  // namespace dikkat
