// Initial values by the rules of Init: their distribution, and that they are functions of (seed, path).

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/tape/parameters.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

template <class T = float>
std::vector<T> values_of(Init init, const Shape& shape, std::uint64_t seed = 1, const std::string& path = "w",
                         std::vector<index> parts = {}) {
  ParameterStore store(kDType<T>);
  store.add(path, shape, init, Decay::no, Role::vector, std::move(parts));
  store.allocate(seed);
  return {store.weights<T>(), store.weights<T>() + shape.size()};
}

struct Moments {
  double mean = 0, std = 0, kurtosis = 0, most = 0;
};

Moments moments_of(const std::vector<float>& values, std::size_t begin = 0, std::size_t end = std::size_t(-1)) {
  end = std::min(end, values.size());
  const auto n = static_cast<double>(end - begin);
  Moments m;
  for (std::size_t i = begin; i < end; ++i) {
    m.mean += static_cast<double>(values[i]) / n;
    m.most = std::max(m.most, std::abs(static_cast<double>(values[i])));
  }
  double second = 0, fourth = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const double d = static_cast<double>(values[i]) - m.mean;
    second += d * d / n;
    fourth += d * d * d * d / n;
  }
  m.std = std::sqrt(second);
  m.kurtosis = fourth / (second * second);
  return m;
}

// Bounds are five standard errors of a sample of that size.
void expect_normal(const Moments& m, double std, double n) {
  EXPECT_NEAR(m.std, std, 5 * std / std::sqrt(2 * n));
  EXPECT_NEAR(m.mean, 0, 5 * std / std::sqrt(n));
  EXPECT_NEAR(m.kurtosis, 3, 5 * std::sqrt(24 / n));
}
void expect_uniform(const Moments& m, double std, double n) {
  EXPECT_NEAR(m.std, std, 5 * std * std::sqrt(0.2 / n));  // the kurtosis of a uniform distribution is 1.8
  EXPECT_NEAR(m.mean, 0, 5 * std / std::sqrt(n));
  EXPECT_NEAR(m.kurtosis, 1.8, 0.05);
  EXPECT_LE(m.most, std::numbers::sqrt3 * std * (1 + 1e-6));
  EXPECT_GE(m.most, std::numbers::sqrt3 * std * 0.99);
}

TEST(InitialValues, AreUniformWithinTheirBounds) {
  const std::vector<float> values = values_of(Init::uniform(2, 6), {20000});
  EXPECT_GE(*std::ranges::min_element(values), 2);
  EXPECT_LE(*std::ranges::max_element(values), 6);
  const Moments m = moments_of(values);
  EXPECT_NEAR(m.mean, 4, 5 * m.std / std::sqrt(20000.0));
  EXPECT_NEAR(m.std, 4 / std::sqrt(12.0), 0.02);
}

TEST(InitialValues, OfATruncatedNormalStayWithinTheCut) {
  for (const double cut : {0.5, 1.0, 2.0, 3.0}) {
    const std::vector<float> values = values_of(Init::truncated_normal(0.1, cut), {20000});
    const Moments m = moments_of(values);
    EXPECT_LE(m.most, 0.1 * cut * (1 + 1e-6));
    EXPECT_GE(m.most, 0.1 * cut * 0.97);
    EXPECT_NEAR(m.mean, 0, 5 * m.std / std::sqrt(20000.0));
    // The variance of a normal distribution that is cut at +-a: 1 - 2 a phi(a) / (2 Phi(a) - 1).
    const double phi = std::exp(-cut * cut / 2) / std::sqrt(2 * std::numbers::pi), inside = std::erf(cut / std::numbers::sqrt2);
    EXPECT_NEAR(m.std / (0.1 * std::sqrt(1 - 2 * cut * phi / inside)), 1, 0.02) << cut;
  }
}

TEST(InitialValues, FollowFromTheFansOfTheShape) {
  struct Case {
    Shape shape;
    double fan_in, fan_out;
  };
  for (const Case& c : {Case{{300, 100}, 100, 300}, Case{{64, 16, 5, 5}, 400, 1600}, Case{{48, 32, 9}, 288, 432}}) {
    const auto n = static_cast<double>(c.shape.size());
    const double xavier = std::sqrt(2 / (c.fan_in + c.fan_out)), he = std::sqrt(2 / c.fan_in);
    SCOPED_TRACE(concat(c.shape));
    expect_uniform(moments_of(values_of(Init::xavier_uniform(), c.shape)), xavier, n);
    expect_normal(moments_of(values_of(Init::xavier_normal(0.5), c.shape)), xavier * 0.5, n);
    expect_uniform(moments_of(values_of(Init::kaiming_uniform(), c.shape)), he, n);
    expect_normal(moments_of(values_of(Init::kaiming_normal(), c.shape)), he, n);
    expect_uniform(moments_of(values_of(Init::fan_in_uniform(), c.shape)), 1 / std::sqrt(3 * c.fan_in), n);
  }
}

// Each part of a stacked matrix is a matrix of its own. The numbers are those of the whole, scaled.
TEST(InitialValues, OfStackedMatricesFollowFromEachPart) {
  const std::vector<float> values = values_of(Init::xavier_normal(), {101, 80}, 1, "w", {80, 21});
  expect_normal(moments_of(values, 0, 6400), std::sqrt(2.0 / 160), 6400);
  expect_normal(moments_of(values, 6400), std::sqrt(2.0 / 101), 1680);
  const std::vector<float> odd = values_of(Init::xavier_normal(), {4, 3}, 1, "w", {1, 3}), whole = values_of(Init::normal(1), {4, 3});
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(odd[i], whole[i] * std::sqrt(2.0 / (3 + (i < 3 ? 1 : 3))), 1e-6) << i;
  }
}

/// The largest |<row i, row j> - expected| of a matrix.
double deviation_of(const std::vector<double>& matrix, index rows, index cols, double square) {
  double most = 0;
  for (index i = 0; i < rows; ++i) {
    for (index j = 0; j <= i; ++j) {
      double sum = 0;
      for (index k = 0; k < cols; ++k) {
        sum += matrix[static_cast<std::size_t>(i * cols + k)] * matrix[static_cast<std::size_t>(j * cols + k)];
      }
      most = std::max(most, std::abs(sum - (i == j ? square : 0)));
    }
  }
  return most;
}

std::vector<double> transposed(const std::vector<double>& matrix, index rows, index cols) {
  std::vector<double> other(matrix.size());
  for (index i = 0; i < rows * cols; ++i) {
    other[static_cast<std::size_t>(i % cols * rows + i / cols)] = matrix[static_cast<std::size_t>(i)];
  }
  return other;
}

TEST(InitialValues, AreOrthogonal) {
  EXPECT_LE(deviation_of(values_of<double>(Init::orthogonal(), {40, 70}), 40, 70, 1), 1e-13);
  EXPECT_LE(deviation_of(values_of<double>(Init::orthogonal(2), {64, 64}), 64, 64, 4), 1e-11);
  EXPECT_LE(deviation_of(transposed(values_of<double>(Init::orthogonal(), {70, 41}), 70, 41), 41, 70, 1), 1e-13);
  EXPECT_LE(deviation_of(values_of<double>(Init::orthogonal(), {6, 3, 3, 2}), 6, 18, 1), 1e-13);
  const std::vector<double> parts = values_of<double>(Init::orthogonal(), {30, 20}, 1, "w", {10, 20});
  EXPECT_LE(deviation_of({parts.begin(), parts.begin() + 200}, 10, 20, 1), 1e-13);
  EXPECT_LE(deviation_of({parts.begin() + 200, parts.end()}, 20, 20, 1), 1e-12);
  expect_normal(moments_of(values_of(Init::orthogonal(), {120, 120})), 1 / std::sqrt(120.0), 120 * 120);
}

const std::vector<Init>& all_kinds() {
  static const std::vector<Init> all = {Init::normal(1),       Init::uniform(-1, 1),    Init::truncated_normal(1), Init::xavier_uniform(),
                                        Init::xavier_normal(), Init::kaiming_uniform(), Init::kaiming_normal(),    Init::orthogonal()};
  return all;
}

TEST(InitialValues, DependOnSeedAndPathOnly) {
  for (const Init& init : all_kinds()) {
    const std::vector<float> values = values_of(init, {9, 11});
    EXPECT_NE(values, values_of(init, {9, 11}, 2)) << name_of(init.kind);
    EXPECT_NE(values, values_of(init, {9, 11}, 1, "other")) << name_of(init.kind);
    ParameterStore store;
    store.add("z", {5}, Init::normal(1), Decay::no, Role::vector);
    store.add("w", {9, 11}, init, Decay::no, Role::vector);
    store.add("a", {5}, Init::normal(1), Decay::no, Role::vector);
    store.allocate(1);
    const float* const data = store.weights<float>() + store.entry("w").offset;
    EXPECT_EQ(values, std::vector<float>(data, data + 99)) << name_of(init.kind);
  }
}

TEST(InitialValues, AreTheSameOnAnyNumberOfThreadsAndInBothTypes) {
  for (const Init& init : all_kinds()) {
    const auto with = [&](int threads) {
      const WithThreads guard(threads, Work{0});
      return values_of<double>(init, {130, 150});
    };
    const std::vector<double> one = with(1);
    EXPECT_EQ(one, with(2)) << name_of(init.kind);
    EXPECT_EQ(one, with(4)) << name_of(init.kind);
    const std::vector<float> narrow = values_of(init, {130, 150});
    for (std::size_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(narrow[i], static_cast<float>(one[i])) << name_of(init.kind);
    }
  }
}

TEST(InitialValues, ThatDoNotFitAreRefused) {
  const auto refusal = [](Init init, const Shape& shape) { return error_of([&] { values_of(init, shape); }); };
  EXPECT_TRUE(names(refusal(Init::xavier_uniform(), {3}), {"w", "[3]", "xavier_uniform", "2"}));
  EXPECT_TRUE(names(refusal(Init::orthogonal(), {}), {"w", "orthogonal"}));
  EXPECT_TRUE(names(refusal(Init::uniform(1, 0), {3}), {"w", "1", "0"}));
  EXPECT_TRUE(names(refusal(Init::truncated_normal(1, 0.1), {3}), {"w", "0.1", "0.5"}));
  EXPECT_EQ(refusal(Init::kaiming_normal(), {0, 3}), "");
}

}  // namespace
}  // namespace dikkat
