#include "train/data/token_store.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {

TokenStore::TokenStore(index vocab_size) : vocab_size_(vocab_size) {
  require(vocab_size >= 1 && vocab_size <= index{1} << 31, "token store: a vocabulary of ", vocab_size, ", expected 1 to 2^31");
  if (vocab_size > 65536) {
    tokens_.emplace<std::vector<std::uint32_t>>();
  }
}

void TokenStore::append(std::span<const Token> tokens) {
  for (const Token token : tokens) {
    require(token >= 0 && token < vocab_size_, "token store: token ", token, ", expected 0 to ", vocab_size_ - 1);
  }
  std::visit([&](auto& store) { store.insert(store.end(), tokens.begin(), tokens.end()); }, tokens_);
}

void TokenStore::reserve(index tokens) {
  std::visit([&](auto& store) { store.reserve(static_cast<std::size_t>(tokens)); }, tokens_);
}

index TokenStore::size() const {
  return std::visit([](const auto& store) { return static_cast<index>(store.size()); }, tokens_);
}

void TokenStore::read(index first, index count, Token* out) const {
  require(first >= 0 && count >= 0 && count <= size() - first, "token store: ", count, " tokens from ", first, " on, expected some of the ",
          size(), " in it");
  std::visit(
      [&](const auto& store) {
        std::transform(store.begin() + first, store.begin() + first + count, out, [](auto token) { return static_cast<Token>(token); });
      },
      tokens_);
}

}  // namespace dikkat
