#include "autograd/ops/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "autograd/tape/recompute.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"
#include "tests/support/values.h"

// Statistics of fixed seeds. Their bounds are five deviations, or chi-square's value that one sample of 10^4 exceeds: far less than a
// generator errs by that has the wrong distribution.
namespace dikkat::random_test {
namespace {

using testing::doubles_of;
using testing::error_of;
using testing::names;
using testing::same_bits;
using testing::values_of;

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::bf16};
constexpr index kCount = 100'000;
constexpr std::size_t kDistances[] = {1, 2, 4};

RandomStream stream_of(std::uint64_t seed) { return {seed, "random tensors", 3}; }

double mean_of(const std::vector<double>& values, double power = 1, double around = 0) {
  double total = 0;
  for (const double value : values) {
    total += std::pow(value - around, power);
  }
  return total / static_cast<double>(values.size());
}

/// Chi-square of counts, whose expected values are count * probability.
double chi_square(const std::vector<double>& counts, const std::vector<double>& probabilities) {
  const double count = std::accumulate(counts.begin(), counts.end(), 0.0);
  double total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = count * probabilities[i];
    total += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return total;
}
/// The bound of chi-square with as many degrees of freedom (Wilson and Hilferty 1931): one sample of 10^4 exceeds it.
double chi_square_bound(double freedom) {
  const double part = 2 / (9 * freedom);
  return freedom * std::pow(1 - part + 3.719 * std::sqrt(part), 3);
}

/// Calls `draw` with each tensor that has the same elements, and checks that they do: other shapes, parts of the whole, and other threads.
template <class Draw>
void expect_a_function_of_places(Draw&& draw) {
  constexpr index kWhole = 10'000;
  Tape tape;
  const auto whole = doubles_of(draw(tape, Shape{kWhole}, index{0}));
  const auto part = [&](index first, index count) { return std::vector<double>(whole.begin() + first, whole.begin() + first + count); };
  EXPECT_TRUE(same_bits(doubles_of(draw(tape, Shape{20, 5, 100}, index{0})), whole)) << "of three axes";
  for (const index count : {0, 1, 2, 31, 33, 63, 65, 129, 4097}) {
    EXPECT_TRUE(same_bits(doubles_of(draw(tape, Shape{count}, index{0})), part(0, count))) << count;
    for (const index first : {1, 2, 3, 31, 64, 100, 4095}) {
      EXPECT_TRUE(same_bits(doubles_of(draw(tape, Shape{count}, first)), part(first, count))) << count << " from " << first;
    }
  }
  for (const int threads : {2, 3, 4}) {
    const WithThreads with(threads, Work{0});
    EXPECT_TRUE(same_bits(doubles_of(draw(tape, Shape{kWhole}, index{0})), whole)) << threads << " threads";
  }
}

/// The correlation of neighbors `apart` from each other, of numbers with a variance of 1.
double correlation(const std::vector<double>& values, std::size_t apart) {
  double total = 0;
  for (std::size_t i = 0; i + apart < values.size(); ++i) {
    total += values[i] * values[i + apart];
  }
  return total / static_cast<double>(values.size());
}

TEST(RandomTensors, AreFunctionsOfTheStreamAndOfPlaces) {
  for (const DType dtype : kTypes) {
    SCOPED_TRACE(name_of(dtype));
    const RandomStream stream = stream_of(1);
    expect_a_function_of_places([&](Tape& t, const Shape& s, index first) { return uniform(t, s, stream, -1, 3, dtype, first); });
    expect_a_function_of_places([&](Tape& t, const Shape& s, index first) { return normal(t, s, stream, 1, 2, dtype, first); });
    expect_a_function_of_places([&](Tape& t, const Shape& s, index first) { return bernoulli(t, s, stream, 0.3, dtype, first); });
    expect_a_function_of_places([&](Tape& t, const Shape& s, index first) {
      return bernoulli(cast(t.input<float>(s, std::vector<float>(static_cast<std::size_t>(s.size()), 0.25F)), dtype), stream, first);
    });
  }
  Tape tape;
  const auto draw = [&](const RandomStream& stream) { return values_of<float>(normal(tape, {100}, stream)); };
  EXPECT_EQ(draw(RandomStream(1, "a", 2)), draw(RandomStream(1, "a", 2)));
  EXPECT_NE(draw(RandomStream(1, "a", 2)), draw(RandomStream(2, "a", 2)));
  EXPECT_NE(draw(RandomStream(1, "a", 2)), draw(RandomStream(1, "b", 2)));
  EXPECT_NE(draw(RandomStream(1, "a", 2)), draw(RandomStream(1, "a", 3)));
}

TEST(RandomTensors, UniformNumbersAreUniform) {
  constexpr double kLow = -2, kHigh = 6;
  for (const DType dtype : kTypes) {
    SCOPED_TRACE(name_of(dtype));
    Tape tape;
    const auto values = doubles_of(uniform(tape, {kCount}, stream_of(2), kLow, kHigh, dtype));
    std::vector<double> counts(64), scaled;
    for (const double value : values) {
      ASSERT_TRUE(kLow <= value && value < kHigh) << value;
      scaled.push_back((value - 2) / (8 / std::sqrt(12)));
      counts[static_cast<std::size_t>((value - kLow) / (kHigh - kLow) * 64)] += 1;
    }
    EXPECT_NEAR(mean_of(scaled), 0, 5 / std::sqrt(kCount));
    EXPECT_NEAR(mean_of(scaled, 2), 1, 5 * std::sqrt(0.8 / kCount));  // the fourth moment is 9 / 5
    for (const auto apart : kDistances) {
      EXPECT_NEAR(correlation(scaled, apart), 0, 5 / std::sqrt(kCount)) << apart;
    }
    if (dtype != DType::bf16) {  // bf16 rounds across the bins' borders
      EXPECT_LT(chi_square(counts, std::vector<double>(64, 1.0 / 64)), chi_square_bound(63));
    }
  }
}

TEST(RandomTensors, UniformNumbersAreTheWordsOfTheStream) {
  Tape tape;
  const RandomStream stream = stream_of(3);
  const auto single = values_of<float>(uniform(tape, {100}, stream));
  const auto twice = values_of<double>(uniform(tape, {100}, stream, 0, 1, DType::f64));
  for (index i = 0; i < 100; ++i) {
    EXPECT_EQ(single[static_cast<std::size_t>(i)], static_cast<float>(stream.word(i) >> 8) * 0x1p-24F);
    EXPECT_EQ(twice[static_cast<std::size_t>(i)], stream.uniform(i));
  }
}

// Close bounds, where low + (high - low) u is often rounded to high.
TEST(RandomTensors, UniformNumbersAreBelowTheUpperBound) {
  Tape tape;
  for (const auto& [low, high, dtype] : {std::tuple{1.0, 1 + 0x1p-22, DType::f32},
                                         {1.0, 1 + 0x1p-6, DType::bf16},
                                         {0.0, 1.0, DType::bf16},
                                         {-1.0, 0.0, DType::bf16},
                                         {-3.0, -2.0, DType::bf16},
                                         {1.0, 1 + 0x1p-51, DType::f64}}) {
    const auto values = doubles_of(uniform(tape, {10'000}, stream_of(4), low, high, dtype));
    EXPECT_GE(*std::min_element(values.begin(), values.end()), low);
    EXPECT_LT(*std::max_element(values.begin(), values.end()), high);
  }
}

/// The probability that a normal number is below x.
double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(RandomTensors, NormalNumbersAreNormal) {
  for (const DType dtype : kTypes) {
    SCOPED_TRACE(name_of(dtype));
    Tape tape;
    const auto values = doubles_of(normal(tape, {kCount}, stream_of(5), 0, 1, dtype));
    EXPECT_NEAR(mean_of(values), 0, 5 / std::sqrt(kCount));
    EXPECT_NEAR(mean_of(values, 2), 1, 5 * std::sqrt(2.0 / kCount));
    EXPECT_NEAR(mean_of(values, 3), 0, 5 * std::sqrt(15.0 / kCount));
    EXPECT_NEAR(mean_of(values, 4), 3, 5 * std::sqrt(96.0 / kCount));  // the eighth moment is 105
    // Neighbors share their words: neither they nor their squares are correlated.
    std::vector<double> squares;
    for (const double value : values) {
      squares.push_back((value * value - 1) / std::sqrt(2.0));
    }
    for (const auto apart : kDistances) {
      EXPECT_NEAR(correlation(values, apart), 0, 5 / std::sqrt(kCount)) << apart;
      EXPECT_NEAR(correlation(squares, apart), 0, 5 / std::sqrt(kCount)) << apart;
    }
    // Bins of equal probability, and eight directions of the pairs.
    std::vector<double> counts(50), directions(8);
    for (std::size_t i = 0; i < values.size(); ++i) {
      counts[std::min<std::size_t>(49, static_cast<std::size_t>(50 * normal_below(values[i])))] += 1;
      if (i % 2 == 1) {
        const double turn = std::atan2(values[i], values[i - 1]) / (2 * std::acos(-1)) + 0.5;
        directions[std::min<std::size_t>(7, static_cast<std::size_t>(8 * turn))] += 1;
      }
    }
    if (dtype != DType::bf16) {
      EXPECT_LT(chi_square(counts, std::vector<double>(50, 1.0 / 50)), chi_square_bound(49));
      EXPECT_LT(chi_square(directions, std::vector<double>(8, 1.0 / 8)), chi_square_bound(7));
    }
  }
}

TEST(RandomTensors, NormalNumbersHaveTails) {
  Tape tape;
  const auto values = values_of<float>(normal(tape, {2'000'000}, stream_of(6)));
  const auto beyond = std::count_if(values.begin(), values.end(), [](float x) { return std::abs(x) > 4; });
  EXPECT_NEAR(static_cast<double>(beyond), 2'000'000 * 2 * normal_below(-4), 5 * std::sqrt(127)) << "127 are expected";
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float x) { return std::abs(x) < 6.7F; }));
}

// f32 is computed with polynomials: they are compared with the C library's functions of the same words. 1 - u has the rounding of f32, so
// a small radius has a larger error.
TEST(RandomTensors, NormalNumbersOfF32AreThoseOfTheirWords) {
  Tape tape;
  const RandomStream stream = stream_of(7);
  const auto values = values_of<float>(normal(tape, {kCount}, stream));
  for (index i = 0; i < kCount; i += 2) {
    const double u = (static_cast<double>(stream.word(i) >> 1) + 0.5) * 0x1p-31;
    const double radius = std::sqrt(-2 * std::log(u)), angle = 2 * std::acos(-1) * static_cast<double>(stream.word(i + 1)) * 0x1p-32;
    const double bound = 2e-6 + 1e-7 / radius;
    ASSERT_NEAR(values[static_cast<std::size_t>(i)], radius * std::cos(angle), bound);
    ASSERT_NEAR(values[static_cast<std::size_t>(i + 1)], radius * std::sin(angle), bound);
  }
}

TEST(RandomTensors, NormalNumbersHaveTheirMeanAndDeviation) {
  for (const DType dtype : kTypes) {
    Tape tape;
    const auto plain = doubles_of(normal(tape, {1000}, stream_of(8), 0, 1, dtype));
    const auto moved = doubles_of(normal(tape, {1000}, stream_of(8), -3, 0.5, dtype));
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_NEAR(moved[i], -3 + 0.5 * plain[i], dtype == DType::bf16 ? 0x1p-6 : 1e-6);
    }
    EXPECT_EQ(doubles_of(normal(tape, {3}, stream_of(8), 2, 0, dtype)), std::vector<double>(3, 2.0));
  }
}

TEST(RandomTensors, BernoulliHasItsProbability) {
  for (const DType dtype : kTypes) {
    Tape tape;
    for (const double p : {0.0, 0.1, 0.5, 0.75, 1.0}) {
      const auto values = doubles_of(bernoulli(tape, {kCount}, stream_of(9), p, dtype));
      EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](double x) { return x == 0 || x == 1; }));
      EXPECT_NEAR(mean_of(values), p, 5 * std::sqrt(p * (1 - p) / kCount)) << p;
      EXPECT_NEAR(mean_of(doubles_of(bernoulli(tape, {kCount}, stream_of(10), p, dtype))), p, 5 * std::sqrt(p * (1 - p) / kCount)) << p;
    }
    // An element with a probability of its own has the value that it has where all elements share that probability.
    const std::vector<float> p = {0, 0.25, 0.5, 1};
    std::vector<float> all;
    for (index i = 0; i < 1000; ++i) {
      all.push_back(p[static_cast<std::size_t>(i * 7 % 4)]);
    }
    const Tensor drawn_together = bernoulli(cast(tape.input<float>({50, 20}, all), dtype), stream_of(9));
    EXPECT_EQ(drawn_together.shape(), (Shape{50, 20}));
    EXPECT_EQ(drawn_together.dtype(), dtype);
    const auto each = doubles_of(drawn_together);
    for (const float one : p) {
      const auto alone = doubles_of(bernoulli(tape, {1000}, stream_of(9), one, dtype));
      for (std::size_t i = 0; i < alone.size(); ++i) {
        EXPECT_TRUE(all[i] != one || each[i] == alone[i]) << i;
      }
    }
  }
}

/// Draws from one row of weights `count` times.
std::vector<std::int32_t> drawn(const std::vector<float>& row, index count, Odds odds, DType dtype, std::uint64_t seed) {
  Tape tape;
  std::vector<float> rows;
  for (index i = 0; i < count; ++i) {
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const Tensor x = cast(tape.input<float>({count, static_cast<index>(row.size())}, rows), dtype);
  const Tensor y = categorical(x, stream_of(seed), odds);
  EXPECT_EQ(y.shape(), Shape{count});
  return values_of<std::int32_t>(y);
}

TEST(RandomTensors, CategoricalHasTheProbabilities) {
  // Few classes, and more than one block of them. Some are impossible.
  for (const auto classes : std::vector<std::size_t>{2, 5, 64, 65, 150}) {
    std::vector<float> weights, logits;
    for (std::size_t c = 0; c < classes; ++c) {
      weights.push_back(c % 5 == 3 ? 0.0F : 0.5F + static_cast<float>(c % 4) * 0.25F);  // bf16 holds them exactly
      logits.push_back(std::log(weights.back()));
    }
    for (const DType dtype : kTypes) {
      for (const Odds odds : {Odds::probabilities, Odds::logits}) {
        SCOPED_TRACE(concat(classes, " classes of ", dtype, odds == Odds::logits ? ", logits" : ", probabilities"));
        constexpr index kDraws = 5'000;
        std::vector<double> counts(classes);
        for (const std::int32_t c : drawn(odds == Odds::logits ? logits : weights, kDraws, odds, dtype, 11)) {
          ASSERT_TRUE(0 <= c && c < static_cast<std::int32_t>(classes)) << c;
          counts[static_cast<std::size_t>(c)] += 1;
        }
        std::vector<double> possible, probabilities;
        for (std::size_t c = 0; c < classes; ++c) {
          if (weights[c] == 0) {
            EXPECT_EQ(counts[c], 0) << c;
          } else {
            possible.push_back(counts[c]);
            probabilities.push_back(static_cast<double>(weights[c]));
          }
        }
        const double total = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
        std::for_each(probabilities.begin(), probabilities.end(), [&](double& p) { p /= total; });
        EXPECT_LT(chi_square(possible, probabilities), chi_square_bound(static_cast<double>(possible.size()) - 1));
      }
    }
  }
}

// Its definition, in plain loops: the first class whose cumulative sum is more than u times the total.
TEST(RandomTensors, CategoricalIsTheInverseOfTheCumulativeSums) {
  constexpr index kRows = 500, kClasses = 200;
  const auto logits = testing::numbers(kRows * kClasses, 1, -3, 3);
  const RandomStream stream = stream_of(12);
  Tape tape;
  const Tensor x = cast(tape.input<float>({5, 100, kClasses}, logits), DType::f64);
  const Tensor y = categorical(x, stream, Odds::logits, 7);
  EXPECT_EQ(y.shape(), (Shape{5, 100}));
  EXPECT_EQ(y.dtype(), DType::i32);
  for (index row = 0; row < kRows; ++row) {
    const auto weight = [&](index c) { return std::exp(static_cast<double>(logits[static_cast<std::size_t>(row * kClasses + c)])); };
    double total = 0;
    for (index c = 0; c < kClasses; ++c) {
      total += weight(c);
    }
    index expected = 0;
    for (double sum = weight(0); sum <= stream.uniform(row + 7) * total; sum += weight(++expected)) {
    }
    EXPECT_EQ(y.data<std::int32_t>()[row], expected) << row;
  }
  // In f32 it is so up to rounding, and on any number of threads.
  const Tensor single = tape.input<float>({kRows, kClasses}, logits);
  const auto one = values_of<std::int32_t>(categorical(single, stream, Odds::logits, 7));
  index others = 0;
  for (index row = 0; row < kRows; ++row) {
    others += one[static_cast<std::size_t>(row)] != y.data<std::int32_t>()[row] ? 1 : 0;
  }
  EXPECT_LE(others, 1);
  for (const int threads : {2, 4}) {
    const WithThreads with(threads, Work{0});
    EXPECT_EQ(values_of<std::int32_t>(categorical(single, stream, Odds::logits, 7)), one) << threads;
  }
}

TEST(RandomTensors, PermutationsAreAllAsLikely) {
  constexpr index kDraws = 24'000;
  std::map<std::vector<std::int32_t>, double> seen;
  Tape tape;
  for (index i = 0; i < kDraws; ++i) {
    seen[values_of<std::int32_t>(permutation(tape, 4, RandomStream(13, "order", static_cast<std::uint64_t>(i))))] += 1;
  }
  ASSERT_EQ(seen.size(), 24U);
  std::vector<double> counts;
  for (const auto& [order, count] : seen) {
    counts.push_back(count);
  }
  EXPECT_LT(chi_square(counts, std::vector<double>(24, 1.0 / 24)), chi_square_bound(23));
}

TEST(RandomTensors, APermutationHasEachNumberOnce) {
  for (const index n : {0, 1, 2, 63, 1000, 100'000}) {
    Tape tape;
    auto order = values_of<std::int32_t>(permutation(tape, n, stream_of(14)));
    EXPECT_TRUE(n < 63 || !std::is_sorted(order.begin(), order.end()));
    const WithThreads with(4, Work{0});
    EXPECT_EQ(values_of<std::int32_t>(permutation(tape, n, stream_of(14))), order);
    std::sort(order.begin(), order.end());
    for (index i = 0; i < n; ++i) {
      ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
    }
  }
  // Where numbers of a large permutation go: uniform.
  constexpr index kMany = 60'000;
  Tape tape;
  const auto order = values_of<std::int32_t>(permutation(tape, kMany, stream_of(15)));
  std::vector<double> counts(36);
  for (index i = 0; i < kMany; ++i) {
    counts[static_cast<std::size_t>(6 * i / kMany * 6 + 6 * index{order[static_cast<std::size_t>(i)]} / kMany)] += 1;
  }
  EXPECT_LT(chi_square(counts, std::vector<double>(36, 1.0 / 36)), chi_square_bound(25));
}

TEST(RandomTensors, NeedNoGradient) {
  Tape tape;
  const Tensor p = tape.input<float>({3}, std::vector<float>{0.1F, 0.5F, 1}, true);
  EXPECT_FALSE(uniform(tape, {3}, stream_of(1)).needs_gradient());
  EXPECT_FALSE(bernoulli(p, stream_of(1)).needs_gradient());
  EXPECT_FALSE(categorical(p, stream_of(1), Odds::probabilities).needs_gradient());
  EXPECT_EQ(categorical(p, stream_of(1), Odds::probabilities).shape(), Shape{});
  // A computation that is run again has the same noise.
  const auto noisy = recompute<1>(tape, std::array{p}, [](Tape& t, const std::array<Tensor, 1>& in) {
    return std::array{multiply(in[0], normal(t, {3}, stream_of(16)))};
  });
  const auto noise = values_of<float>(normal(tape, {3}, stream_of(16)));
  tape.backward(sum(noisy[0]));
  EXPECT_EQ(std::vector<float>(tape.gradient<float>(p), tape.gradient<float>(p) + 3), noise);
}

TEST(RandomTensors, RefuseWhatIsNoDistribution) {
  Tape tape;
  const RandomStream stream = stream_of(1);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(names(error_of([&] { uniform(tape, {2}, stream, 3, 2); }), {"uniform", "3", "2"}));
  EXPECT_TRUE(names(error_of([&] { uniform(tape, {2}, stream, 1, 1 + 0x1p-20, DType::bf16); }), {"uniform", "bf16"}));
  EXPECT_NE(error_of([&] { uniform(tape, {2}, stream, kNan, 2); }), "");
  EXPECT_NE(error_of([&] { uniform(tape, {2}, stream, 0, kInfinity); }), "");
  EXPECT_NE(error_of([&] { uniform(tape, {2}, stream, -3e38, 3e38); }), "");
  EXPECT_TRUE(names(error_of([&] { uniform(tape, {2}, stream, 0, 1, DType::i32); }), {"uniform", "i32"}));
  EXPECT_TRUE(names(error_of([&] { uniform(tape, {2}, stream, 0, 1, DType::f32, -1); }), {"uniform", "-1"}));
  EXPECT_TRUE(names(error_of([&] { normal(tape, {2}, stream, 0, -0.5); }), {"normal", "-0.5"}));
  EXPECT_TRUE(names(error_of([&] { bernoulli(tape, {2}, stream, 1.5); }), {"bernoulli", "1.5"}));
  EXPECT_TRUE(names(error_of([&] { bernoulli(tape, {2}, stream, kNan); }), {"bernoulli"}));
  const auto row = [&](const std::vector<float>& x) { return tape.input<float>({1, static_cast<index>(x.size())}, x); };
  EXPECT_TRUE(names(error_of([&] { bernoulli(row({0.5F, -0.25F}), stream); }), {"bernoulli", "-0.25", "element 1"}));
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (const auto& x : {std::vector<float>{0, 0}, {1, -1}, {nan, 1}, {1, infinity}}) {
    EXPECT_TRUE(names(error_of([&] { categorical(row(x), stream, Odds::probabilities); }), {"categorical", "row 0", "[1, 2]"}));
  }
  for (const auto& x : {std::vector<float>{-infinity, -infinity}, {nan, 1}, {1, infinity}}) {
    EXPECT_NE(error_of([&] { categorical(row(x), stream); }), "");
  }
  EXPECT_NE(error_of([&] { categorical(row({}), stream); }), "");
  const Tensor two = tape.input<float>({3, 2}, std::vector<float>{1, 1, 1, 0, 0, 0});
  EXPECT_TRUE(names(error_of([&] { categorical(two, stream, Odds::probabilities); }), {"row 2"}));
  EXPECT_TRUE(names(error_of([&] { permutation(tape, -1, stream); }), {"permutation", "-1"}));
  EXPECT_NE(error_of([&] { permutation(tape, index{1} << 31, stream); }), "");
}

TEST(RandomTensors, ADryRunDrawsNothing) {
  const DryRun dry;
  Tape tape;
  EXPECT_EQ(normal(tape, {1000}, stream_of(1)).shape(), Shape{1000});
  EXPECT_EQ(permutation(tape, 1000, stream_of(1)).shape(), Shape{1000});
  const Tensor x = tape.make({10, 100}, DType::f32);
  EXPECT_EQ(categorical(x, stream_of(1)).shape(), Shape{10});
  EXPECT_EQ(bernoulli(x, stream_of(1)).shape(), (Shape{10, 100}));
}

}  // namespace
}  // namespace dikkat::random_test
