#include "autograd/kernels/loss/cross_entropy.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "autograd/kernels/reduce/softmax.h"
#include "tests/kernels/reference/cross_entropy.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::cross_entropy_test {
namespace {

using testing::converted;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
struct Result {
  std::vector<T> losses, tops, sums, dlogits;
};

template <class T, class Forward, class Backward>
Result<T> run(index cols, const std::vector<float>& logits32, const std::vector<std::int32_t>& targets, const std::vector<float>& weights,
              T dloss, double smoothing, Forward&& forward, Backward&& backward) {
  const auto logits = converted<T>(logits32);
  Result<T> r{.losses = std::vector<T>(targets.size(), T(9)),
              .tops = std::vector<T>(targets.size(), T(9)),
              .sums = std::vector<T>(targets.size(), T(9)),
              .dlogits = std::vector<T>(logits.size(), T(9))};
  const CrossEntropy<T> p{.rows = static_cast<index>(targets.size()),
                          .cols = cols,
                          .logits = logits.data(),
                          .targets = targets.data(),
                          .weights = weights.empty() ? nullptr : weights.data(),
                          .normalizer = 2.5,
                          .label_smoothing = smoothing,
                          .tops = r.tops.data(),
                          .sums = r.sums.data(),
                          .losses = r.losses.data(),
                          .dloss = dloss,
                          .dlogits = {r.dlogits.data()}};
  forward(p);
  backward(p);
  return r;
}
template <class T>
Result<T> by_kernel(index cols, const std::vector<float>& logits, const std::vector<std::int32_t>& targets,
                    const std::vector<float>& weights = {}, T dloss = T(1.5), double smoothing = 0) {
  return run<T>(
      cols, logits, targets, weights, dloss, smoothing, [](const CrossEntropy<T>& p) { cross_entropy_forward(p); },
      [](const CrossEntropy<T>& p) { cross_entropy_backward(p); });
}
Result<double> by_reference(index cols, const std::vector<float>& logits, const std::vector<std::int32_t>& targets,
                            const std::vector<float>& weights, double smoothing) {
  return run<double>(
      cols, logits, targets, weights, 1.5, smoothing, [](const CrossEntropy<double>& p) { reference::cross_entropy_forward(p); },
      [](const CrossEntropy<double>& p) { reference::cross_entropy_backward(p); });
}

TEST(CrossEntropyKernel, EqualsPlainLoops) {
  for (const index cols : {1, 7, 15, 16, 17, 65, 129, 1031}) {
    for (const index rows : {1, 16, 17, 50}) {
      SCOPED_TRACE(concat(rows, " by ", cols));
      const auto logits = numbers(rows * cols, 1, -8, 8);
      std::vector<std::int32_t> targets;
      std::vector<float> weights;
      for (index i = 0; i < rows; ++i) {
        weights.push_back(static_cast<float>(i % 4) / 2);
        targets.push_back(i % 4 == 0 ? -1 : static_cast<std::int32_t>(i * 5 % cols));
      }
      for (const double smoothing : {0.0, 0.1}) {
        const auto expected = by_reference(cols, logits, targets, weights, smoothing);
        const auto exact = by_kernel<double>(cols, logits, targets, weights, 1.5, smoothing);
        EXPECT_LE(relative_error(exact.losses, expected.losses), 1e-14);
        EXPECT_EQ(exact.tops, expected.tops);
        EXPECT_LE(relative_error(exact.sums, expected.sums), 1e-14);
        EXPECT_LE(relative_error(exact.dlogits, expected.dlogits), 2e-13);  // e^x enlarges the error of x, which is up to 16
        const auto found = by_kernel<float>(cols, logits, targets, weights, 1.5F, smoothing);
        EXPECT_LE(relative_error(found.losses, expected.losses), 1e-6);
        EXPECT_LE(relative_error(found.dlogits, expected.dlogits), 3e-6);
      }
    }
  }
}

TEST(CrossEntropyKernel, ExtremeLogits) {
  const std::vector<float> logits = {1e30F,      -1e30F, 0, 1,   // the largest is the target: certain
                                     1e30F,      -1e30F, 0, 1,   // the smallest is: as wrong as can be, and finite
                                     1e30F,      1e30F,  0, -1,  // two equal
                                     -kInfinity, 0,      0, 0};  // one that cannot be
  const auto found = by_kernel<float>(4, logits, {0, 1, 0, 1});
  EXPECT_EQ(found.losses[0], 0);
  EXPECT_FLOAT_EQ(found.losses[1], 2e30F / 2.5F);
  EXPECT_FLOAT_EQ(found.losses[2], std::log(2.0F) / 2.5F) << "far below the resolution of 1e30";
  EXPECT_FLOAT_EQ(found.losses[3], std::log(3.0F) / 2.5F);
  const float unit = 1.5F / 2.5F;
  EXPECT_TRUE(
      same_bits(std::vector<float>(found.dlogits.begin(), found.dlogits.begin() + 8), std::vector<float>{0, 0, 0, 0, unit, -unit, 0, 0}));
  EXPECT_EQ(found.dlogits[12], 0);
  EXPECT_FLOAT_EQ(found.dlogits[13], -unit * 2 / 3);
}

// For a target whose probability is 1 - e^-10 the loss is 4.5e-5; the log-sum-exp of these logits has steps of 7.6e-6.
TEST(CrossEntropyKernel, SmallLossesKeepTheirDigits) {
  for (const double smoothing : {0.0, 1e-9}) {
    const auto found = by_kernel<float>(3, {100, 90, -100}, {0}, {}, 1.5F, smoothing);
    EXPECT_NEAR(found.losses[0] * 2.5F, std::log1p(std::exp(-10.0)), 2e-7) << smoothing;
  }
}

TEST(CrossEntropyKernel, ATargetThatCannotBeCostsInfinitely) {
  EXPECT_EQ(by_kernel<float>(3, {-kInfinity, 0, 0}, {0}).losses[0], kInfinity);
}

TEST(CrossEntropyKernel, NotANumberIsNeverHidden) {
  for (const std::vector<float>& logits : {std::vector<float>{0, kNan, 1},
                                           {kNan, kNan, kNan},
                                           {kNan, -kInfinity, -kInfinity},
                                           {0, kInfinity, 1},
                                           {-kInfinity, -kInfinity, -kInfinity}}) {
    for (const std::int32_t target : {0, 1, 2}) {
      for (const double smoothing : {0.0, 0.1}) {
        EXPECT_TRUE(std::isnan(by_kernel<float>(3, logits, {target}, {}, 1.5F, smoothing).losses[0]))
            << ::testing::PrintToString(logits) << ", target " << target << ", smoothing " << smoothing;
      }
    }
  }
}

TEST(CrossEntropyKernel, SmoothingIsLeastIfThePredictionIsTheSmoothedTarget) {
  const float share = 0.2F / 4;
  const std::vector<float> logits = {std::log(share), std::log(share), std::log(0.8F + share), std::log(share)};
  const auto found = by_kernel<float>(4, logits, {2}, {}, 1.5F, 0.2);
  for (const float slope : found.dlogits) {
    EXPECT_NEAR(slope, 0, 1e-7);
  }
  EXPECT_NEAR(found.losses[0], -(3 * share * std::log(share) + (0.8F + share) * std::log(0.8F + share)) / 2.5F, 1e-7) << "its entropy";
}

TEST(CrossEntropyKernel, SmoothingMakesAClassThatCannotBeCostInfinitely) {
  EXPECT_EQ(by_kernel<float>(3, {0, 1, -kInfinity}, {0}, {}, 1.5F, 0.1).losses[0], kInfinity);
  EXPECT_TRUE(std::isfinite(by_kernel<float>(3, {0, 1, -kInfinity}, {0}).losses[0]));
}

// A row of weight 0 may hold anything, and its target need not be an index: neither is read, even if dloss is not a number.
TEST(CrossEntropyKernel, RowsOfWeightZeroAreNotRead) {
  for (const float dloss : {1.0F, kNan, kInfinity}) {
    for (const double smoothing : {0.0, 0.1}) {
      const auto found = by_kernel<float>(2, {kNan, kInfinity, 1, 2}, {1 << 30, 0}, {0, 1}, dloss, smoothing);
      EXPECT_EQ(found.losses[0], 0);
      EXPECT_EQ(found.dlogits[0], 0);
      EXPECT_EQ(found.dlogits[1], 0);
      EXPECT_GT(found.losses[1], 0);
    }
  }
}

TEST(SoftmaxKernel, ExtremeLogits) {
  const std::vector<float> x = {1e30F, -1e30F, 0, 1, -kInfinity, 2, 2, 2, kInfinity, 0, 0, 0, kNan, 0, 0, 0};
  std::vector<float> y(x.size(), 9.0F);
  softmax_forward<float>({.rows = 4, .cols = 4, .x = x.data(), .y = y.data()});
  EXPECT_TRUE(same_bits(std::vector<float>(y.begin(), y.begin() + 5), std::vector<float>{1, 0, 0, 0, 0}));
  EXPECT_FLOAT_EQ(y[5], 1.0F / 3);
  EXPECT_TRUE(std::isnan(y[8])) << "infinity over infinity";
  EXPECT_TRUE(std::isnan(y[12]) && std::isnan(y[13])) << "the sum is not a number";
}

TEST(SoftmaxKernel, RowsAddUpToOne) {
  for (const index cols : testing::kRaggedSizes) {
    const auto x = numbers(20 * cols, 1, -30, 30);
    std::vector<float> y(x.size());
    softmax_forward<float>({.rows = 20, .cols = cols, .x = x.data(), .y = y.data()});
    for (auto row = y.begin(); row != y.end(); row += cols) {
      EXPECT_NEAR(std::accumulate(row, row + cols, 0.0), 1, 1e-5) << cols;  // log-sum-exps of up to 30 have an error of 2e-6
    }
  }
}

}  // namespace
}  // namespace dikkat::kernels::cross_entropy_test
