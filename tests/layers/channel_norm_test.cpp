#include "layers/channel_norm.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "autograd/tape/gradient_check.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::converted;
using testing::error_of;
using testing::names;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

constexpr index kChannels = 6;
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {{5, kChannels}, {4, kChannels, 7}, {3, kChannels, 4, 5}};
  return all;
}

std::vector<double> values_of_norm(Tensor x) { return {x.data<double>(), x.data<double>() + x.size()}; }

/// Mean and biased variance of the numbers of x, (N, C, P), for which `in_set(n, c)` holds.
struct Statistics {
  double count = 0, mean = 0, variance = 0;

  template <class F>
  Statistics(const std::vector<double>& x, const Shape& shape, F&& in_set) {
    const index places = shape.size() / (shape[0] * kChannels);
    const auto each = [&](auto&& f) {
      for (index i = 0; i < shape.size(); ++i) {
        if (in_set(i / places / kChannels, i / places % kChannels)) {
          f(x[static_cast<std::size_t>(i)]);
        }
      }
    };
    each([&](double) { count += 1; });
    each([&](double value) { mean += value / count; });
    each([&](double value) { variance += (value - mean) * (value - mean) / count; });
  }
};

template <class Norm>
struct BuiltNorm {
  ParameterStore store;
  Norm norm;

  template <class... Options>
  explicit BuiltNorm(DType dtype, Options... options) : store(dtype), norm(Scope(store), options...) {
    store.allocate(1);
  }
  double* values(const char* path) { return static_cast<double*>(store.entry(path).values); }
  /// Gives weight and bias numbers that differ from channel to channel.
  void bend() {
    for (index c = 0; c < kChannels; ++c) {
      values("weight")[c] = 0.5 + 0.25 * static_cast<double>(c);
      values("bias")[c] = 1 - static_cast<double>(c);
    }
  }
};

TEST(BatchNorm, FollowsItsFormulaInTrainingAndAfterIt) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(concat(shape));
    BuiltNorm<BatchNorm> built(DType::f64, kChannels, 1e-3, 0.25);
    built.bend();
    std::vector<double> mean(kChannels, 0), variance(kChannels, 1);
    for (const bool training : {true, true, false}) {
      Tape tape;
      Pass pass{.tape = tape, .training = training};
      const auto x = converted<double>(numbers(shape.size(), training ? 1 : 2, -1, 3));
      const auto y = values_of_norm(built.norm(pass, tape.input<double>(shape, x)));
      std::vector<double> expected(x.size());
      const index places = shape.size() / (shape[0] * kChannels);
      for (index c = 0; c < kChannels; ++c) {
        const Statistics now(x, shape, [c](index, index channel) { return channel == c; });
        double& channel_mean = mean[static_cast<std::size_t>(c)];
        double& channel_variance = variance[static_cast<std::size_t>(c)];
        const double used_mean = training ? now.mean : channel_mean, used_variance = training ? now.variance : channel_variance;
        for (index i = 0; i < shape.size(); ++i) {
          if (i / places % kChannels == c) {
            const auto at = static_cast<std::size_t>(i);
            expected[at] = (x[at] - used_mean) / std::sqrt(used_variance + 1e-3) * built.values("weight")[c] + built.values("bias")[c];
          }
        }
        if (training) {
          channel_mean += 0.25 * (now.mean - channel_mean);
          channel_variance += 0.25 * (now.variance * now.count / (now.count - 1) - channel_variance);
        }
      }
      EXPECT_LE(relative_error(y, expected), 1e-13);
      EXPECT_LE(relative_error(values_of_norm(built.norm.running_mean), mean), 1e-13);
      EXPECT_LE(relative_error(values_of_norm(built.norm.running_var), variance), 1e-13);
    }
  }
}

TEST(GroupNorm, FollowsItsFormula) {
  for (const index groups : {1, 2, 3, 6}) {
    const Shape shape{3, kChannels, 4, 5};
    BuiltNorm<GroupNorm> built(DType::f64, groups, kChannels, 1e-3);
    built.bend();
    Tape tape;
    Pass pass{.tape = tape};
    const auto x = converted<double>(numbers(shape.size(), 1, -1, 3));
    const auto y = values_of_norm(built.norm(pass, tape.input<double>(shape, x)));
    std::vector<double> expected(x.size());
    for (index i = 0; i < shape.size(); ++i) {
      const index sample = i / 20 / kChannels, c = i / 20 % kChannels, size = kChannels / groups;
      const Statistics now(x, shape, [&](index n, index channel) { return n == sample && channel / size == c / size; });
      const auto at = static_cast<std::size_t>(i);
      expected[at] = (x[at] - now.mean) / std::sqrt(now.variance + 1e-3) * built.values("weight")[c] + built.values("bias")[c];
    }
    EXPECT_LE(relative_error(y, expected), 1e-13) << groups;
  }
}

/// The error of the gradients of x, weight and bias, of a norm whose parameters are replaced by operands.
template <class Norm, class... Options>
double gradient_error_of(bool training, Options... options) {
  const Shape shape{3, kChannels, 2, 2};
  const std::vector<CheckedOperand> operands = {{shape, converted<double>(numbers(shape.size(), 1))}};
  BuiltNorm<Norm> built(DType::f64, options...);
  built.bend();
  return gradient_error(
      [&](Tape& tape, std::span<const Tensor> x) {
        Pass pass{.tape = tape, .training = training};
        return built.norm(pass, x[0]);
      },
      operands);
}

TEST(ChannelNorms, HaveTheGradientsOfTheirFormulas) {
  EXPECT_LE(gradient_error_of<BatchNorm>(true, kChannels), 1e-7);
  EXPECT_LE(gradient_error_of<GroupNorm>(true, index{2}, kChannels), 1e-7);
}

TEST(ChannelNorms, TrainTheirWeightsAndNotTheirBuffers) {
  BuiltNorm<BatchNorm> built(DType::f64, kChannels);
  Tape tape;
  Pass pass{.tape = tape, .training = true};
  const Shape shape{8, kChannels, 3};
  const Tensor y = built.norm(pass, tape.input<double>(shape, converted<double>(numbers(shape.size(), 1))));
  const auto dy = converted<double>(numbers(shape.size(), 2));
  tape.backward(y, tape.input<double>(shape, dy));
  EXPECT_EQ(built.store.trainable().size(), 2U);
  for (index c = 0; c < kChannels; ++c) {  // with weight 1 and bias 0, y is the normed x
    double weight = 0, bias = 0;
    for (index i = 0; i < shape.size(); ++i) {
      if (i / 3 % kChannels == c) {
        weight += dy[static_cast<std::size_t>(i)] * y.data<double>()[i];
        bias += dy[static_cast<std::size_t>(i)];
      }
    }
    EXPECT_NEAR(static_cast<const double*>(built.store.entry("weight").gradient.data)[c], weight, 1e-12);
    EXPECT_NEAR(static_cast<const double*>(built.store.entry("bias").gradient.data)[c], bias, 1e-12);
  }
}

TEST(ChannelNorms, GiveTheSameBitsOnAnyNumberOfThreads) {
  const auto outcome = [](int threads) {
    const WithThreads guard(threads, Work{0});
    ParameterStore store;
    const BatchNorm batch(Scope(store) / "batch", 10);
    const GroupNorm group(Scope(store) / "group", 5, 10);
    store.allocate(1);
    Tape tape;
    Pass pass{.tape = tape, .training = true};
    const Tensor x = tape.input<float>({16, 10, 20, 21}, numbers(16 * 10 * 20 * 21, 1), true);
    const Tensor y = group(pass, batch(pass, x));
    tape.backward(y, tape.input<float>(y.shape(), numbers(y.size(), 2)));
    store.complete_gradients();
    std::vector<float> all(y.data<float>(), y.data<float>() + y.size());
    all.insert(all.end(), tape.gradient<float>(x), tape.gradient<float>(x) + x.size());
    all.insert(all.end(), store.gradients<float>(), store.gradients<float>() + store.trainable_size());
    all.insert(all.end(), store.weights<float>(), store.weights<float>() + store.slab_size());
    return all;
  };
  const std::vector<float> one = outcome(1);
  EXPECT_TRUE(same_bits(outcome(2), one));
  EXPECT_TRUE(same_bits(outcome(4), one));
}

TEST(ChannelNorms, RefuseWhatDoesNotFit) {
  ParameterStore store;
  const BatchNorm batch(Scope(store) / "batch", kChannels);
  const GroupNorm group(Scope(store) / "group", 2, kChannels);
  EXPECT_TRUE(names(error_of([&] { GroupNorm(Scope(store) / "odd", 4, kChannels); }), {"odd", "4", "6"}));
  store.allocate(1);
  Tape tape;
  Pass pass{.tape = tape, .training = true};
  EXPECT_TRUE(names(error_of([&] { batch(pass, tape.input<float>({2, 5}, numbers(10, 1))); }), {"batch norm", "[2, 5]", "6"}));
  EXPECT_TRUE(names(error_of([&] { batch(pass, tape.input<float>({1, 6}, numbers(6, 1))); }), {"batch norm", "[1, 6]", "2"}));
  EXPECT_TRUE(names(error_of([&] { group(pass, tape.input<float>({6}, numbers(6, 1))); }), {"group norm", "[6]"}));
}

}  // namespace
}  // namespace dikkat
