#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/grammar/token_grammar.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

inline std::shared_ptr<const TokenTrie> byte_trie() {
  static const auto trie = std::make_shared<const TokenTrie>(*make_tokenizer("byte", {}));
  return trie;
}

/// A grammar over bytes.
inline std::shared_ptr<const TokenGrammar> over_bytes(const Grammar& grammar) {
  return std::make_shared<const TokenGrammar>(grammar, byte_trie(), std::vector<Token>{});
}

/// Random numbers that are the same in every run.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 1) {}

  /// A number from 0 to `count` - 1.
  index roll(index count) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<index>((state_ >> 11) % static_cast<std::uint64_t>(count));
  }
  bool coin() { return roll(2) == 0; }

 private:
  std::uint64_t state_;
};

/// A token that stands for the end of a walk.
inline constexpr Token kWalkEnds = -1;

/// Draws tokens of a grammar until the text is complete: often one that comes near its end, otherwise any. Returns the text, and whether it
/// is complete.
inline std::pair<std::string, bool> random_walk(const TokenGrammar& grammar, const TokenTrie& trie, Dice& dice, index most = 3000) {
  const auto constraint = grammar.constraint();
  std::string text;
  for (index i = 0; i < most; ++i) {
    std::vector<float> logits(static_cast<std::size_t>(trie.vocab_size()), 0.0F);
    if (grammar.matches(text) && dice.coin()) {
      return {text, true};
    }
    if (constraint->is_complete()) {
      return {text, true};
    }
    constraint->mask(logits);
    std::vector<Token> allowed, near;
    for (Token token = 0; token < trie.vocab_size(); ++token) {
      if (logits[static_cast<std::size_t>(token)] == 0) {
        allowed.push_back(token);
        const char first = trie.text(token).front();
        if (std::string_view("\"}],:").find(first) != std::string_view::npos) {
          near.push_back(token);
        }
      }
    }
    const std::vector<Token>& among = !near.empty() && dice.roll(3) > 0 ? near : allowed;
    const Token token = among[static_cast<std::size_t>(dice.roll(std::ssize(among)))];
    constraint->accept(token);
    text += trie.text(token);
  }
  return {text, false};
}

}  // namespace dikkat
