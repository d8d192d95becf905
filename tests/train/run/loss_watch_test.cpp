#include "train/run/loss_watch.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

TEST(LossWatch, knows_nothing_before_its_memory_is_full) {
  LossWatch watch;
  for (index i = 0; i < LossWatch::kMemory; ++i) {
    EXPECT_EQ(watch.z_score(1e6), 0);
    watch.take(1);
  }
  EXPECT_EQ(watch.z_score(1), 0);
  EXPECT_EQ(watch.z_score(1.5), std::numeric_limits<double>::infinity());
  EXPECT_EQ(watch.z_score(0.5), 0);
}

TEST(LossWatch, has_mean_and_variance_of_the_losses) {
  LossWatch watch;
  double sum = 0;
  double squares = 0;
  for (index i = 0; i < LossWatch::kMemory; ++i) {
    const double loss = 3 + 0.1 * static_cast<double>(i % 7);
    watch.take(loss);
    sum += loss;
    squares += loss * loss;
  }
  const double n = LossWatch::kMemory;
  EXPECT_NEAR(watch.mean, sum / n, 1e-12);
  EXPECT_NEAR(watch.variance, squares / n - sum * sum / n / n, 1e-12);
  EXPECT_NEAR(watch.z_score(watch.mean + 3 * std::sqrt(watch.variance)), 3, 1e-12);
}

TEST(LossWatch, forgets) {
  LossWatch watch;
  for (int i = 0; i < 200; ++i) {
    watch.take(9);
  }
  for (int i = 0; i < 2000; ++i) {
    watch.take(i % 2 == 0 ? 1 : 2);
  }
  EXPECT_NEAR(watch.mean, 1.5, 0.01);
  EXPECT_NEAR(watch.variance, 0.25, 0.01);
}

}  // namespace
}  // namespace dikkat
