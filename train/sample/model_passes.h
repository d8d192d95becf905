#pragma once

#include <span>
#include <vector>

#include "layers/models/gpt.h"
#include "train/text/token.h"

namespace dikkat {

/// The passes of a model that generation makes. The object keeps its memory from pass to pass. Logits that are NaN make generation
/// impossible, and show that the weights are not finite.
class ModelPasses {
 public:
  /// The most sequences of a pass of single tokens. Up to this, matrix products compute each row as if it were the only one.
  static constexpr index kMostRows = 16;

  /// Reads the next tokens of a sequence. Writes the logits after the last one, (V), unless `logits` is empty. Throws Error if they are
  /// NaN.
  void read(const Gpt& model, std::span<const Token> tokens, KeyValueCache& sequence, std::span<float> logits);

  /// A sequence with one more token to read.
  struct Row {
    Token token;
    KeyValueCache* sequence;
    std::span<float> logits;  // (V): receives the logits after the token
  };
  /// Reads one token of each sequence, at most kMostRows. The result of a row does not depend on the other rows. Returns for each row
  /// whether its logits are NaN, valid until the next call.
  std::span<const char> read_one_of_each(const Gpt& model, std::span<const Row> rows);

  /// Returns the error for logits that are NaN.
  static Error nan_error();

 private:
  Tape tape_{Recording::off};
  std::vector<Token> tokens_;
  std::vector<KeyValueCache*> sequences_;
  std::vector<char> is_nan_;  // whether each row's logits are NaN
};

}  // namespace dikkat
