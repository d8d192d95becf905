#include "autograd/kernels/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "autograd/kernels/formulas.h"
#include "tests/kernels/reference/gelu.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::elementwise_test {
namespace {

using testing::converted;
using testing::numbers;
using testing::relative_error;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class F, class T>
std::vector<T> map(const F& function, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  const dikkat::detail::Formula f = formula(function);
  const void* const from = x.data();
  const index step = 1;
  f.loops<T>().forward(f.object, {.x = &from, .steps = &step, .y = y.data(), .count = static_cast<index>(x.size()), .add = false});
  return y;
}
template <class F, class T>
std::vector<T> slope(const F& function, const std::vector<T>& x) {
  const std::vector<T> dy(x.size(), T(1));
  std::vector<T> dx(x.size());
  const dikkat::detail::Formula f = formula(function);
  const void* const from = x.data();
  void* const to = dx.data();
  const index step = 1;
  const auto kind = dikkat::detail::RowGradient::overwrite;
  f.loops<T>().backward(f.object,
                        {.x = &from, .steps = &step, .dy = dy.data(), .dx = &to, .kinds = &kind, .count = static_cast<index>(x.size())});
  return dx;
}

TEST(GeluKernel, EqualsItsFormula) {
  const auto x = numbers(4001, 1, -12, 12);
  const auto wide = converted<double>(x);
  std::vector<double> y;
  std::vector<double> dx;
  for (const double value : wide) {
    y.push_back(reference::gelu(value));
    dx.push_back(reference::gelu_slope(value));
  }
  EXPECT_LE(relative_error(map(Gelu{}, wide), y), 1e-15);
  EXPECT_LE(relative_error(slope(Gelu{}, wide), dx), 1e-14);
  EXPECT_LE(relative_error(map(Gelu{}, x), y), 1e-7);
  EXPECT_LE(relative_error(slope(Gelu{}, x), dx), 3e-6);  // 1 - s is rounded to 2^-24, and multiplied by up to 50
}

// 1 + tanh(u) would lose all digits for very negative x; this form keeps them.
TEST(GeluKernel, KeepsItsDigitsFarBelowZero) {
  const std::vector<double> x = {-3, -5, -7};
  const auto y = map(Gelu{}, converted<float>(x));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = 2 * std::sqrt(2 / 3.14159265358979323846) * (x[i] + 0.044715 * x[i] * x[i] * x[i]);
    EXPECT_NEAR(y[i] / (x[i] / (1 + std::exp(-u))), 1, 1e-5) << x[i];  // u, some 30, is e's exponent: its rounding counts 30 times
  }
}

// In f32, x^3 is infinite from 1e13 on, and x^2 from 1e19: neither must be multiplied by a zero.
template <class T>
void gelu_far_from_zero() {
  constexpr T kHuge = std::numeric_limits<T>::max();
  constexpr T kEndless = std::numeric_limits<T>::infinity();
  const std::vector<T> x = {30, T(1e10), T(1e18), T(2e19), kHuge, kEndless, -30, T(-1e10), T(-1e18), T(-2e19), -kHuge, -kEndless};
  const auto y = map(Gelu{}, x);
  const auto dx = slope(Gelu{}, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(y[i], x[i] > 0 ? x[i] : 0) << x[i];
    EXPECT_EQ(dx[i], x[i] > 0 ? 1 : 0) << x[i];
  }
}
TEST(GeluKernel, FarFromZeroInF32) { gelu_far_from_zero<float>(); }
TEST(GeluKernel, FarFromZeroInF64) { gelu_far_from_zero<double>(); }

TEST(GeluKernel, OfNotANumberIsNotANumber) {
  EXPECT_TRUE(std::isnan(map(Gelu{}, std::vector<float>{kNan})[0]));
  EXPECT_TRUE(std::isnan(slope(Gelu{}, std::vector<float>{kNan})[0]));
}

// 1 - tanh^2 has no digits left from |x| = 9 on.
TEST(TanhKernel, KeepsTheDigitsOfItsSlope) {
  const auto x = numbers(20001, 1, -40, 40);
  const auto dx = slope(Tanh{}, x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double cosh = std::cosh(static_cast<long double>(x[i]));
    worst = std::max(worst, static_cast<double>(std::abs(dx[i] * cosh * cosh - 1)));
  }
  EXPECT_LE(worst, 5e-7);
}

// The errors are relative: far below zero a sigmoid is as small as e^x, and its slope is that small on both sides.
TEST(SigmoidKernel, KeepsItsDigitsOverTheWholeRange) {
  for (const float reach : {1.0F, 20.0F, 86.0F}) {
    const auto x = numbers(20001, 1, -reach, reach);
    const auto wide = converted<double>(x);
    const auto y = map(Sigmoid{}, x);
    const auto y_wide = map(Sigmoid{}, wide);
    const auto dx = slope(Sigmoid{}, x);
    const auto dx_wide = slope(Sigmoid{}, wide);
    double worst = 0, worst_wide = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double value = 1 / (1 + std::exp(-static_cast<long double>(x[i])));
      const long double rest = 1 / (1 + std::exp(static_cast<long double>(x[i])));
      const auto error = [](auto found, long double exact) { return static_cast<double>(std::abs(found / exact - 1)); };
      worst = std::max({worst, error(y[i], value), error(dx[i], value * rest)});
      worst_wide = std::max({worst_wide, error(y_wide[i], value), error(dx_wide[i], value * rest)});
    }
    EXPECT_LE(worst, 5e-7) << reach;  // e^x to 2 ulp (2^-22), then two to four roundings of 2^-24
    EXPECT_LE(worst_wide, 1e-15) << reach;
  }
}

TEST(SigmoidKernel, AtTheEndsOfTheNumbers) {
  const std::vector<float> x = {0, 30, -200, 200, kInfinity, -kInfinity, kNan};
  const auto y = map(Sigmoid{}, x);
  EXPECT_EQ(std::vector<float>(y.begin(), y.end() - 1), (std::vector<float>{0.5F, 1, 0, 1, 1, 0}));
  EXPECT_TRUE(std::isnan(y.back()));
  const auto dx = slope(Sigmoid{}, x);
  EXPECT_EQ(dx[0], 0.25F);
  EXPECT_NEAR(dx[1] / std::exp(-30.0F), 1, 1e-6);
  EXPECT_EQ(std::vector<float>(dx.begin() + 2, dx.end() - 1), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_TRUE(std::isnan(dx.back()));
}

TEST(MapKernels, AtTheEndsOfTheNumbers) {
  const auto gelu = map(Gelu{}, std::vector<float>{1e4F, -1e4F, kInfinity, kNan, 0});
  EXPECT_EQ(gelu[0], 1e4F);
  EXPECT_EQ(gelu[1], 0);
  EXPECT_EQ(gelu[2], kInfinity);
  EXPECT_TRUE(std::isnan(gelu[3]));
  EXPECT_EQ(gelu[4], 0);
  const auto relu = map(Relu{}, std::vector<float>{-kInfinity, kInfinity, kNan, -1, -0.0F});
  EXPECT_EQ(relu[0], 0);
  EXPECT_EQ(relu[1], kInfinity);
  EXPECT_TRUE(std::isnan(relu[2]));
  EXPECT_EQ(slope(Relu{}, std::vector<float>{0})[0], 0);
}

/// The largest error of f for numbers of all magnitudes (exponents from `lowest` to `highest`, both signs). It is relative to the exact
/// value, or to `least` if the value is nearer to zero.
template <class T, class Found, class Exact>
double worst_error(int lowest, int highest, double least, Found&& found, Exact&& exact) {
  const auto fractions = converted<T>(numbers(200 * (highest - lowest), 7, 1, 2));
  std::vector<T> x;
  for (std::size_t i = 0; i < fractions.size(); ++i) {
    x.push_back((i % 2 == 0 ? T(1) : T(-1)) * std::ldexp(fractions[i], lowest + static_cast<int>(i / 200)));
  }
  const std::vector<T> y = found(x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double expected = exact(static_cast<long double>(x[i]));
    const auto error = static_cast<double>(std::abs(static_cast<long double>(y[i]) - expected) /
                                           std::max(std::abs(expected), static_cast<long double>(least)));
    EXPECT_TRUE(std::isfinite(error)) << "of " << x[i];
    worst = std::max(worst, error);
  }
  return worst;
}

long double exact_silu(long double x) { return x / (1 + std::exp(-x)); }
/// s (1 + x (1 - s)), where 1 - s is computed without a difference.
long double exact_silu_slope(long double x) {
  const long double s = 1 / (1 + std::exp(-x));
  return s * (1 + x / (1 + std::exp(x)));
}

// Near x = -1.278 the slope is zero as a difference of two numbers of 0.2, which counts as 0.1 here. Below -87, f32's results are about as
// small as its least normal number, and may be rounded to zero.
TEST(SiluKernel, KeepsItsDigitsAtAllMagnitudes) {
  EXPECT_LE(worst_error<float>(-40, 6, 1e-35, [](const auto& x) { return map(Silu{}, x); }, exact_silu), 5e-7);
  EXPECT_LE(worst_error<double>(-40, 9, 1e-290, [](const auto& x) { return map(Silu{}, x); }, exact_silu), 1e-15);
  EXPECT_LE(worst_error<float>(-40, 40, 0.1, [](const auto& x) { return slope(Silu{}, x); }, exact_silu_slope), 5e-7);
  EXPECT_LE(worst_error<double>(-40, 40, 0.1, [](const auto& x) { return slope(Silu{}, x); }, exact_silu_slope), 1e-15);
}

// Far below zero a slope is as small as x e^x, and keeps its digits there.
TEST(SiluKernel, KeepsTheDigitsOfItsSlopeFarBelowZero) {
  std::vector<float> x;
  for (float at = -80; at < -2; at += 0.37F) {
    x.push_back(at);
  }
  const auto found = slope(Silu{}, x);
  const auto wide = slope(Silu{}, converted<double>(x));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto expected = static_cast<double>(exact_silu_slope(static_cast<long double>(x[i])));
    EXPECT_NEAR(static_cast<double>(found[i]) / expected, 1, 1e-6) << x[i];
    EXPECT_NEAR(wide[i] / expected, 1, 1e-14) << x[i];
  }
}

template <class T>
void silu_far_from_zero() {
  constexpr T kHuge = std::numeric_limits<T>::max();
  constexpr T kEndless = std::numeric_limits<T>::infinity();
  const std::vector<T> x = {800, T(1e10), T(1e30), kHuge, kEndless, -800, T(-1e10), T(-1e30), -kHuge, -kEndless};
  const auto y = map(Silu{}, x);
  const auto dx = slope(Silu{}, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(y[i], x[i] > 0 ? x[i] : 0) << x[i];
    EXPECT_NEAR(dx[i], x[i] > 0 ? 1 : 0, 1e-30) << x[i];
  }
  const auto of_nan = std::vector<T>{std::numeric_limits<T>::quiet_NaN()};
  EXPECT_TRUE(std::isnan(map(Silu{}, of_nan)[0]));
  EXPECT_TRUE(std::isnan(slope(Silu{}, of_nan)[0]));
  EXPECT_EQ(map(Silu{}, std::vector<T>{0})[0], 0);
  EXPECT_EQ(slope(Silu{}, std::vector<T>{0})[0], T(0.5));
}
TEST(SiluKernel, FarFromZeroInF32) { silu_far_from_zero<float>(); }
TEST(SiluKernel, FarFromZeroInF64) { silu_far_from_zero<double>(); }

TEST(Relu2Kernel, IsTheSquareOfRelu) {
  const auto worst =
      worst_error<float>(-60, 60, 1e-36, [](const auto& x) { return map(Relu2{}, x); }, [](long double x) { return x > 0 ? x * x : 0; });
  EXPECT_LE(worst, 0x1p-24);
  const std::vector<float> x = {3, 0.5F, 0, -0.0F, -3, kInfinity, -kInfinity, kNan, 2e19F};
  const auto y = map(Relu2{}, x);
  const auto dx = slope(Relu2{}, x);
  const std::vector<float> squares = {9, 0.25F, 0, 0, 0, kInfinity, 0, kNan, kInfinity};
  const std::vector<float> slopes = {6, 1, 0, 0, 0, kInfinity, 0, kNan, 4e19F};
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) {
      EXPECT_TRUE(std::isnan(y[i]) && std::isnan(dx[i]));
    } else {
      EXPECT_EQ(y[i], squares[i]) << x[i];
      EXPECT_EQ(dx[i], slopes[i]) << x[i];
    }
  }
}

// Each gate has the bits of its function, times its partner, in rows that do not fill whole vectors.
template <class F>
void check_gated(GateActivation activation, const F& function) {
  for (const auto& [rows, cols] : {std::pair<index, index>{1, 1}, {3, 5}, {2, 16}, {7, 33}, {3, 20000}}) {
    SCOPED_TRACE(concat(static_cast<int>(activation), ": ", rows, " by ", cols));
    const auto x = numbers(rows * 2 * cols, 1, -4, 4);
    const auto dy = numbers(rows * cols, 2);
    std::vector<float> y(dy.size(), kNan), dx(x.size(), kNan), gates, ups;
    // Separate gates and their partners.
    for (index row = 0; row < rows; ++row) {
      const auto at = x.begin() + 2 * row * cols;
      gates.insert(gates.end(), at, at + cols);
      ups.insert(ups.end(), at + cols, at + 2 * cols);
    }
    const Gated<float> p{
        .activation = activation, .rows = rows, .cols = cols, .x = x.data(), .dy = dy.data(), .y = y.data(), .dx = {dx.data()}};
    gated_forward(p);
    gated_backward(p);
    // Compute the function without the partners, and add the gradients a second time.
    const auto opened = map(function, gates);
    const auto slopes = slope(function, gates);
    auto added = dx;
    auto again = p;
    again.dx = {added.data(), true};
    gated_backward(again);
    for (index row = 0; row < rows; ++row) {
      for (index col = 0; col < cols; ++col) {
        const auto i = static_cast<std::size_t>(row * cols + col);
        const auto gate = static_cast<std::size_t>(2 * row * cols + col);
        const auto up = gate + static_cast<std::size_t>(cols);
        ASSERT_EQ(y[i], opened[i] * ups[i]) << i;
        ASSERT_EQ(dx[up], dy[i] * opened[i]) << i;
        ASSERT_EQ(dx[gate], dy[i] * ups[i] * slopes[i]) << i;
        ASSERT_FLOAT_EQ(added[up], 2 * dx[up]) << i;
        ASSERT_FLOAT_EQ(added[gate], 2 * dx[gate]) << i;
      }
    }
  }
}
TEST(GatedKernel, IsTheFunctionOfTheGateTimesItsPartner) {
  check_gated(GateActivation::silu, Silu{});
  check_gated(GateActivation::gelu, Gelu{});
  check_gated(GateActivation::relu, Relu{});
  check_gated(GateActivation::relu2, Relu2{});
}

// Kernels take denormal numbers as zero, on every thread: as operands and as results.
TEST(Denormals, AreFlushedOnEveryThread) {
  const float denormal = std::numeric_limits<float>::denorm_min() * 1000;
  const float smallest = std::numeric_limits<float>::min();
  for (const int threads : {1, 2, 4}) {
    const WithThreads with(threads, Work{0});
    const index n = 1 << 17;
    std::vector<float> x(static_cast<std::size_t>(n), denormal);
    std::vector<float> y(x.size(), 1.0F);
    scaled_copy<float>(n, 1e6F, x.data(), {y.data()});
    EXPECT_EQ(testing::largest_magnitude(y), 0) << "operands, " << threads << " threads";
    std::fill(x.begin(), x.end(), smallest);
    scaled_copy<float>(n, 0.5F, x.data(), {y.data()});
    EXPECT_EQ(testing::largest_magnitude(y), 0) << "results, " << threads << " threads";
  }
}

TEST(SumKernels, SumsOfManyAreExactEnough) {
  for (const index n : {1, 16, 17, 16384, 16385, 200001}) {
    const auto x = numbers(n, 1, 0, 1);
    long double expected = 0;
    for (const float value : x) {
      expected += static_cast<long double>(value);
    }
    EXPECT_FLOAT_EQ(sum(n, x.data()), static_cast<float>(expected)) << n;
  }
  EXPECT_EQ(sum<float>(0, nullptr), 0);
}

TEST(SumKernels, SumOfRowsOfNothingIsZero) {
  std::vector<float> out = {5, 5, 5};
  sum_rows<float>(0, 3, nullptr, {out.data()});
  EXPECT_EQ(out, (std::vector<float>{0, 0, 0}));
}

TEST(DropoutKernel, DropsAsManyAsAskedAndKeepsTheMean) {
  const index n = 200000;
  const std::vector<float> x(static_cast<std::size_t>(n), 1.0F);
  for (const double p : {0.1, 0.5, 0.9}) {
    std::vector<float> y(x.size());
    dropout<float>({.n = n, .dropping = {.probability = p, .stream = RandomStream(1, "here", 2)}, .x = x.data(), .y = {y.data()}});
    index dropped = 0;
    double total = 0;
    for (const float value : y) {
      dropped += value == 0 ? 1 : 0;
      total += static_cast<double>(value);
    }
    const double deviation = std::sqrt(p * (1 - p) / static_cast<double>(n));
    EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(n), p, 4 * deviation);
    EXPECT_NEAR(total / static_cast<double>(n), 1, 4 * deviation / (1 - p));
  }
}

}  // namespace
}  // namespace dikkat::kernels::elementwise_test
