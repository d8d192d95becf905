#pragma once

#include <span>
#include <vector>

#include "layers/models/gpt.h"
#include "train/text/token.h"

namespace dikkat {

/// The passes of a model that generation makes. The object keeps its memory from pass to pass. Logits that are NaN make generation
/// impossible, and show that the weights are not finite.
///
/// The result of a row of a matrix product does not depend on the other rows, except for one thing: products of up to kMostRows rows add in
/// another order than larger ones.
class ModelPasses {
 public:
  /// The most sequences of a pass of single tokens.
  static constexpr index kMostRows = 16;

  /// The next tokens of a sequence.
  struct Chunk {
    std::span<const Token> tokens;
    KeyValueCache* sequence;
    std::span<float> last{};  // (V): receives the logits after the last token, unless it is empty
  };
  /// Reads the next tokens of one sequence, or of several that have the same length. Several chunks have more than kMostRows tokens each;
  /// so the result of each is the one that it has alone. Shorter chunks are filled up to the longest, which must fit into the context. With
  /// `scores`, also computes the logits after each token, see logits_after(). Returns for each chunk whether its `last` are NaN, valid
  /// until the next call.
  std::span<const char> read_chunks(const Gpt& model, std::span<const Chunk> chunks, bool scores);
  /// Returns the logits after a token of a chunk, (V), valid until the next call.
  std::span<const float> logits_after(index chunk, index token) const;

  /// A sequence with one more token to read.
  struct Row {
    Token token;
    KeyValueCache* sequence;
    std::span<float> logits;  // (V): receives the logits after the token
  };
  /// Reads one token of each sequence, at most kMostRows. Returns for each row whether its logits are NaN, valid until the next call.
  std::span<const char> read_one_of_each(const Gpt& model, std::span<const Row> rows);

  /// Returns the error for logits that are NaN.
  static Error nan_error();

 private:
  Tape tape_{Recording::off};
  std::vector<Token> tokens_;
  std::vector<KeyValueCache*> sequences_;
  std::vector<char> is_nan_;  // whether each row's logits are NaN
  Tensor all_logits_;         // (chunks, tokens, V): those of the last pass
};

}  // namespace dikkat
