#include "autograd/kernels/optimizer/adamw.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "tests/kernels/reference/adamw.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::adamw_test {
namespace {

using testing::converted;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

template <class T>
struct State {
  std::vector<T> weight, m, v;
};

/// Ten steps of n elements.
template <class T, class F>
State<T> ten_steps(index n, F&& step_by) {
  State<T> s{converted<T>(numbers(n, 1)), std::vector<T>(static_cast<std::size_t>(n)), std::vector<T>(static_cast<std::size_t>(n))};
  for (index step = 1; step <= 10; ++step) {
    const auto gradient = converted<T>(numbers(n, 100 + static_cast<std::uint64_t>(step), -0.1F, 0.1F));
    step_by(AdamW<T>{.n = n,
                     .weight = s.weight.data(),
                     .gradient = gradient.data(),
                     .m = s.m.data(),
                     .v = s.v.data(),
                     .learning_rate = 0.01,
                     .beta1 = 0.9,
                     .beta2 = 0.99,
                     .eps = 1e-8,
                     .weight_decay = 0.1,
                     .gradient_scale = 0.5,
                     .step = step});
  }
  return s;
}

TEST(AdamWKernel, EqualsTheAlgorithmLineByLine) {
  for (const index n : {1, 17, 1000, 40000}) {
    SCOPED_TRACE(n);
    const auto expected = ten_steps<double>(n, [](const AdamW<double>& p) { reference::adamw(p); });
    const auto wide = ten_steps<double>(n, [](const AdamW<double>& p) { adamw(p); });
    EXPECT_LE(relative_error(wide.weight, expected.weight), 1e-14);
    EXPECT_LE(relative_error(wide.m, expected.m, 1e-6), 1e-14);
    EXPECT_LE(relative_error(wide.v, expected.v, 1e-9), 1e-14);
    const auto single = ten_steps<float>(n, [](const AdamW<float>& p) { adamw(p); });
    EXPECT_LE(relative_error(single.weight, expected.weight), 1e-6);
    EXPECT_LE(relative_error(single.m, expected.m, 0.05), 1e-6);  // gradients are 0.05 at most, and may cancel
    EXPECT_LE(relative_error(single.v, expected.v, 1e-9), 1e-6);
  }
}

TEST(AdamWKernel, DecaysCautiouslyOnlyWeightsThatMoveTowardsZero) {
  const auto cautious = [](AdamW<double> p) {
    p.cautious = true;
    return p;
  };
  for (const index n : {1, 17, 40000}) {
    const auto expected = ten_steps<double>(n, [&](const AdamW<double>& p) { reference::adamw(cautious(p)); });
    const auto found = ten_steps<double>(n, [&](const AdamW<double>& p) { adamw(cautious(p)); });
    EXPECT_LE(relative_error(found.weight, expected.weight), 1e-14);
  }
  // The first weight moves towards 0, the second away from it, and the third is 0.
  std::vector<double> weight = {1, 1, 0};
  const std::vector<double> gradient = {1, -1, 1};
  std::vector<double> m(3), v(3);
  adamw(AdamW<double>{.n = 3,
                      .weight = weight.data(),
                      .gradient = gradient.data(),
                      .m = m.data(),
                      .v = v.data(),
                      .learning_rate = 0.1,
                      .eps = 0,
                      .weight_decay = 0.5,
                      .cautious = true});
  EXPECT_NEAR(weight[0], 1 - 0.05 - 0.1, 1e-15);
  EXPECT_NEAR(weight[1], 1 + 0.1, 1e-15);
  EXPECT_NEAR(weight[2], -0.1, 1e-15);
}

TEST(AdamWKernel, SameBitsOnAnyNumberOfThreads) {
  const auto steps = [](int threads) {
    const WithThreads with(threads, Work{0});
    return ten_steps<float>(70001, [](const AdamW<float>& p) { adamw(p); });
  };
  const auto one = steps(1);
  for (const int threads : {2, 4}) {
    const auto many = steps(threads);
    EXPECT_TRUE(same_bits(one.weight, many.weight) && same_bits(one.m, many.m) && same_bits(one.v, many.v)) << threads;
  }
}

TEST(AdamWKernel, FirstStepIsTheLearningRateForAnyGradient) {
  std::vector<double> weight = {1, 1};
  const std::vector<double> gradient = {1e-3, -20};
  std::vector<double> m(2);
  std::vector<double> v(2);
  adamw<double>({.n = 2, .weight = weight.data(), .gradient = gradient.data(), .m = m.data(), .v = v.data(), .learning_rate = 0.1});
  EXPECT_NEAR(weight[0], 0.9, 1e-5);
  EXPECT_NEAR(weight[1], 1.1, 1e-9);
}

TEST(SumOfSquares, EqualsALongerSum) {
  for (const index n : {0, 1, 15, 16, 17, 1000, 16384, 16385, 100003}) {
    const auto x = numbers(n, 1, -3, 3);
    long double expected = 0;
    for (const float value : x) {
      expected += static_cast<long double>(value) * static_cast<long double>(value);
    }
    EXPECT_NEAR(sum_of_squares(n, x.data()), static_cast<double>(expected), static_cast<double>(expected) * 1e-14) << n;
    const auto wide = converted<double>(x);
    EXPECT_NEAR(sum_of_squares(n, wide.data()), static_cast<double>(expected), static_cast<double>(expected) * 1e-14) << n;
  }
}

TEST(SumOfSquares, SameBitsOnAnyNumberOfThreads) {
  const auto x = numbers(100003, 1);
  const auto by = [&](int threads) {
    const WithThreads with(threads, Work{0});
    return sum_of_squares(100003, x.data());
  };
  EXPECT_EQ(by(1), by(2));
  EXPECT_EQ(by(1), by(4));
}

TEST(SumOfSquares, OfLargeFloatsIsFiniteAndOfNotANumberIsNot) {
  std::vector<float> x(20000, 3e38F);
  EXPECT_NEAR(sum_of_squares(20000, x.data()) / (20000 * 9e76), 1, 1e-6);
  x[19999] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(sum_of_squares(20000, x.data())));
}

TEST(AdamWKernel, ReportsWhetherEverythingIsFiniteAfterwards) {
  constexpr index kSize = 40000;
  const float infinity = std::numeric_limits<float>::infinity();
  struct Case {
    const char* what;
    float weight, gradient, m, v;
    bool finite;
  };
  for (const Case& c : {Case{"ordinary", 1, 1, 1, 1, true}, Case{"a gradient whose square is too large", 1, 1e21F, 0, 0, false},
                        Case{"a large one", 1, 1e17F, 0, 0, true}, Case{"weight", infinity, 1, 0, 0, false},
                        Case{"first moment", 1, 1, -infinity, 1, false}, Case{"second moment", 1, 1, 0, infinity, false},
                        Case{"NaN", 1, 1, std::nanf(""), 1, false}}) {
    for (const index at : {index{0}, index{16385}, kSize - 1}) {
      std::vector<float> weight(kSize, 1), gradient(kSize, 0.5F), m(kSize, 0.1F), v(kSize, 0.1F);
      const auto i = static_cast<std::size_t>(at);
      weight[i] = c.weight;
      gradient[i] = c.gradient;
      m[i] = c.m;
      v[i] = c.v;
      const AdamW<float> p{
          .n = kSize, .weight = weight.data(), .gradient = gradient.data(), .m = m.data(), .v = v.data(), .learning_rate = 0.01};
      EXPECT_EQ(adamw(p), c.finite) << c.what << " at " << at;
    }
  }
}

}  // namespace
}  // namespace dikkat::kernels::adamw_test
