#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "autograd/simd/philox.h"

namespace dikkat {

/// A permutation of 0 to n - 1 that is a pure function of (seed, epoch) and needs no memory. It is a Feistel network with Philox as its
/// round function, over the bits of n - 1. It is applied again until the result is below n (at most twice on average).
class Permutation {
 public:
  /// `site` names what is permuted, so that other things have other orders. Throws Error unless n >= 1.
  constexpr Permutation(index n, std::uint64_t seed, std::uint64_t epoch, std::string_view site = "data.order")
      : n_(n), random_(seed, site, epoch) {
    if (n < 1) {
      fail("permutation: ", n, " elements, expected 1 or more");
    }
    const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
    low_bits_ = (bits + 1) / 2;
    high_bits_ = bits - low_bits_;
  }

  constexpr index size() const { return n_; }

  /// Returns the image of i, 0 <= i < n.
  constexpr index operator()(index i) const {
    do {
      i = network(i);
    } while (i >= n_);
    return i;
  }

 private:
  static constexpr index kRounds = 24;  // 8 are enough for long halves; with halves of one or two bits, even 16 favor some orders

  /// Computes a bijection of [0, 2^bits): each round changes one half by a function of the other.
  constexpr index network(index i) const {
    std::uint64_t low = static_cast<std::uint64_t>(i) & mask(low_bits_);
    std::uint64_t high = static_cast<std::uint64_t>(i) >> low_bits_;
    for (index round = 0; round < kRounds; round += 2) {
      low ^= scramble(round, high) & mask(low_bits_);
      high ^= scramble(round + 1, low) & mask(high_bits_);
    }
    return static_cast<index>(high << low_bits_ | low);
  }
  /// Computes the round function. A half has at most 32 bits, so (round, half) is the index of a group of random words.
  constexpr std::uint64_t scramble(index round, std::uint64_t half) const {
    return random_.group(round << 32 | static_cast<index>(half))[0];
  }
  static constexpr std::uint64_t mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

  index n_;
  RandomStream random_;
  int low_bits_ = 0;
  int high_bits_ = 0;
};

}  // namespace dikkat
