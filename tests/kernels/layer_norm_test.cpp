#include "autograd/kernels/layer_norm.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/kernels/reference/layer_norm.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::layer_norm_test {
namespace {

using testing::converted;
using testing::largest_magnitude;
using testing::numbers;
using testing::relative_error;

template <class T>
struct Result {
  std::vector<T> y, mean, rstd, dx, dgamma, dbeta;
};

enum class Kind { layer_norm, rms_norm };

template <class T, class Forward, class Backward>
Result<T> run(Kind kind, index rows, index cols, const std::vector<float>& x32, Forward&& forward, Backward&& backward) {
  const bool center = kind == Kind::layer_norm;
  const auto x = converted<T>(x32);
  const auto gamma = converted<T>(numbers(cols, 2));
  const auto beta = converted<T>(numbers(cols, 3));
  const auto dy = converted<T>(numbers(rows * cols, 4));
  const auto n = static_cast<std::size_t>(rows);
  const auto width = static_cast<std::size_t>(cols);
  Result<T> r{.y = x,
              .mean = std::vector<T>(n),
              .rstd = std::vector<T>(n),
              .dx = x,
              .dgamma = std::vector<T>(width),
              .dbeta = std::vector<T>(width)};
  forward(LayerNormForward<T>{.rows = rows,
                              .cols = cols,
                              .center = center,
                              .x = x.data(),
                              .gamma = gamma.data(),
                              .beta = center ? beta.data() : nullptr,
                              .y = r.y.data(),
                              .mean = center ? r.mean.data() : nullptr,
                              .rstd = r.rstd.data()});
  backward(LayerNormBackward<T>{.rows = rows,
                                .cols = cols,
                                .dy = dy.data(),
                                .x = x.data(),
                                .gamma = gamma.data(),
                                .mean = center ? r.mean.data() : nullptr,
                                .rstd = r.rstd.data(),
                                .dx = {r.dx.data()},
                                .dgamma = {r.dgamma.data()},
                                .dbeta = {center ? r.dbeta.data() : nullptr}});
  return r;
}
template <class T>
Result<T> by_kernel(index rows, index cols, const std::vector<float>& x, Kind kind = Kind::layer_norm) {
  return run<T>(
      kind, rows, cols, x, [](const LayerNormForward<T>& p) { layer_norm_forward(p); },
      [](const LayerNormBackward<T>& p) { layer_norm_backward(p); });
}
Result<double> by_reference(index rows, index cols, const std::vector<float>& x, Kind kind = Kind::layer_norm) {
  return run<double>(
      kind, rows, cols, x, [](const LayerNormForward<double>& p) { reference::layer_norm_forward(p); },
      [](const LayerNormBackward<double>& p) { reference::layer_norm_backward(p); });
}

template <class T>
void expect_close(const Result<T>& found, const Result<double>& expected, double bound) {
  EXPECT_LE(relative_error(found.y, expected.y), bound);
  EXPECT_LE(relative_error(found.mean, expected.mean), bound);
  EXPECT_LE(relative_error(found.rstd, expected.rstd), bound);
  EXPECT_LE(relative_error(found.dx, expected.dx), bound);
  EXPECT_LE(relative_error(found.dgamma, expected.dgamma), bound);
  EXPECT_LE(relative_error(found.dbeta, expected.dbeta), bound);
}

TEST(LayerNormKernel, EqualsPlainLoops) {
  for (const index cols : {2, 7, 15, 16, 17, 63, 65, 129, 1000}) {
    for (const index rows : {1, 31, 32, 33, 100}) {
      SCOPED_TRACE(concat(rows, " by ", cols));
      const auto x = numbers(rows * cols, 1, -2, 3);
      const auto expected = by_reference(rows, cols, x);
      expect_close(by_kernel<double>(rows, cols, x), expected, 1e-12);
      expect_close(by_kernel<float>(rows, cols, x), expected, 5e-6);
    }
  }
}

TEST(RmsNormKernel, EqualsPlainLoops) {
  for (const index cols : {1, 2, 7, 15, 16, 17, 63, 65, 129, 1000}) {
    for (const index rows : {1, 15, 16, 17, 100}) {
      SCOPED_TRACE(concat(rows, " by ", cols));
      const auto x = numbers(rows * cols, 1, -2, 3);  // their mean, 0.5, stays
      const auto expected = by_reference(rows, cols, x, Kind::rms_norm);
      expect_close(by_kernel<double>(rows, cols, x, Kind::rms_norm), expected, 1e-12);
      expect_close(by_kernel<float>(rows, cols, x, Kind::rms_norm), expected, 5e-6);
    }
  }
}

// For a mean square of zero, rstd is 1 / sqrt(eps). A row of large numbers keeps its digits. NaN stays in its row.
TEST(RmsNormKernel, AtTheEndsOfTheNumbers) {
  const index cols = 20;
  const auto gamma = numbers(cols, 2);
  std::vector<float> x(static_cast<std::size_t>(4 * cols), 0.0F);
  std::fill_n(x.begin() + cols, cols, -1e15F);
  std::fill_n(x.begin() + 2 * cols, cols, 1e-15F);
  x[static_cast<std::size_t>(3 * cols + 19)] = std::numeric_limits<float>::quiet_NaN();
  const auto found = by_kernel<float>(4, cols, x, Kind::rms_norm);
  for (std::size_t i = 0; i < gamma.size(); ++i) {
    EXPECT_EQ(found.y[i], 0);
    EXPECT_NEAR(found.y[20 + i], -gamma[i], 1e-6);
    EXPECT_NEAR(found.y[40 + i] * std::sqrt(1e-5F) / 1e-15F, gamma[i], 1e-6);
    EXPECT_TRUE(std::isnan(found.y[60 + i]) && std::isnan(found.dx[60 + i]));
  }
  EXPECT_FLOAT_EQ(found.rstd[0], 1 / std::sqrt(1e-5F));
}

// x - mean is zero, so y is beta and dx is zero, up to a rounding of dy gamma times rstd = 1 / sqrt(eps).
TEST(LayerNormKernel, OfOneColumn) {
  const auto found = by_kernel<float>(40, 1, numbers(40, 1, -5, 5));
  const float beta = numbers(1, 3)[0];
  const double rounding = 0x1p-24 / std::sqrt(1e-5) * std::abs(static_cast<double>(numbers(1, 2)[0]));
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(found.y[i], beta);
    EXPECT_LE(std::abs(static_cast<double>(found.dx[i])), rounding);
  }
}

// Two passes over the row are needed: otherwise the variance of numbers far from zero cancels away.
TEST(LayerNormKernel, FarFromZero) {
  const index cols = 64;
  auto x = numbers(cols, 1);
  for (float& value : x) {
    value = std::round(value * 64) / 64 + 1000;  // exact
  }
  EXPECT_LE(relative_error(by_kernel<float>(1, cols, x).y, by_reference(1, cols, x).y), 1e-4)
      << "the mean's own rounding, 1000 * 2^-24, over 0.5";
}

TEST(LayerNormKernel, OfEqualNumbersIsBeta) {
  const auto found = by_kernel<float>(3, 20, std::vector<float>(60, 0.5F));
  const auto beta = numbers(20, 3);
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(found.y[i], beta[i % 20]);
  }
}

TEST(LayerNormKernel, NotANumberStaysInItsRow) {
  auto x = numbers(5 * 19, 1);
  x[2 * 19 + 18] = std::numeric_limits<float>::quiet_NaN();
  const auto found = by_kernel<float>(5, 19, x);
  for (std::size_t i = 0; i < found.y.size(); ++i) {
    EXPECT_EQ(std::isnan(found.y[i]), i / 19 == 2);
    EXPECT_EQ(std::isnan(found.dx[i]), i / 19 == 2);
  }
}

TEST(LayerNormKernel, AddsToEarlierGradients) {
  const index rows = 40;
  const index cols = 17;
  const auto x = numbers(rows * cols, 1);
  const auto once = by_kernel<double>(rows, cols, x);
  const auto gamma = converted<double>(numbers(cols, 2));
  const auto dy = converted<double>(numbers(rows * cols, 4));
  const auto wide = converted<double>(x);
  auto dx = once.dx;
  auto dgamma = once.dgamma;
  layer_norm_backward<double>({.rows = rows,
                               .cols = cols,
                               .dy = dy.data(),
                               .x = wide.data(),
                               .gamma = gamma.data(),
                               .mean = once.mean.data(),
                               .rstd = once.rstd.data(),
                               .dx = {dx.data(), true},
                               .dgamma = {dgamma.data(), true},
                               .dbeta = {}});
  for (std::size_t i = 0; i < dx.size(); ++i) {
    EXPECT_DOUBLE_EQ(dx[i], 2 * once.dx[i]);
  }
  for (std::size_t i = 0; i < dgamma.size(); ++i) {
    EXPECT_NEAR(dgamma[i], 2 * once.dgamma[i], 1e-13 * largest_magnitude(dgamma));
  }
}

}  // namespace
}  // namespace dikkat::kernels::layer_norm_test
