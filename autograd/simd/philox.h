#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "autograd/base/index.h"

namespace dikkat {

/// Returns 128 random bits as a pure function of a 64-bit key and a 128-bit counter: Philox4x32-10 (Salmon, Moraes, Dror and Shaw,
/// "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
constexpr std::array<std::uint32_t, 4> philox(std::uint64_t key, std::array<std::uint32_t, 4> counter) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

constexpr std::array<std::uint32_t, 4> philox_counter(std::uint64_t high, std::uint64_t low) {
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32), static_cast<std::uint32_t>(high),
          static_cast<std::uint32_t>(high >> 32)};
}

/// Turns the name of a site (a place that draws random numbers) into a number, by FNV-1a.
constexpr std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

/// A stream of random words, one per element. A word depends on (seed, site, step, element) only.
class RandomStream {
 public:
  constexpr RandomStream() = default;
  constexpr RandomStream(std::uint64_t seed, std::uint64_t site, std::uint64_t step) : step_(step) {
    const auto word = philox(seed, philox_counter(0x6469'6b6b'6174'0001, site));  // "dikkat": a counter that no other use of the seed has
    key_ = std::uint64_t{word[1]} << 32 | word[0];
  }
  constexpr RandomStream(std::uint64_t seed, std::string_view site, std::uint64_t step) : RandomStream(seed, hash_of(site), step) {}

  /// The number of groups that groups() and columns() write. groups() writes the words of elements 4 * first_group to 4 * first_group + 4 *
  /// kGroups - 1, in vectors.
  static constexpr int kGroups = 16;
  void groups(index first_group, std::uint32_t* words) const noexcept;
  /// Writes the words of groups first_group + i * apart for i < kGroups, transposed: word w of group i is words[w * kGroups + i].
  void columns(index first_group, index apart, std::uint32_t* words) const noexcept;

  /// Returns the words of elements 4 * group to 4 * group + 3.
  constexpr std::array<std::uint32_t, 4> group(index group) const {
    return philox(key_, philox_counter(step_, static_cast<std::uint64_t>(group)));
  }
  constexpr std::uint32_t word(index element) const { return group(element / 4)[static_cast<std::size_t>(element % 4)]; }
  /// Returns a uniform number in [0, 1) with 53 random bits; element counts pairs of words.
  constexpr double uniform(index element) const {
    const auto words = group(element / 2);
    const std::size_t at = element % 2 == 0 ? 0 : 2;
    return static_cast<double>((std::uint64_t{words[at]} << 32 | words[at + 1]) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t key_ = 0;
  std::uint64_t step_ = 0;
};

}  // namespace dikkat
