#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "autograd/base/index.h"
#include "train/text/token.h"

namespace dikkat {

/// The tokens of a text, two bytes each where the vocabulary has at most 65,536, else four.
class TokenStore {
 public:
  /// An empty store. Throws Error unless 1 <= vocab_size <= 2^31.
  explicit TokenStore(index vocab_size);

  /// Throws Error for a token outside the vocabulary.
  void append(std::span<const Token> tokens);
  void reserve(index tokens);

  index size() const;
  index vocab_size() const { return vocab_size_; }
  /// Writes tokens `first` to `first + count - 1`. Throws Error where they are not all in the store.
  void read(index first, index count, Token* out) const;

 private:
  index vocab_size_;
  std::variant<std::vector<std::uint16_t>, std::vector<std::uint32_t>> tokens_;
};

}  // namespace dikkat
