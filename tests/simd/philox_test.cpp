#include "autograd/simd/philox.h"

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Known answers of the authors' kat_vectors (philox4x32, 10 rounds). They are constants: philox runs in the compiler.
static_assert(philox(0, {0, 0, 0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox(~std::uint64_t{0}, {~0U, ~0U, ~0U, ~0U}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox(0x299f31d0'a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
              Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
static_assert(RandomStream(1, 2, 3).word(6) == RandomStream(1, 2, 3).group(1)[2]);
static_assert(hash_of("") == 0xcbf29ce484222325 && hash_of("a") == 0xaf63dc4c8601ec8c, "FNV-1a's own test vectors");

TEST(Philox, KnownAnswersAtRunTime) {
  volatile std::uint64_t key = 0;  // not to be folded
  EXPECT_EQ(philox(key, {0, 0, 0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(Philox, EveryBitOfTheCounterMatters) {
  std::set<Words> seen = {philox(0, philox_counter(0, 0))};
  for (int bit = 0; bit < 64; ++bit) {
    seen.insert(philox(0, philox_counter(0, std::uint64_t{1} << bit)));
    seen.insert(philox(0, philox_counter(std::uint64_t{1} << bit, 0)));
    seen.insert(philox(std::uint64_t{1} << bit, philox_counter(0, 0)));
  }
  EXPECT_EQ(seen.size(), 1U + 3 * 64);
}

/// The share of bits in which the first words of two streams differ.
double difference(const RandomStream& a, const RandomStream& b) {
  int bits = 0;
  for (index i = 0; i < 1000; ++i) {
    bits += __builtin_popcount(a.word(i) ^ b.word(i));
  }
  return bits / 32000.0;
}

// Half of the bits differ, give or take five deviations of 0.5 / sqrt(32000).
TEST(RandomStream, SeedsSitesAndStepsAreApart) {
  const RandomStream stream(1, "h.0.attn.dropout", 7);
  EXPECT_EQ(difference(stream, RandomStream(1, "h.0.attn.dropout", 7)), 0) << "equal arguments give equal words";
  EXPECT_NEAR(difference(stream, RandomStream(2, "h.0.attn.dropout", 7)), 0.5, 0.014);
  EXPECT_NEAR(difference(stream, RandomStream(1, "h.1.attn.dropout", 7)), 0.5, 0.014);
  EXPECT_NEAR(difference(stream, RandomStream(1, "h.0.attn.dropout", 8)), 0.5, 0.014);
  EXPECT_NEAR(difference(RandomStream(0, 1, 0), RandomStream(1, 0, 0)), 0.5, 0.014);
  EXPECT_NEAR(difference(RandomStream(0, 0, 1), RandomStream(0, 1, 0)), 0.5, 0.014);
}

TEST(RandomStream, UniformNumbersAreUniform) {
  constexpr index kCount = 100000;
  constexpr std::size_t kBins = 50;
  std::vector<double> bins(kBins);
  const RandomStream stream(3, "uniform", 0);
  double correlation = 0;
  for (index i = 0; i < kCount; ++i) {
    const double u = stream.uniform(i);
    ASSERT_TRUE(0 <= u && u < 1);
    bins[static_cast<std::size_t>(u * kBins)] += 1;
    correlation += (u - 0.5) * (stream.uniform(i + 1) - 0.5) * 12 / kCount;
  }
  double chi_squared = 0;
  for (const double count : bins) {
    chi_squared += (count - kCount / kBins) * (count - kCount / kBins) / (kCount / kBins);
  }
  EXPECT_LT(chi_squared, 95) << "49 degrees of freedom: a random stream passes in 9999 of 10000 cases";
  EXPECT_LT(std::abs(correlation), 4 / std::sqrt(static_cast<double>(kCount))) << "between neighbors";
}

TEST(RandomStream, ManyGroupsAreTheSameAsSingleOnes) {
  const RandomStream stream(0x123456789abcdef, "many", 0xfedcba9876543210);
  for (const index first : {index{0}, index{1}, index{13}, (index{1} << 32) - 7, index{1} << 40}) {
    std::uint32_t words[4 * RandomStream::kGroups];
    stream.groups(first, words);
    for (int i = 0; i < RandomStream::kGroups; ++i) {
      const auto group = stream.group(first + i);
      for (std::size_t lane = 0; lane < 4; ++lane) {
        EXPECT_EQ(words[4 * static_cast<std::size_t>(i) + lane], group[lane]) << first << " " << i << " " << lane;
      }
    }
  }
}

TEST(RandomStream, ColumnsAreGroupsAtADistance) {
  const RandomStream stream(0x123456789abcdef, "columns", 0xfedcba9876543210);
  for (const auto& [first, apart] : {std::pair<index, index>{0, 1}, {5, 17}, {(index{1} << 32) - 7, 3}, {index{1} << 40, index{1} << 33}}) {
    std::uint32_t words[4 * RandomStream::kGroups];
    stream.columns(first, apart, words);
    for (int i = 0; i < RandomStream::kGroups; ++i) {
      const auto group = stream.group(first + i * apart);
      for (std::size_t word = 0; word < 4; ++word) {
        EXPECT_EQ(words[word * RandomStream::kGroups + static_cast<std::size_t>(i)], group[word]) << first << " " << i << " " << word;
      }
    }
  }
}

TEST(RandomStream, ElementsBeyondFourThousandMillionDiffer) {
  const RandomStream stream(1, 2, 3);
  EXPECT_NE(stream.group(1), stream.group(1 + (index{1} << 32)));
}

}  // namespace
}  // namespace dikkat
