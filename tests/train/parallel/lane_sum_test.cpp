#include "train/parallel/lane_sum.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::numbers;
using testing::same_bits;

constexpr index kSize = 5'000;  // two parameters of it; the slab has padding between them

/// Adds a gradient to a parameter's as a backward pass does.
void add_gradient(ParameterStore::Entry& entry, const std::vector<float>& values) {
  auto* gradient = static_cast<float*>(entry.gradient.data);
  for (index i = 0; i < entry.size(); ++i) {
    const float value = values[static_cast<std::size_t>(i)];
    gradient[i] = entry.gradient.written ? gradient[i] + value : value;
  }
  entry.gradient.written = true;
}

std::vector<float> of_pass(index pass, std::uint64_t parameter) {
  return numbers(kSize + 3, 100 * static_cast<std::uint64_t>(pass) + parameter);
}

/// Adds passes [begin, end) one after the other, and then the halves of lanes [0, lanes) as a tree.
std::vector<float> tree(index first_lane, index lanes, index of_lane, std::uint64_t parameter) {
  std::vector<float> sum;
  if (lanes > 1) {
    sum = tree(first_lane, lanes / 2, of_lane, parameter);
    const std::vector<float> right = tree(first_lane + lanes / 2, lanes / 2, of_lane, parameter);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += right[i];
    }
    return sum;
  }
  for (index pass = first_lane * of_lane; pass < (first_lane + 1) * of_lane; ++pass) {
    const std::vector<float> gradient = of_pass(pass, parameter);
    sum.resize(gradient.size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = pass == first_lane * of_lane ? gradient[i] : sum[i] + gradient[i];
    }
  }
  return sum;
}

/// Checks a parameter that every pass has a gradient for, and one that only pass 1 has. Two steps show that nothing is left of the first.
void expect_tree(index lanes, index of_lane) {
  SCOPED_TRACE(concat(lanes, " lanes of ", of_lane));
  ParameterStore store;
  store.add("always", {kSize + 3}, Init::zeros(), Decay::no, Role::vector);
  store.add("rarely", {kSize + 3}, Init::zeros(), Decay::no, Role::vector);
  store.allocate(1);
  LaneSum sum(store, lanes);
  sum.reserve();
  for (int step = 0; step < 2; ++step) {
    for (index pass = 0; pass < lanes * of_lane; ++pass) {
      if (pass % of_lane == 0) {
        sum.begin(pass / of_lane);
      }
      add_gradient(store.entry("always"), of_pass(pass, 1));
      if (pass == 1) {
        add_gradient(store.entry("rarely"), of_pass(pass, 2));
      }
      if ((pass + 1) % of_lane == 0) {
        sum.end(pass / of_lane);
      }
    }
    store.complete_gradients();
    const auto of = [&](const char* path) {
      const float* first = store.gradients<float>() + store.entry(path).offset;
      return std::vector<float>(first, first + kSize + 3);
    };
    EXPECT_TRUE(same_bits(of("always"), tree(0, lanes, of_lane, 1)));
    EXPECT_TRUE(same_bits(of("rarely"), lanes * of_lane > 1 ? of_pass(1, 2) : std::vector<float>(kSize + 3, 0.0F)));
    store.clear_gradients();
  }
}

TEST(LaneSum, AddsTheLanesOfAStepAsATree) {
  for (const index lanes : {1, 2, 4, 8}) {
    expect_tree(lanes, 1);
    expect_tree(lanes, 3);
  }
}

TEST(LaneSum, DiffersFromOneLane) {  // otherwise the other test would show nothing
  EXPECT_FALSE(same_bits(tree(0, 1, 8, 1), tree(0, 4, 2, 1)));
}

TEST(LaneSum, TakesPowersOfTwo) {
  ParameterStore store;
  store.add("w", {4}, Init::zeros(), Decay::no, Role::vector);
  store.lay_out();
  EXPECT_TRUE(testing::names(testing::error_of([&] { LaneSum(store, 6); }), {"6 lanes", "power of two"}));
  EXPECT_EQ(LaneSum::slabs(1), 0);
  EXPECT_EQ(LaneSum::slabs(8), 3);
}

}  // namespace
}  // namespace dikkat
