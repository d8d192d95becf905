#include "optim/averaged.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "optim/adamw.h"
#include "tests/optim/store_of.h"
#include "tests/support/throws.h"

namespace dikkat::averaged_test {
namespace {

using testing::names;

TEST(Averaged, FollowsItsFormula) {
  constexpr double kDecay = 0.6;
  ParameterStore store(DType::f64);
  add_parameters(store);
  store.allocate(3);
  Averaged optimizer(std::make_unique<AdamW>(store, AdamW::Options{}), store, kDecay);
  optimizer.reserve();
  optimizer.start_average();
  const StateSlab& average = *optimizer.state().back();
  ASSERT_EQ(average.name, Averaged::kSlab);
  std::vector<std::vector<double>> expected;
  for (const StateSlab::Part& part : average.parts) {
    expected.push_back(values_of(store.weights<double>(), *part.parameter));
    EXPECT_TRUE(std::equal(expected.back().begin(), expected.back().end(), average.at<double>(part.offset)))
        << "it begins with the weights";
  }
  // Compare the average with its formula in each step.
  for (index step = 1; step <= 30; ++step) {
    for (ParameterStore::Entry* entry : store.entries()) {
      write_gradient<double>(*entry, some_numbers(entry->size(), static_cast<std::uint64_t>(step)));
    }
    optimizer.step(step, 0.05);
    const double decay = std::min(kDecay, static_cast<double>(step - 1) / static_cast<double>(step + 9));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const StateSlab::Part& part = average.parts[i];
      const auto weights = values_of(store.weights<double>(), *part.parameter);
      for (std::size_t k = 0; k < weights.size(); ++k) {
        expected[i][k] = decay * expected[i][k] + (1 - decay) * weights[k];
        ASSERT_NEAR(average.at<double>(part.offset)[k], expected[i][k], 1e-14) << part.parameter->path << ' ' << k << " at step " << step;
      }
    }
  }
  // The average is exchanged with the weights, and back.
  const ParameterStore::Entry& first = *average.parts[0].parameter;
  const auto weights = values_of(store.weights<double>(), first);
  optimizer.exchange_average();
  EXPECT_NE(values_of(store.weights<double>(), first), weights);
  EXPECT_NEAR(store.weights<double>()[first.offset], expected[0][0], 1e-14);
  optimizer.exchange_average();
  EXPECT_EQ(values_of(store.weights<double>(), first), weights);
}

// A program's own loop needs neither reserve() nor start_average().
TEST(Averaged, BeginsWithTheFirstWeights) {
  const auto trained = [](bool prepared) {
    ParameterStore store(DType::f64);
    add_parameters(store);
    store.allocate(3);
    Averaged optimizer(std::make_unique<AdamW>(store, AdamW::Options{}), store, 0.9);
    if (prepared) {
      optimizer.start_average();
    }
    for (index step = 1; step <= 4; ++step) {
      for (ParameterStore::Entry* entry : store.entries()) {
        write_gradient<double>(*entry, some_numbers(entry->size(), static_cast<std::uint64_t>(step)));
      }
      optimizer.step(step, 0.05);
    }
    optimizer.exchange_average();
    return std::vector<double>(store.weights<double>(), store.weights<double>() + store.slab_size());
  };
  const std::vector<double> one = trained(true), other = trained(false);
  for (std::size_t i = 0; i < one.size(); ++i) {
    ASSERT_NEAR(one[i], other[i], 1e-12);
  }
  ParameterStore store;
  add_parameters(store);
  store.allocate(3);
  Averaged optimizer(std::make_unique<AdamW>(store, AdamW::Options{}), store, 0.9);
  const float first = store.weights<float>()[0];
  optimizer.start_average();
  optimizer.exchange_average();
  EXPECT_EQ(store.weights<float>()[0], first);
}

TEST(Averaged, LeavesWeightsAsTheOptimizerMakesThem) {
  const auto run = [](bool averages, int threads) {
    const WithThreads with(threads, Work{0});
    ParameterStore store;
    add_parameters(store);
    store.allocate(3);
    std::unique_ptr<Optimizer> optimizer = std::make_unique<AdamW>(store, AdamW::Options{});
    if (averages) {
      optimizer = std::make_unique<Averaged>(std::move(optimizer), store, 0.9);
    }
    for (index step = 1; step <= 5; ++step) {
      for (ParameterStore::Entry* entry : store.entries()) {
        write_gradient<float>(*entry, some_numbers(entry->size(), static_cast<std::uint64_t>(step)));
      }
      optimizer->step(step, 0.05);
    }
    std::vector<float> all(store.weights<float>(), store.weights<float>() + store.slab_size());
    if (averages && threads > 0) {
      const StateSlab& average = *optimizer->state().back();
      all.insert(all.end(), average.data<float>(), average.data<float>() + average.size);
    }
    return all;
  };
  const auto plain = run(false, 1), averaged = run(true, 1);
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), averaged.begin()));
  EXPECT_EQ(run(true, 3), averaged) << "on other threads";
}

TEST(Averaged, RefusesADecayOutOfRange) {
  ParameterStore store;
  add_parameters(store);
  store.allocate(3);
  for (const double decay : {0.0, 1.0, -0.5}) {
    EXPECT_TRUE(names(testing::error_of([&] { Averaged(std::make_unique<AdamW>(store, AdamW::Options{}), store, decay); }),
                      {"averaged", "decay", concat(decay)}));
  }
}

}  // namespace
}  // namespace dikkat::averaged_test
