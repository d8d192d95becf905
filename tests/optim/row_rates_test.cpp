#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "optim/adamw.h"
#include "optim/sgd.h"
#include "tests/optim/store_of.h"

// Some rows of a matrix have another rate than the others.
namespace dikkat::row_rates_test {
namespace {

constexpr index kRows = 257, kFirst = 200, kLast = 251, kWidth = 131;  // no row but the first begins at a multiple of Unit::kCut

enum class How { whole, in_units };

/// Makes three steps with the store of add_parameters(), in which the rows of `table` have these rates. Returns the table.
template <class Optimized>
std::vector<double> table_after(const RowRates& rates, double rate, How how, int threads = 1) {
  const WithThreads with(threads, Work{0});
  ParameterStore store;
  add_parameters(store);
  store.allocate(3);
  auto settings = settings_of(store, 0.1);
  for (ParameterSettings& one : settings) {
    one.rows = one.parameter->path == "table" ? rates : RowRates();
  }
  Optimized optimizer(store, {}, settings);
  optimizer.reserve();
  for (index step = 1; step <= 3; ++step) {
    for (ParameterStore::Entry* entry : store.trainable()) {
      write_gradient<float>(*entry, some_numbers(entry->size(), static_cast<std::uint64_t>(step)));
    }
    if (how == How::whole) {
      optimizer.step(step, rate);
      continue;
    }
    for (const Unit& unit : optimizer.units()) {
      EXPECT_EQ(unit.begin % Unit::kCut, 0);
      EXPECT_EQ(unit.end % Unit::kCut, 0);
      for (index begin = unit.begin; begin < unit.end; begin += 1024 * Unit::kCut) {
        const Unit part{.begin = begin, .end = std::min(unit.end, begin + 1024 * Unit::kCut)};
        EXPECT_TRUE(optimizer.update({.step = step, .learning_rate = rate}, {&part, 1}));
      }
    }
  }
  return values_of(store.weights<float>(), store.entry("table"));
}

template <class Optimized>
void expect_rates() {
  const RowRates rates{.first = kFirst, .last = kLast, .inside = 4, .outside = 0.5};
  const auto found = table_after<Optimized>(rates, 0.1, How::whole);
  const auto inside = table_after<Optimized>({}, 0.4, How::whole), outside = table_after<Optimized>({}, 0.05, How::whole);
  for (index row = 0; row < kRows; ++row) {
    const auto& expected = kFirst <= row && row < kLast ? inside : outside;
    for (index column = 0; column < kWidth; ++column) {
      const auto at = static_cast<std::size_t>(row * kWidth + column);
      ASSERT_EQ(found[at], expected[at]) << row << ' ' << column;
    }
  }
  EXPECT_EQ(table_after<Optimized>(rates, 0.1, How::in_units), found);
  EXPECT_EQ(table_after<Optimized>(rates, 0.1, How::whole, 3), found);
  EXPECT_EQ(table_after<Optimized>(rates, 0.1, How::in_units, 2), found);
}

TEST(RowRates, MultiplyTheRateOfRows) {
  expect_rates<AdamW>();
  expect_rates<Sgd>();
}

TEST(RowRates, OfZeroFreezeRows) {
  const auto first = table_after<AdamW>({}, 0, How::whole);
  const auto found = table_after<AdamW>({.first = kFirst, .last = kLast, .inside = 1, .outside = 0}, 0.1, How::whole);
  for (index row = 0; row < kRows; ++row) {
    const auto begin = row * kWidth;
    const bool is_equal = std::equal(found.begin() + begin, found.begin() + begin + kWidth, first.begin() + begin);
    EXPECT_EQ(is_equal, row < kFirst || row >= kLast) << row;
  }
}

}  // namespace
}  // namespace dikkat::row_rates_test
