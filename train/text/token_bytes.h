#pragma once

#include <span>
#include <vector>

#include "train/text/tokenizer.h"

namespace dikkat {

/// The number of bytes of text that each token stands for. Only this class decides it, so that bits per byte mean the same everywhere. A
/// special token (an end, a separator, a begin token, padding, template markup) stands for 0 bytes, whatever its name.
class TokenBytes {
 public:
  explicit TokenBytes(const Tokenizer& tokenizer);

  /// Throws std::out_of_range for an id outside of the vocabulary.
  index of(Token token) const { return sizes_.at(static_cast<std::size_t>(token)); }
  /// Returns the sum over all tokens.
  index of(std::span<const Token> tokens) const;

 private:
  std::vector<index> sizes_;  // by id
};

}  // namespace dikkat
