#pragma once

#include <cstddef>
#include <cstdint>

#include "train/text/tokenizer.h"

namespace dikkat {

/// Two adjacent tokens as one number, for the hash tables of byte pair encoding.
using PairKey = std::uint64_t;

inline PairKey pair_key(Token left, Token right) {
  return PairKey{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

struct PairKeyHash {
  std::size_t operator()(PairKey key) const { return (key ^ key >> 29) * 0x9E3779B97F4A7C15ULL >> 20; }
};

}  // namespace dikkat
