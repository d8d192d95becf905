#include "autograd/simd/random_numbers.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/simd/sine.h"
#include "tests/support/over_floats.h"

namespace dikkat {
namespace {

using Draw = void (*)(const RandomStream&, index, index, float*);

std::vector<float> drawn(Draw draw, const RandomStream& stream, index first, index n) {
  std::vector<float> numbers(static_cast<std::size_t>(n));
  draw(stream, first, n, numbers.data());
  return numbers;
}

TEST(RandomNumbers, UniformOnesAreWords) {
  const RandomStream stream(5, "uniform numbers", 1);
  const std::vector<float> numbers = drawn(uniform_numbers, stream, 0, 1000);
  for (index i = 0; i < 1000; ++i) {
    ASSERT_EQ(static_cast<double>(numbers[static_cast<std::size_t>(i)]), std::floor(stream.word(i) * 0x1p-8) * 0x1p-24) << i;
  }
}

// The C library computes the same numbers in f64, from u as it is rounded to f32.
TEST(RandomNumbers, NormalOnesAreThoseOfTheCLibrary) {
  constexpr index kCount = 1 << 18;
  const RandomStream stream(6, "normal numbers", 2);
  const std::vector<float> numbers = drawn(normal_numbers, stream, 0, kCount);
  double worst = 0;
  for (index i = 0; i < kCount; i += 2) {
    const float u = (static_cast<float>(static_cast<std::int32_t>(stream.word(i) >> 1)) + 0.5F) * 0x1p-31F;
    const double radius = std::sqrt(-2 * std::log(static_cast<double>(u))), angle = 2 * std::numbers::pi * stream.word(i + 1) * 0x1p-32;
    const double x = static_cast<double>(numbers[static_cast<std::size_t>(i)]) - radius * std::cos(angle);
    const double y = static_cast<double>(numbers[static_cast<std::size_t>(i + 1)]) - radius * std::sin(angle);
    worst = std::max({worst, std::abs(x), std::abs(y)});
  }
  EXPECT_LT(worst, 0x1p-21);
  RecordProperty("worst_error", std::to_string(worst));
}

TEST(RandomNumbers, SineAndCosineOfTurns) {
  double worst = 0;
  for (std::uint64_t first = 0; first < 1ULL << 32; first += 0x8001) {  // and so every quarter's borders
    const auto turns = simd::broadcast(static_cast<std::uint32_t>(first));
    const auto [sine, cosine] = simd::sine_and_cosine_of_turns(turns);
    const double angle = 2 * std::numbers::pi * static_cast<double>(first) * 0x1p-32;
    worst = std::max({worst, std::abs(static_cast<double>(sine[1]) - std::sin(angle)), std::abs(static_cast<double>(cosine[1]) - std::cos(angle))});
  }
  EXPECT_LT(worst, 0x1p-23);
  const auto [sine, cosine] = simd::sine_and_cosine_of_turns(simd::Vec<std::uint32_t>{0, 1U << 30, 1U << 31, 3U << 30});
  for (int quarter = 0; quarter < 4; ++quarter) {
    EXPECT_EQ(sine[quarter], quarter == 1 ? 1 : quarter == 3 ? -1 : 0) << quarter;
    EXPECT_EQ(cosine[quarter], quarter == 0 ? 1 : quarter == 2 ? -1 : 0) << quarter;
  }
}

TEST(RandomNumbers, PartsHaveTheNumbersOfTheWhole) {
  const RandomStream stream(7, "parts", 3);
  for (const Draw draw : {uniform_numbers, normal_numbers}) {
    const std::vector<float> whole = drawn(draw, stream, 0, 1000);
    for (const index first : {0, 1, 2, 31, 63, 64, 65, 500}) {
      for (const index n : {0, 1, 2, 3, 31, 63, 64, 65, 127, 129, 500}) {
        EXPECT_EQ(drawn(draw, stream, first, n), std::vector<float>(whole.begin() + first, whole.begin() + first + n)) << first << " " << n;
      }
    }
  }
}

// Ten million draws. Bounds are five standard errors.
TEST(RandomNumbers, NormalOnesAreNormal) {
  constexpr index kCount = 10'000'000, kBlock = 10'000;
  const RandomStream stream(8, "moments", 0);
  std::vector<float> numbers(kBlock);
  double sums[5] = {};
  index beyond[6] = {};  // numbers whose size is more than 0, 1 ... 5
  for (index first = 0; first < kCount; first += kBlock) {
    normal_numbers(stream, first, kBlock, numbers.data());
    for (const float number : numbers) {
      const double z = number, square = z * z;
      sums[1] += z;
      sums[2] += square;
      sums[3] += z * square;
      sums[4] += square * square;
      beyond[std::min(5, static_cast<int>(std::abs(number)))] += 1;
    }
  }
  const double n = kCount;
  EXPECT_NEAR(sums[1] / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(sums[2] / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(sums[3] / n, 0, 5 * std::sqrt(15 / n));
  EXPECT_NEAR(sums[4] / n, 3, 5 * std::sqrt(96 / n));
  index total = 0;
  for (int size = 5; size > 0; --size) {
    total += beyond[size];
    const double expected = n * std::erfc(size / std::numbers::sqrt2);
    EXPECT_NEAR(static_cast<double>(total), expected, 5 * std::sqrt(expected)) << size;
  }
}

}  // namespace
}  // namespace dikkat
