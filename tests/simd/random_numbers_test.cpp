#include "autograd/simd/random_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/simd/simd.h"

namespace dikkat {
namespace {

using Numbers = std::vector<float>;

Numbers drawn(decltype(normal_numbers) draw, const RandomStream& stream, index first, index n) {
  Numbers numbers(static_cast<std::size_t>(n));
  draw(stream, first, n, numbers.data());
  return numbers;
}

constexpr index kFar = (index{1} << 33) + 3;

TEST(RandomNumbers, UniformOnesAreTheirWords) {
  const RandomStream stream(1, "uniform", 0);
  for (const index first : {index{0}, index{1}, kFar}) {
    const Numbers numbers = drawn(uniform_numbers, stream, first, 301);
    for (index i = 0; i < 301; ++i) {
      ASSERT_EQ(numbers[static_cast<std::size_t>(i)], static_cast<float>(stream.word(first + i) >> 8) * 0x1p-24F) << first << " " << i;
    }
  }
}

// So tensors have the same numbers however threads or ranks divide them.
TEST(RandomNumbers, OfAPartAreThoseOfTheWhole) {
  const RandomStream stream(2, "parts", 5);
  for (const auto& draw : {uniform_numbers, normal_numbers}) {
    const Numbers whole = drawn(draw, stream, 0, 400);
    for (index first = 0; first < 140; ++first) {
      for (const index n : {index{0}, index{1}, index{2}, index{63}, index{64}, index{65}, index{130}, index{259}}) {
        const auto begin = whole.begin() + first;
        ASSERT_EQ(drawn(draw, stream, first, n), Numbers(begin, begin + n)) << first << " " << n;
      }
    }
  }
}

/// A pair of normal numbers: by the C library in f64, and by the polynomials, one operation at a time.
struct Pair {
  double even, odd;
};
Pair exact_pair(std::uint32_t radius_word, std::uint32_t angle_word) {
  const double u = static_cast<double>((static_cast<float>(static_cast<std::int32_t>(radius_word >> 1)) + 0.5F) * 0x1p-31F);
  const double radius = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * angle_word * 0x1p-32;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

float polynomial_of(float x, const std::vector<float>& coefficients) {
  float p = 0;
  for (const float c : coefficients) {
    p = std::fma(p, x, c);
  }
  return p;
}
Pair plain_pair(std::uint32_t radius_word, std::uint32_t angle_word) {
  const float u = (static_cast<float>(static_cast<std::int32_t>(radius_word >> 1)) + 0.5F) * 0x1p-31F;
  int exponent = 0;
  float m = std::frexp(u, &exponent);
  if (m < std::bit_cast<float>(0x3F3504F3)) {  // sqrt(1/2)
    m *= 2;
    exponent -= 1;
  }
  const float s = (m - 1) / (m + 1);
  const float log2 = std::fma(polynomial_of(s * s, {3.20598898e-1F, 4.12198583e-1F, 5.77078016e-1F, 9.61796694e-1F, 2.88539008F}), s,
                              static_cast<float>(exponent));
  const float radius = std::sqrt(-2 * std::numbers::ln2_v<float> * log2);

  const std::uint32_t quarter = (angle_word + 0x2000'0000U) >> 30;
  const float r = static_cast<float>(static_cast<std::int32_t>(angle_word - (quarter << 30))) * (2 * std::numbers::pi_v<float> * 0x1p-32F);
  const float z = r * r;
  const float sine = std::fma(polynomial_of(z, {-1.95182904e-4F, 8.33218917e-3F, -1.66666552e-1F}), z * r, r);
  const float cosine = polynomial_of(z, {2.44323255e-5F, -1.38873095e-3F, 4.16666456e-2F, -0.5F, 1.0F});
  const float sines[] = {sine, cosine, -sine, -cosine}, cosines[] = {cosine, -sine, -cosine, sine};
  return {static_cast<double>(radius * cosines[quarter % 4]), static_cast<double>(radius * sines[quarter % 4])};
}

TEST(RandomNumbers, NormalOnesAreOneChainOfFusedOperations) {
  if (!simd::kFusesMultiplyAdds) {
    return;  // such processors round twice
  }
  const RandomStream stream(3, "chain", 0);
  for (const index first : {index{0}, index{1} << 40}) {
    constexpr index kCount = 100'000;
    const Numbers numbers = drawn(normal_numbers, stream, first, kCount);
    for (index i = 0; i < kCount; i += 2) {
      const Pair pair = plain_pair(stream.word(first + i), stream.word(first + i + 1));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(numbers[static_cast<std::size_t>(i)]),
                std::bit_cast<std::uint32_t>(static_cast<float>(pair.even)))
          << i;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(numbers[static_cast<std::size_t>(i + 1)]),
                std::bit_cast<std::uint32_t>(static_cast<float>(pair.odd)))
          << i;
    }
  }
}

TEST(RandomNumbers, NormalOnesAreThoseOfTheCLibrary) {
  const RandomStream stream(4, "library", 0);
  constexpr index kCount = 1'000'000;
  const Numbers numbers = drawn(normal_numbers, stream, 0, kCount);
  double worst = 0;
  for (index i = 0; i < kCount; i += 2) {
    const auto group = stream.group(i / 4);
    const auto at = static_cast<std::size_t>(i % 4);
    const Pair pair = exact_pair(group[at], group[at + 1]);
    worst = std::max({worst, std::abs(static_cast<double>(numbers[static_cast<std::size_t>(i)]) - pair.even),
                      std::abs(static_cast<double>(numbers[static_cast<std::size_t>(i + 1)]) - pair.odd)});
  }
  RecordProperty("worst_error", std::to_string(worst * 1e9) + "e-9");
  EXPECT_LT(worst, 8e-7);
}

/// The probability that a normal number is beyond +-x.
double beyond(double x) { return std::erfc(x / std::numbers::sqrt2); }

// Bounds are five standard errors.
TEST(RandomNumbers, NormalOnesHaveTheirDistribution) {
  constexpr index kCount = 10'000'000, kPart = 10'000;
  constexpr double n = kCount;
  const RandomStream stream(5, "distribution", 0);
  Numbers numbers(kPart);
  double sums[4] = {}, counts[7] = {}, most = 0;
  for (index first = 0; first < kCount; first += kPart) {
    normal_numbers(stream, first, kPart, numbers.data());
    double moments[4] = {};
    for (const float number : numbers) {
      const auto x = static_cast<double>(number), square = x * x;
      moments[0] += x;
      moments[1] += square;
      moments[2] += square * x;
      moments[3] += square * square;
      const double size = std::abs(x);
      most = size > most ? size : most;
      counts[static_cast<int>(size)] += 1;
    }
    for (int i = 0; i < 4; ++i) {
      sums[i] += moments[i];
    }
  }
  EXPECT_NEAR(sums[0] / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(sums[1] / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(sums[2] / n, 0, 5 * std::sqrt(15 / n));
  EXPECT_NEAR(sums[3] / n, 3, 5 * std::sqrt(96 / n));
  for (int i = 0; i < 6; ++i) {
    const double p = beyond(i) - beyond(i + 1);
    EXPECT_NEAR(counts[i], p * n, 5 * std::sqrt(p * (1 - p) * n) + 1) << "from " << i << " to " << i + 1;
  }
  EXPECT_GT(most, 4.9);
  EXPECT_LT(most, 6.7);
}

}  // namespace
}  // namespace dikkat
