#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <tsl/robin_map.h>

#include "train/text/pair_key.h"
#include "train/text/token.h"

/// The merges of byte pair encoding, ready for encoding. This header is private to its folder.
namespace dikkat {

/// Replaces pairs of adjacent tokens: the pair with the lowest rank first, and the leftmost of several. Immutable once it is filled.
class MergeTable {
 public:
  using Rank = std::uint32_t;

  void reserve(std::size_t merges) { entries_.reserve(merges); }
  /// Adds a merge. Returns false, and changes nothing, if the pair already has one.
  bool add(Token left, Token right, Rank rank, Token result) { return entries_.emplace(pair_key(left, right), Entry{rank, result}).second; }

  /// Appends the symbols that remain when no pair has a merge any more. Changes `symbols`, which must be fewer than 2^32 - 1. Takes O(n log
  /// n).
  void encode(std::span<Token> symbols, std::vector<Token>& out) const {
    if (symbols.size() <= kShort) {
      encode_short(symbols, out);
    } else {
      encode_long(symbols, out);
    }
  }

  /// Up to this many symbols, scanning for the best merge in O(n^2) is fastest.
  static constexpr std::size_t kShort = 64;

 private:
  static constexpr Rank kNone = std::numeric_limits<Rank>::max();
  struct Entry {
    Rank rank = kNone;
    Token result = -1;
  };

  Entry entry(Token left, Token right) const {
    const auto found = entries_.find(pair_key(left, right));
    return found == entries_.end() ? Entry() : found->second;
  }
  void encode_short(std::span<Token> symbols, std::vector<Token>& out) const;
  void encode_long(std::span<Token> symbols, std::vector<Token>& out) const;

  tsl::robin_map<PairKey, Entry, PairKeyHash> entries_;
};

}  // namespace dikkat
