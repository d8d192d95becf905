#include "train/data/samples/permutation.h"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"

namespace dikkat {
namespace {

std::vector<index> order_of(index n, std::uint64_t seed, std::uint64_t epoch) {
  const Permutation permutation(n, seed, epoch);
  std::vector<index> order;
  for (index i = 0; i < n; ++i) {
    order.push_back(permutation(i));
  }
  return order;
}

void expect_bijection(const std::vector<index>& order) {
  std::vector<bool> seen(order.size());
  for (const index i : order) {
    ASSERT_TRUE(i >= 0 && i < static_cast<index>(order.size())) << i << " of " << order.size();
    ASSERT_FALSE(seen[static_cast<std::size_t>(i)]) << i << " twice of " << order.size();
    seen[static_cast<std::size_t>(i)] = true;
  }
}

static_assert(Permutation(1, 7, 0)(0) == 0);
static_assert(Permutation(2, 7, 0)(0) + Permutation(2, 7, 0)(1) == 1);

TEST(Permutation, IsABijectionForEverySize) {
  for (index n = 1; n <= 200; n += testing::kSanitized ? 7 : 1) {
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      expect_bijection(order_of(n, 1337, epoch));
    }
  }
  for (const index n : {index{65536}, index{65537}, index{100003}}) {
    expect_bijection(order_of(n, 1, 2));
  }
}

TEST(Permutation, StaysInRangeAndDoesNotRepeatForVeryManyElements) {
  for (const index n : {(index{1} << 40) + 1, index{1} << 62, std::numeric_limits<index>::max()}) {
    const Permutation permutation(n, 5, 6);
    std::map<index, index> from;
    for (index i = 0; i < 2000; ++i) {
      const index at = i % 2 == 0 ? i : n - i;
      const auto [place, fresh] = from.emplace(permutation(at), at);
      ASSERT_TRUE(fresh) << at << " and " << place->second;
      ASSERT_TRUE(place->first >= 0 && place->first < n);
    }
  }
}

TEST(Permutation, DependsOnSeedAndEpochOnly) {
  EXPECT_EQ(order_of(100, 1, 0), order_of(100, 1, 0));
  EXPECT_NE(order_of(100, 1, 0), order_of(100, 1, 1));
  EXPECT_NE(order_of(100, 1, 0), order_of(100, 2, 0));
  EXPECT_NE(order_of(100, 1, 0), order_of(100, std::uint64_t{1} << 32 | 1, 0));
}

TEST(Permutation, KeepsItsOrderFromReleaseToRelease) {  // a resumed run must see the data that it would have seen
  EXPECT_EQ(order_of(10, 1337, 0), (std::vector<index>{1, 7, 0, 2, 4, 5, 8, 9, 6, 3}));
}

TEST(Permutation, AllOrdersAreAboutEquallyLikely) {
  // Counts 24 and 120 orders, each expected 200 times: a standard deviation is 14.
  for (const index n : {index{4}, index{5}}) {
    const int orders = n == 4 ? 24 : 120;
    std::map<std::vector<index>, int> counts;
    for (int epoch = 0; epoch < 200 * orders; ++epoch) {
      ++counts[order_of(n, 42, static_cast<std::uint64_t>(epoch))];
    }
    EXPECT_EQ(counts.size(), static_cast<std::size_t>(orders));
    for (const auto& [order, count] : counts) {
      EXPECT_NEAR(count, 200, 75) << n;
    }
  }
}

TEST(Permutation, MovesElementsAnywhere) {
  // Over many elements, places have the mean and neighbors the independence of uniform draws.
  const index n = 10000;
  const std::vector<index> order = order_of(n, 3, 4);
  double products = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    products +=
        (static_cast<double>(order[i]) / static_cast<double>(n) - 0.5) * (static_cast<double>(order[i + 1]) / static_cast<double>(n) - 0.5);
  }
  EXPECT_LT(std::abs(products / static_cast<double>(n) * 12), 0.05) << "correlation of neighbors; a standard deviation is 0.01";
}

TEST(Permutation, RefusesNoElements) { EXPECT_THROW(Permutation(0, 1, 1), Error); }

}  // namespace
}  // namespace dikkat
