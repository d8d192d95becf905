// The number of threads changes no bits.

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/layers/training_step.h"

namespace dikkat {
namespace {

struct Outcome {
  std::vector<float> losses, weights, m, v;
};

Outcome train(const TransformerConfig& config, int threads) {
  const WithThreads with(threads, Work{0});
  Training training(config);
  Outcome outcome;
  for (index step = 1; step <= 3; ++step) {
    outcome.losses.push_back(training.step(step));
  }
  const index size = training.model.store.slab_size();
  const auto slab = [&](const float* data) { return std::vector<float>(data, data + size); };
  outcome.weights = slab(training.model.store.weights<float>());
  outcome.m = slab(training.adamw.state()[0]->data<float>());
  outcome.v = slab(training.adamw.state()[1]->data<float>());
  return outcome;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expect_the_same_bits(const TransformerConfig& config) {
  const Outcome one = train(config, 1);
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (const int threads : {1, 2, 4}) {
    const Outcome other = train(config, threads);
    EXPECT_TRUE(same_bits(one.losses, other.losses)) << threads;
    EXPECT_TRUE(same_bits(one.weights, other.weights)) << threads;
    EXPECT_TRUE(same_bits(one.m, other.m)) << threads;
    EXPECT_TRUE(same_bits(one.v, other.v)) << threads;
  }
}

TEST(Training, GivesTheSameBitsOnAnyNumberOfThreads) { expect_the_same_bits(kTrainingConfig); }
TEST(Training, OfALlamaGivesTheSameBitsOnAnyNumberOfThreads) { expect_the_same_bits(kTrainingLlama); }
TEST(Training, OfAGemmaGivesTheSameBitsOnAnyNumberOfThreads) { expect_the_same_bits(kTrainingGemma); }
TEST(Training, OfAnOlmoGivesTheSameBitsOnAnyNumberOfThreads) { expect_the_same_bits(kTrainingOlmo); }
TEST(Training, OfANanochatGivesTheSameBitsOnAnyNumberOfThreads) { expect_the_same_bits(kTrainingNanochat); }

}  // namespace
}  // namespace dikkat
