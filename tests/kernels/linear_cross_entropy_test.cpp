#include "autograd/kernels/loss/linear_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "tests/kernels/reference/cross_entropy.h"
#include "tests/kernels/reference/teacher_targets.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::linear_cross_entropy_test {
namespace {

using testing::converted;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Inputs {
  index width, classes;
  std::vector<float> x, weight;
  std::vector<std::int32_t> targets;
  std::vector<float> weights{};
  double smoothing = 0;
  float dloss = 1.5F;
  double softcap = 0;
  index top = 0;
  std::vector<std::int32_t> ids{};     // (rows, top)
  std::vector<float> probabilities{};  // (rows, top + 1)
  double share = 0.5, temperature = 1;

  TeacherTargets teacher() const { return {top, ids.data(), probabilities.data(), share, temperature}; }
};

template <class T>
struct Result {
  std::vector<T> losses, dx, dweight;
};

/// Outputs begin as NaN.
template <class T>
Result<T> by_kernel(const Inputs& in, bool keep = true) {
  const auto x = converted<T>(in.x);
  const auto weight = converted<T>(in.weight);
  const T nan = std::numeric_limits<T>::quiet_NaN();
  Result<T> r{std::vector<T>(in.targets.size(), nan), std::vector<T>(x.size(), nan), std::vector<T>(weight.size(), nan)};
  LinearCrossEntropy<T> p{.rows = static_cast<index>(in.targets.size()),
                          .width = in.width,
                          .classes = in.classes,
                          .x = x.data(),
                          .weight = weight.data(),
                          .targets = in.targets.data(),
                          .weights = in.weights.empty() ? nullptr : in.weights.data(),
                          .normalizer = 2.5,
                          .label_smoothing = in.smoothing,
                          .teacher = in.teacher(),
                          .softcap = in.softcap,
                          .keep = keep,
                          .losses = r.losses.data(),
                          .dloss = static_cast<T>(in.dloss),
                          .dx = {r.dx.data()},
                          .dweight = {r.dweight.data()}};
  std::vector<T> work(static_cast<std::size_t>(linear_cross_entropy_work(p)), nan);
  p.work = work.data();
  linear_cross_entropy_forward(p);
  if (keep) {
    linear_cross_entropy_backward(p);
  }
  return r;
}

/// The product by plain loops, then the loss by tests/kernels/reference/cross_entropy.h.
Result<double> by_reference(const Inputs& in) {
  const auto rows = static_cast<index>(in.targets.size());
  std::vector<double> logits(static_cast<std::size_t>(rows * in.classes)), tops(in.targets.size()), sums(in.targets.size());
  auto dlogits = logits;
  const auto x = converted<double>(in.x);
  const auto weight = converted<double>(in.weight);
  Result<double> r{std::vector<double>(in.targets.size()), std::vector<double>(x.size()), std::vector<double>(weight.size())};
  const auto each = [&](auto&& f) {  // (row, class, column)
    for (index i = 0; i < rows; ++i) {
      for (index v = 0; v < in.classes; ++v) {
        for (index c = 0; c < in.width; ++c) {
          f(static_cast<std::size_t>(i * in.classes + v), static_cast<std::size_t>(i * in.width + c),
            static_cast<std::size_t>(v * in.width + c));
        }
      }
    }
  };
  // Compute the logits, with the softcap and its slopes.
  each([&](std::size_t iv, std::size_t ic, std::size_t vc) { logits[iv] += x[ic] * weight[vc]; });
  auto slopes = std::vector<double>(logits.size(), 1.0);
  for (std::size_t i = 0; in.softcap != 0 && i < logits.size(); ++i) {
    const double cosh = std::cosh(logits[i] / in.softcap);
    slopes[i] = 1 / (cosh * cosh);
    logits[i] = in.softcap * std::tanh(logits[i] / in.softcap);
  }
  // Compute the loss and its gradients.
  const CrossEntropy<double> p{.rows = rows,
                               .cols = in.classes,
                               .logits = logits.data(),
                               .targets = in.targets.data(),
                               .weights = in.weights.empty() ? nullptr : in.weights.data(),
                               .normalizer = 2.5,
                               .label_smoothing = in.smoothing,
                               .tops = tops.data(),
                               .sums = sums.data(),
                               .losses = r.losses.data(),
                               .dloss = static_cast<double>(in.dloss),
                               .dlogits = {dlogits.data()}};
  reference::cross_entropy_forward(p);
  reference::cross_entropy_backward(p);
  if (in.top > 0) {
    reference::add_teacher(p, in.teacher());
  }
  // Multiply the gradients of the logits.
  each([&](std::size_t iv, std::size_t ic, std::size_t vc) {
    r.dx[ic] += dlogits[iv] * slopes[iv] * weight[vc];
    r.dweight[vc] += dlogits[iv] * slopes[iv] * x[ic];
  });
  return r;
}

Inputs random_inputs(index rows, index width, index classes, double smoothing) {
  Inputs in{width, classes, numbers(rows * width, 1, -3, 3), numbers(classes * width, 2), {}, {}, smoothing};
  for (index i = 0; i < rows; ++i) {
    in.weights.push_back(static_cast<float>(i % 4) / 2);
    in.targets.push_back(i % 4 == 0 ? -1 : static_cast<std::int32_t>((i * 977 + 5) % classes));
  }
  return in;
}

// One class, whose gradient is zero, is left to the gradient checks. Classes are on both sides of tiles (128) and panels (2048), rows on
// both sides of vectors and of a thread's part (64).
TEST(LinearCrossEntropyKernel, EqualsPlainLoops) {
  for (const index classes : {2, 127, 128, 129, 2048, 2049, 4500}) {
    for (const index rows : {1, 17, 80}) {
      for (const double smoothing : {0.0, 0.1}) {
        SCOPED_TRACE(concat(rows, " by ", classes, ", smoothing ", smoothing));
        const Inputs in = random_inputs(rows, 3, classes, smoothing);
        const auto expected = by_reference(in);
        const auto exact = by_kernel<double>(in);
        EXPECT_LE(relative_error(exact.losses, expected.losses), 1e-13);
        EXPECT_LE(relative_error(exact.dx, expected.dx), 1e-12);  // e^x enlarges the error of x, which is up to 18
        EXPECT_LE(relative_error(exact.dweight, expected.dweight), 1e-12);
        const auto found = by_kernel<float>(in);
        EXPECT_LE(relative_error(found.losses, expected.losses), 1e-6);
        EXPECT_LE(relative_error(found.dx, expected.dx), 5e-6);
        EXPECT_LE(relative_error(found.dweight, expected.dweight), 5e-6);
        EXPECT_TRUE(same_bits(by_kernel<float>(in, false).losses, found.losses)) << "in evaluation";
      }
    }
  }
}

// Backward takes tanh from the exponentials. For logits of up to 9, a cap of 2 makes most of the range flat; one of 40 hardly changes them.
TEST(LinearCrossEntropyKernel, WithASoftcapEqualsPlainLoops) {
  for (const double cap : {0.5, 2.0, 30.0, kMostSoftcap}) {
    for (const index classes : {2, 127, 129, 2049}) {
      for (const double smoothing : {0.0, 0.1}) {
        SCOPED_TRACE(concat("cap ", cap, ", ", classes, " classes, smoothing ", smoothing));
        Inputs in = random_inputs(17, 3, classes, smoothing);
        in.softcap = cap;
        const auto expected = by_reference(in);
        const auto exact = by_kernel<double>(in);
        EXPECT_LE(relative_error(exact.losses, expected.losses), 1e-13);
        EXPECT_LE(relative_error(exact.dx, expected.dx), 1e-12);
        EXPECT_LE(relative_error(exact.dweight, expected.dweight), 1e-12);
        const auto found = by_kernel<float>(in);
        EXPECT_LE(relative_error(found.losses, expected.losses), 1e-6);
        EXPECT_LE(relative_error(found.dx, expected.dx), 5e-6);
        EXPECT_LE(relative_error(found.dweight, expected.dweight), 5e-6);
        EXPECT_TRUE(same_bits(by_kernel<float>(in, false).losses, found.losses)) << "in evaluation";
      }
    }
  }
}

/// Adds a teacher that names every so-manieth class, from another one on in each row.
Inputs with_teacher(Inputs in, index top, double share, double temperature) {
  in.top = top;
  in.share = share;
  in.temperature = temperature;
  const index apart = in.classes / (top + 1);
  for (std::size_t row = 0; row < in.targets.size(); ++row) {
    const auto some = numbers(top + 1, 100 + row, 0.1F, 1);
    float sum = 0;
    for (const float one : some) {
      sum += one;
    }
    for (index j = 0; j < top; ++j) {
      in.ids.push_back(static_cast<std::int32_t>(j * apart + static_cast<index>(row) % (apart + 1)));
    }
    for (const float one : some) {
      in.probabilities.push_back(one / sum);
    }
  }
  return in;
}

// The named classes are in several tiles and panels, or all but one of the classes.
TEST(LinearCrossEntropyKernel, WithATeacherEqualsPlainLoops) {
  struct Case {
    index classes, top, rows;
  };
  for (const Case& one : {Case{2, 1, 3}, Case{5, 4, 17}, Case{127, 8, 17}, Case{129, 32, 40}, Case{2049, 5, 17}, Case{4500, 32, 17}}) {
    for (const double share : {0.3, 1.0}) {
      for (const double temperature : {1.0, 2.0, 0.7}) {
        for (const double cap : {0.0, 2.0}) {
          SCOPED_TRACE(concat(one.rows, " by ", one.classes, ", ", one.top, " named, share ", share, ", T ", temperature, ", cap ", cap));
          Inputs in = with_teacher(random_inputs(one.rows, 3, one.classes, 0), one.top, share, temperature);
          in.softcap = cap;
          const auto expected = by_reference(in);
          const auto exact = by_kernel<double>(in);
          EXPECT_LE(relative_error(exact.losses, expected.losses), 1e-13);
          EXPECT_LE(relative_error(exact.dx, expected.dx), 1e-12);
          EXPECT_LE(relative_error(exact.dweight, expected.dweight), 1e-12);
          const auto found = by_kernel<float>(in);
          EXPECT_LE(relative_error(found.losses, expected.losses), 1e-6);
          EXPECT_LE(relative_error(found.dx, expected.dx), 1e-5);
          EXPECT_LE(relative_error(found.dweight, expected.dweight), 1e-5);
          EXPECT_TRUE(same_bits(by_kernel<float>(in, false).losses, found.losses)) << "in evaluation";
        }
      }
    }
  }
}

// The student is certain of a named class: the tail has e^-60 of the probability, which 1 minus the others would lose.
TEST(LinearCrossEntropyKernel, ATailOfAlmostNothing) {
  Inputs in{
      .width = 1, .classes = 4, .x = {1}, .weight = {60, 0, -1, -2}, .targets = {0}, .top = 1, .ids = {0}, .probabilities = {0.75F, 0.25F}};
  for (const double temperature : {1.0, 2.0}) {
    in.temperature = temperature;
    const auto expected = by_reference(in);
    const auto found = by_kernel<float>(in);
    EXPECT_LE(relative_error(found.losses, expected.losses), 1e-6);
    EXPECT_LE(relative_error(found.dweight, expected.dweight), 1e-5);
  }
}

TEST(LinearCrossEntropyKernel, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const bool taught : {false, true}) {
    Inputs in = taught ? with_teacher(random_inputs(90, 5, 4500, 0), 32, 0.4, 2) : random_inputs(90, 5, 4500, 0.1);
    in.softcap = 5;
    const WithThreads one(1);
    const auto expected = by_kernel<float>(in);
    for (const int threads : {2, 3, 4}) {
      const WithThreads some(threads, Work{0});
      const auto found = by_kernel<float>(in);
      EXPECT_TRUE(same_bits(found.losses, expected.losses)) << threads;
      EXPECT_TRUE(same_bits(found.dx, expected.dx)) << threads;
      EXPECT_TRUE(same_bits(found.dweight, expected.dweight)) << threads;
    }
  }
}

/// Inputs with one row, x = 1: its logits are the weights.
Inputs of_logits(std::vector<float> logits, std::int32_t target, double smoothing = 0) {
  const auto classes = static_cast<index>(logits.size());
  return {1, classes, {1}, std::move(logits), {target}, {}, smoothing};
}

TEST(LinearCrossEntropyKernel, ExtremeLogits) {
  EXPECT_EQ(by_kernel<float>(of_logits({1e30F, -1e30F, 0, 1}, 0)).losses[0], 0) << "certain";
  EXPECT_FLOAT_EQ(by_kernel<float>(of_logits({1e30F, -1e30F, 0, 1}, 1)).losses[0], 2e30F / 2.5F) << "as wrong as possible, and finite";
  EXPECT_FLOAT_EQ(by_kernel<float>(of_logits({-kInfinity, 0, 0, 0}, 1)).losses[0], std::log(3.0F) / 2.5F) << "a class that cannot occur";
  EXPECT_EQ(by_kernel<float>(of_logits({-kInfinity, 0, 0}, 0)).losses[0], kInfinity);
  EXPECT_EQ(by_kernel<float>(of_logits({0, 1, -kInfinity}, 0, 0.1)).losses[0], kInfinity);
  const auto found = by_kernel<float>(of_logits({1e30F, -1e30F, 0, 1}, 1));
  EXPECT_TRUE(same_bits(found.dweight, std::vector<float>{0.6F, -0.6F, 0, 0}));
}

// At the largest cap, with logits from -40 to 40 in one tile, the least exponential is e^-80. It must be a normal number, as backward takes
// the logit back from it.
TEST(LinearCrossEntropyKernel, TheLargestSoftcapOfLargeLogits) {
  const std::vector<float> logits = {1e30F, 300, 100, 45, 10, 0, -10, -45, -100, -300, -1e30F};
  for (std::size_t target = 0; target < logits.size(); ++target) {
    for (const double smoothing : {0.0, 0.1}) {
      Inputs in = of_logits(logits, static_cast<std::int32_t>(target), smoothing);
      in.softcap = kMostSoftcap;
      const auto expected = by_reference(in);
      const auto found = by_kernel<float>(in);
      SCOPED_TRACE(concat("target ", target, ", smoothing ", smoothing));
      EXPECT_LE(relative_error(found.losses, expected.losses), 1e-6);
      EXPECT_LE(relative_error(found.dweight, expected.dweight), 1e-5) << "near 1, tanh has steps of 2^-24, which 1 - tanh^2 keeps";
    }
  }
  Inputs endless = of_logits({kInfinity, -kInfinity, 0}, 1);
  endless.softcap = 30;
  EXPECT_FLOAT_EQ(by_kernel<float>(endless).losses[0], 60 / 2.5F) << "infinities are capped too";
  Inputs none = of_logits({0, kNan, 1}, 0);
  none.softcap = 30;
  EXPECT_TRUE(std::isnan(by_kernel<float>(none).losses[0]));
}

// A tile of 128 classes may have a top far from the others', or none.
TEST(LinearCrossEntropyKernel, TilesOfVeryDifferentLogits) {
  std::vector<float> logits(300, -200.0F);
  std::fill(logits.begin() + 128, logits.begin() + 256, -kInfinity);
  logits[299] = -100;
  for (const std::int32_t target : {0, 299}) {
    const auto found = by_kernel<float>(of_logits(logits, target));
    EXPECT_FLOAT_EQ(found.losses[0], target == 0 ? 100 / 2.5F : 0);
    EXPECT_FLOAT_EQ(found.dweight[0], target == 0 ? -0.6F : 0);
    EXPECT_EQ(found.dweight[200], 0);
    EXPECT_FLOAT_EQ(found.dweight[299], target == 0 ? 0.6F : 0);
  }
}

TEST(LinearCrossEntropyKernel, NotANumberIsNeverHidden) {
  for (const std::vector<float>& logits : {std::vector<float>{0, kNan, 1},
                                           {kNan, kNan, kNan},
                                           {kNan, -kInfinity, -kInfinity},
                                           {0, kInfinity, 1},
                                           {-kInfinity, -kInfinity, -kInfinity}}) {
    for (const std::int32_t target : {0, 1, 2}) {
      for (const double smoothing : {0.0, 0.1}) {
        EXPECT_TRUE(std::isnan(by_kernel<float>(of_logits(logits, target, smoothing)).losses[0]))
            << ::testing::PrintToString(logits) << ", target " << target << ", smoothing " << smoothing;
      }
    }
  }
}

// A row of weight 0 may have logits that overflow, and its target need not be an index.
TEST(LinearCrossEntropyKernel, RowsOfWeightZeroAreNotRead) {
  for (const double smoothing : {0.0, 0.1}) {
    const Inputs both{1, 3, {3e38F, 1}, {2, 1, -4}, {1 << 30, 1}, {0, 1}, smoothing};
    const Inputs alone{1, 3, {1}, {2, 1, -4}, {1}, {1}, smoothing};
    const auto found = by_kernel<float>(both);
    const auto expected = by_kernel<float>(alone);
    EXPECT_EQ(found.losses[0], 0);
    EXPECT_EQ(found.dx[0], 0);
    EXPECT_EQ(found.losses[1], expected.losses[0]);
    EXPECT_LE(relative_error(found.dweight, expected.dweight), 1e-6);
  }
}

TEST(LinearCrossEntropyKernel, AddsTheGradientsOfOtherRows) {
  const Inputs in = random_inputs(20, 3, 2100, 0);
  const auto expected = by_kernel<double>(in);
  const auto x = converted<double>(in.x);
  const auto weight = converted<double>(in.weight);
  for (const bool add : {false, true}) {
    auto dx = expected.dx;
    auto dweight = expected.dweight;
    const std::vector<double> before(dweight.size(), 0.25);
    std::vector<double> losses(20);
    LinearCrossEntropy<double> p{.rows = 20,
                                 .width = 3,
                                 .classes = 2100,
                                 .x = x.data(),
                                 .weight = weight.data(),
                                 .targets = in.targets.data(),
                                 .weights = in.weights.data(),
                                 .normalizer = 2.5,
                                 .losses = losses.data(),
                                 .dloss = 1.5,
                                 .dx = {dx.data(), add},
                                 .dweight = {dweight.data(), add},
                                 .dweight_before = before.data()};
    std::vector<double> work(static_cast<std::size_t>(linear_cross_entropy_work(p)));
    p.work = work.data();
    // Compare with the gradients of these rows plus those of the others.
    linear_cross_entropy_forward(p);
    linear_cross_entropy_backward(p);
    const double times = add ? 2 : 1;
    auto dx_expected = expected.dx;
    auto dweight_expected = expected.dweight;
    for (double& value : dx_expected) {
      value *= times;
    }
    for (double& value : dweight_expected) {
      value = times * value + 1.5 * 0.25;
    }
    EXPECT_LE(relative_error(dx, dx_expected), 1e-14);
    EXPECT_LE(relative_error(dweight, dweight_expected), 1e-14);
  }
}

TEST(LinearCrossEntropyKernel, WorkForMoreRowsSufficesForFewer) {
  constexpr index kMore = 576, kFewer = 497, kWidth = 3, kClasses = 4096, kBehind = 1 << 17;
  const auto x = numbers(kMore * kWidth, 1);
  const auto weight = numbers(kClasses * kWidth, 2);
  const std::vector<std::int32_t> targets(kMore, 5);
  std::vector<float> losses(kMore);
  LinearCrossEntropy<float> p{.rows = kMore,
                              .width = kWidth,
                              .classes = kClasses,
                              .x = x.data(),
                              .weight = weight.data(),
                              .targets = targets.data(),
                              .keep = false,
                              .losses = losses.data()};
  const auto size = static_cast<std::size_t>(linear_cross_entropy_work(p));
  std::vector<float> work(size + kBehind, 7);
  p.work = work.data();
  p.rows = kFewer;
  linear_cross_entropy_forward(p);
  EXPECT_EQ(std::count(work.begin() + static_cast<std::ptrdiff_t>(size), work.end(), 7.0F), kBehind);
}

// For a target whose probability is 1 - e^-10 the loss is 4.5e-5, with logits of a hundred: their log-sum-exp has steps of 7.6e-6.
TEST(LinearCrossEntropyKernel, SmallLossesKeepTheirDigits) {
  Inputs in{.width = 1, .classes = 3, .x = {10}, .weight = {10, 9, -10}, .targets = {0}};
  for (const double smoothing : {0.0, 1e-9}) {
    in.smoothing = smoothing;
    EXPECT_NEAR(by_kernel<float>(in, true).losses[0] * 2.5F, std::log1p(std::exp(-10.0)), 2e-7) << smoothing;
  }
}

}  // namespace
}  // namespace dikkat::kernels::linear_cross_entropy_test
