#include "autograd/ops/indexing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "autograd/tape/gradient_check.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"
#include "tests/support/values.h"

namespace dikkat::indexing_test {
namespace {

using testing::converted;
using testing::doubles_of;
using testing::error_of;
using testing::names;
using testing::numbers;
using testing::same_bits;
using testing::values_of;

using Ids = std::vector<std::int32_t>;

/// Numbers with many ties, zeros of both signs, infinities, denormal numbers and NaNs.
std::vector<float> awkward_numbers(index n, std::uint64_t seed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kDenormal = std::numeric_limits<float>::denorm_min();
  const float special[] = {0.0F, -0.0F, kInfinity, -kInfinity, std::nanf(""), -std::nanf(""), kDenormal, -kDenormal};
  auto values = numbers(n, seed);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 7 == 3 ? special[i / 7 % std::size(special)] : i % 3 == 0 ? std::round(8 * values[i]) : values[i];
  }
  return values;
}

/// The order of the elements of a line, by the standard library.
template <class T>
Ids expected_order(const std::vector<T>& line, bool descending) {
  Ids order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const T x = line[static_cast<std::size_t>(a)], y = line[static_cast<std::size_t>(b)];
    return std::isnan(x) || std::isnan(y) ? !std::isnan(x) && std::isnan(y) : descending ? x > y : x < y;
  });
  return order;
}

/// Checks the first k of each line of x (outer, extent, inner) along its middle axis.
void expect_sorted(Tensor x, const Sorted& sorted, index k, bool descending) {
  const index outer = x.shape()[0], extent = x.shape()[1], inner = x.shape()[2];
  ASSERT_EQ(sorted.values.shape(), (Shape{outer, k, inner}));
  ASSERT_EQ(sorted.indices.shape(), (Shape{outer, k, inner}));
  ASSERT_EQ(sorted.values.dtype(), x.dtype());
  const auto all = doubles_of(x), values = doubles_of(sorted.values);
  const auto indices = values_of<std::int32_t>(sorted.indices);
  for (index o = 0; o < outer; ++o) {
    for (index i = 0; i < inner; ++i) {
      std::vector<double> line;
      for (index e = 0; e < extent; ++e) {
        line.push_back(all[static_cast<std::size_t>((o * extent + e) * inner + i)]);
      }
      const Ids order = expected_order(line, descending);
      for (index e = 0; e < k; ++e) {
        const auto at = static_cast<std::size_t>((o * k + e) * inner + i);
        ASSERT_EQ(indices[at], order[static_cast<std::size_t>(e)]) << "line " << o << ", " << i << ", place " << e;
        const double expected = line[static_cast<std::size_t>(indices[at])];
        ASSERT_EQ(std::memcmp(&values[at], &expected, sizeof expected), 0) << "the bits of NaN and -0 too";
      }
    }
  }
}

class SortOfEachType : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Of, SortOfEachType, ::testing::Values(DType::f32, DType::f64, DType::bf16),
                         [](const auto& of) { return std::string(name_of(of.param)); });

// Extents are below and above those from which digits are sorted, and from which the first k are found by a threshold.
TEST_P(SortOfEachType, IsStableAndPutsNaNsLast) {
  for (const Shape& shape : {Shape{3, 1, 1}, {5, 17, 1}, {3, 255, 1}, {2, 256, 1}, {1, 3001, 1}, {2, 40, 3}, {1, 300, 19}}) {
    for (const bool descending : {false, true}) {
      SCOPED_TRACE(concat(shape, descending ? " descending" : " ascending"));
      Tape tape;
      const Tensor x = cast(tape.input<float>(shape, awkward_numbers(shape.size(), 1)), GetParam());
      expect_sorted(x, sort(x, 1, descending), shape[1], descending);
      EXPECT_TRUE(same_bits(values_of<std::int32_t>(argsort(x, -2, descending)), values_of<std::int32_t>(sort(x, 1, descending).indices)));
    }
  }
}

TEST_P(SortOfEachType, TopkIsTheBeginningOfSort) {
  for (const Shape& shape : {Shape{3, 17, 1}, {1, 3000, 1}, {1, 1200, 2}}) {
    for (const index k : {index{0}, index{1}, index{2}, index{17}, shape[1] / 5, shape[1]}) {
      for (const bool largest : {false, true}) {
        SCOPED_TRACE(concat(k, " of ", shape, largest ? " largest" : " smallest"));
        Tape tape;
        const Tensor x = cast(tape.input<float>(shape, awkward_numbers(shape.size(), 2)), GetParam());
        expect_sorted(x, topk(x, k, 1, largest), k, largest);
      }
    }
  }
}

// The threshold falls with each element, so that every element is kept for a while.
TEST_P(SortOfEachType, TopkOfARisingLine) {
  constexpr index kCount = 5000;
  std::vector<float> rising(kCount);
  std::iota(rising.begin(), rising.end(), -2500.0F);
  Tape tape;
  const Tensor x = cast(tape.input<float>({1, kCount, 1}, rising), GetParam());
  expect_sorted(x, topk(x, 10, 1), 10, true);
  expect_sorted(x, topk(x, 10, 1, false), 10, false);
}

TEST(Sorting, HasTheSameBitsOnAnyNumberOfThreads) {
  const auto run = [](int threads) {
    const WithThreads with(threads, Work{0});
    Tape tape;
    const Tensor x = tape.input<float>({40, 300, 20}, awkward_numbers(40 * 300 * 20, 3));
    auto indices = values_of<std::int32_t>(sort(x, 1).indices);
    const auto first = values_of<std::int32_t>(topk(x, 7, 0).indices);
    indices.insert(indices.end(), first.begin(), first.end());
    return indices;
  };
  const auto one = run(1);
  for (const int threads : {2, 3, 4}) {
    EXPECT_TRUE(same_bits(run(threads), one)) << threads;
  }
}

TEST(Sorting, ValuesHaveGradients) {
  const auto operand = [](Shape shape) { return CheckedOperand{shape, converted<double>(numbers(shape.size(), 1))}; };
  const auto error = [&](Shape shape, auto&& f) {
    const CheckedOperand operands[] = {operand(shape)};
    return gradient_error([&](Tape&, std::span<const Tensor> t) { return multiply(f(t[0]), f(t[0])); }, operands);
  };
  EXPECT_LT(error({4, 9}, [](Tensor x) { return sort(x).values; }), 1e-7);
  EXPECT_LT(error({3, 5, 4}, [](Tensor x) { return sort(x, 1, true).values; }), 1e-7);
  EXPECT_LT(error({4, 9}, [](Tensor x) { return topk(x, 3).values; }), 1e-7);
  EXPECT_LT(error({9, 4}, [](Tensor x) { return topk(x, 3, 0, false).values; }), 1e-7);
}

TEST(Sorting, RefusesWhatDoesNotFit) {
  Tape tape;
  const Tensor x = tape.input<float>({3, 5}, numbers(15, 1));
  EXPECT_TRUE(names(error_of([&] { topk(x, 6); }), {"topk", "6", "axis -1", "[3, 5]", "0 to 5"}));
  EXPECT_NE(error_of([&] { topk(x, -1, 0); }), "");
  EXPECT_TRUE(names(error_of([&] { sort(x, 2); }), {"sort", "axis 2", "[3, 5]"}));
  EXPECT_TRUE(names(error_of([&] { argsort(x, -3); }), {"argsort", "axis -3", "[3, 5]"}));
  EXPECT_FALSE(argsort(tape.input<float>({2}, numbers(2, 1), true)).needs_gradient());
  EXPECT_EQ(sort(tape.input<float>({2, 0}, std::vector<float>{})).values.shape(), (Shape{2, 0}));
  EXPECT_EQ(sort(tape.input<float>({0, 2}, std::vector<float>{}), 1).values.shape(), (Shape{0, 2}));
}

TEST(Indexing, NamesTheOpTheIdAndTheBounds) {
  Tape tape;
  const Tensor x = tape.input<float>({2, 5}, numbers(10, 1));
  const auto ids = [&](Shape shape, const Ids& values) { return tape.input<std::int32_t>(shape, values); };
  EXPECT_TRUE(
      names(error_of([&] { gather(x, 1, ids({2, 2}, {0, 4, 7, 1})); }), {"gather", "id 7", "number 2", "axis 1", "[2, 5]", "0 to 4"}));
  EXPECT_TRUE(names(error_of([&] { scatter_add(x, 0, ids({1, 1}, {-1}), x); }), {"scatter_add", "id -1", "axis 0", "0 to 1"}));
  EXPECT_TRUE(names(error_of([&] { index_select(x, -1, ids({3}, {0, 1, 5})); }), {"index_select", "id 5", "axis -1", "0 to 4"}));
  EXPECT_TRUE(names(error_of([&] { one_hot(ids({2}, {3, 0}), 3); }), {"one_hot", "id 3", "3 classes", "0 to 2"}));
  EXPECT_TRUE(names(error_of([&] { one_hot(ids({1}, {0}), 0); }), {"one_hot", "id 0", "0 classes"}));
  // The first of several is named, even if another thread finds one first.
  Ids many(100'000, 1);
  many[70'000] = 8;
  many[90'000] = 9;
  const WithThreads with(4, Work{0});
  EXPECT_TRUE(names(error_of([&] { index_select(x, 1, ids({100'000}, many)); }), {"id 8", "number 70000"}));
}

TEST(Indexing, OneHotIsOneAtItsId) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    Tape tape;
    const Tensor y = one_hot(tape.input<std::int32_t>({2, 2}, Ids{0, 2, 1, 2}), 3, dtype);
    EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_FALSE(y.needs_gradient());
    EXPECT_EQ(doubles_of(y), (std::vector<double>{1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1}));
  }
  Tape tape;
  EXPECT_EQ(one_hot(tape.input<std::int32_t>({0}, Ids{}), 3).shape(), (Shape{0, 3}));
  EXPECT_EQ(one_hot(tape.input<std::int32_t>({}, Ids{1}), 3).shape(), Shape{3});
}

TEST(Indexing, ShapesOfNothing) {
  Tape tape;
  const auto none = [&](Shape shape) { return tape.input<std::int32_t>(shape, Ids{}); };
  const Tensor x = tape.input<float>({2, 5}, numbers(10, 1), true);
  EXPECT_EQ(gather(x, 1, none({2, 0})).shape(), (Shape{2, 0}));
  EXPECT_EQ(gather(x, 1, none({0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(index_select(x, 0, none({0})).shape(), (Shape{0, 5}));
  const Tensor y = scatter_add(x, 1, none({2, 0}), tape.input<float>({2, 0}, std::vector<float>{}));
  EXPECT_EQ(values_of<float>(y), values_of<float>(x));
  tape.backward(sum(index_select(x, 0, none({0}))));
  EXPECT_EQ(std::vector<float>(tape.gradient<float>(x), tape.gradient<float>(x) + 10), std::vector<float>(10, 0.0F));
}

// The rows of an id are added in the order of ids: one after another, from zero on.
TEST(Indexing, TheGradientOfIndexSelectAddsInTheOrderOfIds) {
  constexpr index kRows = 7, kCols = 50, kIds = 400;
  Ids ids;
  for (index i = 0; i < kIds; ++i) {
    ids.push_back(static_cast<std::int32_t>(i * i % kRows));
  }
  const auto dy = numbers(kIds * kCols, 2);
  std::vector<float> expected(kRows * kCols);
  for (index i = 0; i < kIds; ++i) {
    for (index c = 0; c < kCols; ++c) {
      expected[static_cast<std::size_t>(ids[static_cast<std::size_t>(i)] * kCols + c)] += dy[static_cast<std::size_t>(i * kCols + c)];
    }
  }
  for (const int threads : {1, 2, 4}) {
    const WithThreads with(threads, Work{0});
    Tape tape;
    const Tensor x = tape.input<float>({kRows, kCols}, numbers(kRows * kCols, 1), true);
    tape.backward(index_select(x, 0, tape.input<std::int32_t>({kIds}, ids)), tape.input<float>({kIds, kCols}, dy));
    EXPECT_TRUE(same_bits(std::vector<float>(tape.gradient<float>(x), tape.gradient<float>(x) + x.size()), expected)) << threads;
  }
}

// 1 and 400 times 2^-9: each sum of bf16 numbers would be rounded to 1 again. Summed in f32 and rounded once it is 1.78125.
TEST(Indexing, SumsOfBf16AreRoundedOnce) {
  constexpr index kIds = 400;
  const auto constant = [](Tape& tape, Shape shape, float value) {
    return cast(tape.input<float>(shape, std::vector<float>(static_cast<std::size_t>(shape.size()), value)), DType::bf16);
  };
  const auto expected = [](Tensor y) {
    for (const double value : doubles_of(y)) {
      EXPECT_EQ(value, 1.78125);
    }
  };
  Tape tape;
  const auto zeros = [&](Shape shape) { return tape.input<std::int32_t>(shape, Ids(static_cast<std::size_t>(shape.size()))); };
  expected(scatter_add(constant(tape, {1}, 1), 0, zeros({kIds}), constant(tape, {kIds}, 0x1p-9F)));
  expected(scatter_add(constant(tape, {1, 20}, 1), 0, zeros({kIds, 20}), constant(tape, {kIds, 20}, 0x1p-9F)));
  expected(scatter_add(constant(tape, {20, 1}, 1), 1, zeros({20, kIds}), constant(tape, {20, kIds}, 0x1p-9F)));
  // The gradient of rows that are chosen several times.
  const Tensor x = tape.input<float>({1, 20}, numbers(20, 1), true);
  const Tensor y = index_select(cast(x, DType::bf16), 0, zeros({kIds}));
  tape.backward(y, constant(tape, {kIds, 20}, 0x1p-9F));
  for (index i = 0; i < x.size(); ++i) {
    EXPECT_EQ(tape.gradient<float>(x)[i], 0.78125F);
  }
}

TEST(Indexing, OfBf16MovesItsBits) {
  const auto values = numbers(6 * 70 * 5, 1);
  Ids ids;
  for (index i = 0; i < 6 * 70 * 5; ++i) {
    ids.push_back(static_cast<std::int32_t>(i * 7 % 70));
  }
  Tape tape;
  const Tensor x = tape.input<float>({6, 70, 5}, values), rounded = cast(x, DType::bf16);
  const Tensor chosen = tape.input<std::int32_t>({6, 70, 5}, ids), few = tape.input<std::int32_t>({3}, Ids{69, 0, 69});
  EXPECT_EQ(doubles_of(gather(rounded, 1, chosen)), doubles_of(cast(gather(x, 1, chosen), DType::bf16)));
  for (const int axis : {0, 1, 2}) {
    const Tensor some = axis == 1 ? few : tape.input<std::int32_t>({3}, Ids{4, 0, 4});
    EXPECT_EQ(doubles_of(index_select(rounded, axis, some)), doubles_of(cast(index_select(x, axis, some), DType::bf16))) << axis;
  }
}

TEST(Indexing, ADryRunReadsNoIds) {
  const DryRun dry;
  Tape tape;
  const Ids wild = {1 << 30, -5};
  const Tensor x = tape.input<float>({2, 5}, numbers(10, 1), true);
  const Tensor ids = tape.borrow({2}, DType::i32, wild.data());
  EXPECT_EQ(index_select(x, 0, ids).shape(), (Shape{2, 5}));
  EXPECT_EQ(one_hot(ids, 3).shape(), (Shape{2, 3}));
}

// Each of these needs the loops of the op, and most of them a choice of axes of its own: axes that are joined, or of extent 1.
TEST(Indexing, GatherOfManyRanks) {
  for (const Shape& shape : {Shape{2, 3, 2, 3, 2}, {1, 4, 1, 3, 1}, {2, 1, 1, 2, 2, 1, 2, 2}}) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      SCOPED_TRACE(concat("axis ", axis, " of ", shape));
      Ids ids;
      for (index i = 0; i < shape.size(); ++i) {
        ids.push_back(static_cast<std::int32_t>(i * 5 % shape[axis]));
      }
      index inner = 1;
      for (int k = axis + 1; k < shape.rank(); ++k) {
        inner *= shape[k];
      }
      const auto values = numbers(shape.size(), 1);
      std::vector<float> expected;
      for (index i = 0; i < shape.size(); ++i) {
        const index own = i / inner % shape[axis];
        expected.push_back(values[static_cast<std::size_t>(i + (ids[static_cast<std::size_t>(i)] - own) * inner)]);
      }
      Tape tape;
      EXPECT_EQ(values_of<float>(gather(tape.input<float>(shape, values), axis, tape.input<std::int32_t>(shape, ids))), expected);
    }
  }
}

}  // namespace
}  // namespace dikkat::indexing_test
