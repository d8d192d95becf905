#include "optim/clip.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "optim/adamw.h"
#include "tests/optim/store_of.h"
#include "tests/support/throws.h"

namespace dikkat::clip_test {
namespace {

using testing::error_of;
using testing::names;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Writes gradients and returns the norm as a plain sum over the written ones. "bias" is left out: it counts as zero.
template <class T>
double written_norm(ParameterStore& store) {
  double squares = 0;
  for (ParameterStore::Entry* entry : store.entries()) {
    if (entry->path != "bias") {
      const std::vector<double> gradient = some_numbers(entry->size(), hash_of(entry->path));
      write_gradient<T>(*entry, gradient);
      for (const double g : gradient) {
        squares += static_cast<double>(static_cast<T>(g)) * static_cast<double>(static_cast<T>(g));
      }
    }
  }
  return std::sqrt(squares);
}

template <class T>
void compare_with_plain_sum() {
  ParameterStore store(kDType<T>);
  add_parameters(store);
  store.allocate(1);
  write_gradient<T>(store.entry("bias"), some_numbers(33, 9, 100));
  store.clear_gradients();  // of an earlier step
  const double expected = written_norm<T>(store);
  EXPECT_NEAR(gradient_norm(store), expected, 1e-13 * expected);  // sums are kept in f64
}

TEST(GradientNorm, IsThePlainSumInF64) { compare_with_plain_sum<double>(); }
TEST(GradientNorm, IsThePlainSumInF32) { compare_with_plain_sum<float>(); }

TEST(GradientNorm, HasTheSameBitsOnAnyNumberOfThreads) {
  ParameterStore store;
  add_parameters(store);
  store.allocate(1);
  written_norm<float>(store);
  const int before = thread_count();
  set_thread_count(1);
  const double one = gradient_norm(store);
  for (const int threads : {2, 4}) {
    set_thread_count(threads);
    EXPECT_EQ(gradient_norm(store), one) << threads;
  }
  set_thread_count(before);
}

TEST(GradientNorm, ShowsNaNInfinityAndSizesWhoseSquareF32DoesNotHold) {
  for (const double odd : {kNaN, kInfinity}) {
    ParameterStore store;
    store.add("weight", {3}, Init::zeros(), Decay::no, Role::vector);
    store.allocate(1);
    write_gradient<float>(store.entry("weight"), {1, odd, 1});
    EXPECT_FALSE(std::isfinite(gradient_norm(store))) << odd;
  }
  ParameterStore store;
  store.add("weight", {2}, Init::zeros(), Decay::no, Role::vector);
  store.allocate(1);
  write_gradient<float>(store.entry("weight"), {3e30, 4e30});
  EXPECT_NEAR(gradient_norm(store) / 5e30, 1, 1e-6);
}

TEST(GradientNorm, OfNothingIsZero) {
  ParameterStore store;
  add_parameters(store);
  store.allocate(1);
  EXPECT_EQ(gradient_norm(store), 0);
}

TEST(ClipFactor, BringsANormDownToTheLargestAllowed) {
  EXPECT_DOUBLE_EQ(clip_factor(4, 1), 1 / (4 + 1e-6));
  EXPECT_DOUBLE_EQ(clip_factor(1, 1), 1 / (1 + 1e-6));
  EXPECT_DOUBLE_EQ(clip_factor(0.5, 0.25), 0.25 / (0.5 + 1e-6));
}

TEST(ClipFactor, DoesNotChangeSmallNorms) {
  EXPECT_EQ(clip_factor(0.99, 1), 1);
  EXPECT_EQ(clip_factor(0, 1), 1);
}

TEST(ClipFactor, OfNoLimitIsOne) { EXPECT_EQ(clip_factor(1e9, 0), 1); }

// A loop as in docs/LIBRARY.md ends at a gradient that is not finite, and its weights are those of the last good step.
TEST(ClipFactor, OfAGradientThatIsNotFiniteStopsTheStep) {
  for (const double bad : {kNaN, kInfinity}) {
    for (const double limit : {0.0, 1.0}) {
      ParameterStore store;
      add_parameters(store);
      store.allocate(1);
      AdamW adamw(store, {});
      ParameterStore::Entry& entry = *store.trainable().front();
      std::vector<double> gradient(static_cast<std::size_t>(entry.size()), 0.5);
      gradient.back() = bad;
      write_gradient<float>(entry, gradient);
      const std::vector<float> before(store.weights<float>(), store.weights<float>() + store.slab_size());
      const double factor = clip_factor(gradient_norm(store), limit);
      EXPECT_TRUE(std::isnan(factor));
      EXPECT_TRUE(names(error_of([&] { adamw.step(3, 0.1, factor); }), {"step 3", "gradient_scale"}));
      EXPECT_EQ(std::vector<float>(store.weights<float>(), store.weights<float>() + store.slab_size()), before);
    }
  }
}

}  // namespace
}  // namespace dikkat::clip_test
