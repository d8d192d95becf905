// Ids, which are i32: of tokens, classes and elements. They are moved, compared, chosen, sorted and cast, but not computed with.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/indexing.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/scan.h"
#include "autograd/tape/recompute.h"
#include "autograd/tape/tape.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"
#include "tests/support/values.h"

namespace dikkat::ids_test {
namespace {

using testing::doubles_of;
using testing::error_of;
using testing::names;
using testing::numbers;
using testing::values_of;

using Id = std::int32_t;
using Ids = std::vector<Id>;
using Numbers = std::vector<float>;

constexpr Id kLeast = std::numeric_limits<Id>::min(), kMost = std::numeric_limits<Id>::max();
constexpr Id kBeyondF32 = (1 << 24) + 1;  // f32 does not hold it

/// Ids of all sizes, of which some neighbors are equal, or the same number for f32.
Ids some_ids(index n, std::uint64_t seed = 1) {
  const Id special[] = {0, -1, kLeast, kMost, kMost - 1, kBeyondF32, kBeyondF32 - 1};
  const RandomStream stream(seed, "test ids", 0);
  Ids ids;
  for (index i = 0; i < n; ++i) {
    const std::uint32_t word = stream.word(i);
    ids.push_back(word % 4 == 0 ? special[word / 4 % std::size(special)] : static_cast<Id>(word % 16));
  }
  return ids;
}
Tensor ids(Tape& tape, Shape shape, std::uint64_t seed = 1) { return tape.input<Id>(shape, some_ids(shape.size(), seed)); }

/// Checks a result of ids: its element type, its values, and that no gradient flows through it.
void expect_ids(Tensor y, const Shape& shape, const Ids& expected) {
  ASSERT_EQ(y.dtype(), DType::i32);
  EXPECT_EQ(y.shape(), shape);
  EXPECT_EQ(values_of<Id>(y), expected);
  EXPECT_FALSE(y.needs_gradient());
}

/// The ids at the places that `place` gives to each element of the result.
template <class F>
Ids at_places(const Ids& x, index size, F&& place) {
  Ids y;
  for (index i = 0; i < size; ++i) {
    y.push_back(x[static_cast<std::size_t>(place(i))]);
  }
  return y;
}

// Comparisons

struct Comparison {
  const char* name;
  Tensor (*of_two)(Tensor, Tensor);
  Tensor (*with_number)(Tensor, double);
  bool (*holds)(double, double);
};
const Comparison kComparisons[] = {{"less", less, less, [](double a, double b) { return a < b; }},
                                   {"less_equal", less_equal, less_equal, [](double a, double b) { return a <= b; }},
                                   {"greater", greater, greater, [](double a, double b) { return a > b; }},
                                   {"greater_equal", greater_equal, greater_equal, [](double a, double b) { return a >= b; }},
                                   {"equal", equal, equal, [](double a, double b) { return a == b; }},
                                   {"not_equal", not_equal, not_equal, [](double a, double b) { return a != b; }}};

TEST(Ids, AreCompared) {
  for (const Comparison& comparison : kComparisons) {
    for (const index n : {1, 7, 16, 37, 40'000}) {
      SCOPED_TRACE(concat(comparison.name, " of ", n));
      const WithThreads with(n > 1000 ? 3 : 1, Work{0});
      Tape tape;
      const Ids a = some_ids(n, 1), b = some_ids(n, 2);
      const Tensor y = comparison.of_two(tape.input<Id>({n}, a), tape.input<Id>({n}, b));
      Numbers expected;
      for (std::size_t i = 0; i < a.size(); ++i) {
        expected.push_back(comparison.holds(a[i], b[i]) ? 1.0F : 0.0F);
      }
      EXPECT_EQ(values_of<float>(y), expected);
      EXPECT_FALSE(y.needs_gradient());
    }
  }
}

TEST(Ids, AreComparedWithNumbers) {
  Tape tape;
  const Ids x = some_ids(50);
  const Tensor input = tape.input<Id>({50}, x);
  for (const Comparison& comparison : kComparisons) {
    for (const double number : {0.0, 3.0, 2.5, -0.5, double{kBeyondF32}, double{kMost}, double{kLeast}, 1e300}) {
      Numbers expected;
      for (const Id id : x) {
        expected.push_back(comparison.holds(id, number) ? 1.0F : 0.0F);
      }
      EXPECT_EQ(values_of<float>(comparison.with_number(input, number)), expected) << comparison.name << " " << number;
    }
  }
  EXPECT_EQ(values_of<float>(input < 3), values_of<float>(less(input, 3)));
  EXPECT_EQ(values_of<float>(input >= input), Numbers(50, 1.0F));
}

TEST(Ids, AreBroadcastInComparisons) {
  Tape tape;
  const Tensor rows = tape.input<Id>({3, 1}, Ids{0, 5, kBeyondF32}), columns = tape.input<Id>({4}, Ids{5, 0, kBeyondF32 - 1, kBeyondF32});
  const Tensor y = equal(rows, columns);
  EXPECT_EQ(y.shape(), (Shape{3, 4}));
  EXPECT_EQ(values_of<float>(y), (Numbers{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(values_of<float>(less(columns, rows)), (Numbers{0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0}));
}

TEST(Ids, GiveTheAccuracyOfAModelInOneLine) {
  Tape tape;
  const Tensor logits = tape.input<float>({2, 2, 3}, Numbers{1, 3, 2, 5, 4, 4, 0, 0, 1, 2, 7, 7}, true);
  const Tensor targets = tape.input<Id>({2, 2}, Ids{1, 2, 2, 1});
  EXPECT_EQ(doubles_of(mean(equal(argmax(logits, -1), targets))), (std::vector<double>{0.75}));
}

// where()

TEST(Ids, AreChosenByWhere) {
  Tape tape;
  const Ids a = some_ids(37, 1), b = some_ids(37, 2);
  const Tensor x = tape.input<Id>({37}, a), z = tape.input<Id>({37}, b);
  Ids mask, expected, smaller;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mask.push_back(i % 3 == 1 ? 0 : static_cast<Id>(i) - 50);
    expected.push_back(mask.back() != 0 ? a[i] : b[i]);
    smaller.push_back(std::min(a[i], b[i]));
  }
  const Tensor condition = tape.input<Id>({37}, mask);
  for (const DType dtype : {DType::i32, DType::f32, DType::f64, DType::bf16}) {
    expect_ids(where(cast(condition, dtype), x, z), {37}, expected);
  }
  expect_ids(where(x < z, x, z), {37}, smaller);
  Ids ignored = a;
  std::replace(ignored.begin(), ignored.end(), 0, -100);
  expect_ids(where(equal(x, 0), tape.input<Id>({}, Ids{-100}), x), {37}, ignored);
}

TEST(Ids, AreConditionsOfNumbers) {
  Tape tape;
  const Tensor condition = tape.input<Id>({4}, Ids{0, kMost, -1, 0});
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const Tensor a = tape.input<float>({4}, Numbers{1, 2, 3, 4}, true), b = tape.input<float>({2, 1}, Numbers{-1, -2}, true);
    const Tensor y = where(condition, cast(a, dtype), cast(b, dtype));
    ASSERT_EQ(y.dtype(), dtype);
    EXPECT_TRUE(y.needs_gradient());
    EXPECT_EQ(doubles_of(y), (std::vector<double>{-1, 2, 3, -1, -2, 2, 3, -2}));
  }
  const Tensor a = tape.input<float>({4}, Numbers{1, 2, 3, 4}, true), b = tape.input<float>({}, Numbers{-1}, true);
  tape.backward(sum(where(condition, a, b)));
  EXPECT_EQ(std::vector(tape.gradient<float>(a), tape.gradient<float>(a) + 4), (Numbers{0, 1, 1, 0}));
  EXPECT_EQ(*tape.gradient<float>(b), 2);
}

// A number that another type would round to 0 is a condition that holds.
TEST(Where, TakesConditionsOfAnotherType) {
  Tape tape;
  const Tensor a = tape.input<float>({3}, Numbers{1, 2, 3}), b = tape.input<float>({3}, Numbers{-1, -2, -3});
  const Tensor condition = tape.input<double>({3}, std::vector<double>{1e-300, 0, -2});
  EXPECT_EQ(values_of<float>(where(condition, a, b)), (Numbers{1, -2, 3}));
  EXPECT_TRUE(names(error_of([&] { where(condition, a, cast(b, DType::f64)); }), {"where", "f32", "f64"}));
}

// Moves

TEST(Ids, ArePermuted) {
  for (const auto& [rows, columns] : {std::pair<index, index>{2, 3}, {16, 16}, {33, 50}, {130, 257}}) {
    const WithThreads with(rows > 100 ? 3 : 1, Work{0});
    Tape tape;
    const index r = rows, c = columns;
    const Tensor x = ids(tape, {2, r, c});
    const Ids values = values_of<Id>(x);
    expect_ids(transpose(x), {2, c, r}, at_places(values, x.size(), [&](index i) { return i / (r * c) * r * c + i % r * c + i / r % c; }));
    expect_ids(permute(x, {1, 0, 2}), {r, 2, c},
               at_places(values, x.size(), [&](index i) { return i / c % 2 * r * c + i / (2 * c) * c + i % c; }));
  }
}

TEST(Ids, AreSliced) {
  Tape tape;
  const Tensor x = ids(tape, {5, 7});
  const Ids values = values_of<Id>(x);
  expect_ids(slice(x, 0, 1, 3), {3, 7}, at_places(values, 21, [](index i) { return i + 7; }));
  expect_ids(slice(x, 1, {1, {}, 3}), {5, 2}, at_places(values, 10, [](index i) { return i / 2 * 7 + i % 2 * 3 + 1; }));
  expect_ids(flip(x, 1), {5, 7}, at_places(values, 35, [](index i) { return i / 7 * 7 + 6 - i % 7; }));
  expect_ids(flip(x, 0), {5, 7}, at_places(values, 35, [](index i) { return (4 - i / 7) * 7 + i % 7; }));
  expect_ids(select(x, 1, -2), {5}, at_places(values, 5, [](index i) { return i * 7 + 5; }));
  expect_ids(diagonal(slice(x, 1, 0, 5)), {5}, at_places(values, 5, [](index i) { return i * 8; }));
  expect_ids(split(x, 1, 3)[1], {5, 3}, at_places(values, 15, [](index i) { return i / 3 * 7 + i % 3 + 3; }));
}

TEST(Ids, AreReshapedAndJoined) {
  Tape tape;
  const Tensor x = ids(tape, {2, 3}, 1), z = ids(tape, {2, 2}, 2), other = ids(tape, {2, 3}, 3);
  const Ids a = values_of<Id>(x), b = values_of<Id>(z), c = values_of<Id>(other);
  expect_ids(reshape(x, {3, 2}), {3, 2}, a);
  expect_ids(unsqueeze(squeeze(unsqueeze(x, 0), 0), -1), {2, 3, 1}, a);
  expect_ids(concat(std::vector{x, z}, 1), {2, 5}, {a[0], a[1], a[2], b[0], b[1], a[3], a[4], a[5], b[2], b[3]});
  expect_ids(stack(std::vector{x, other}, 1), {2, 2, 3}, {a[0], a[1], a[2], c[0], c[1], c[2], a[3], a[4], a[5], c[3], c[4], c[5]});
}

TEST(Ids, AreRepeatedAndPadded) {
  Tape tape;
  const Tensor x = ids(tape, {3, 1});
  const Ids a = values_of<Id>(x);
  expect_ids(broadcast_to(x, {2, 3, 20}), {2, 3, 20}, at_places(a, 120, [](index i) { return i / 20 % 3; }));
  expect_ids(pad(x, 1, 1, 2, -100), {3, 4}, {-100, a[0], -100, -100, -100, a[1], -100, -100, -100, a[2], -100, -100});
  expect_ids(pad(x, 0, 1, 0, kLeast), {4, 1}, {kLeast, a[0], a[1], a[2]});
  for (const double value : {0.5, std::nan(""), 0x1p31, -0x1p31 - 1}) {
    EXPECT_TRUE(names(error_of([&] { pad(x, 0, 1, 0, value); }), {"pad", "i32", concat(value)}));
  }
}

// cast()

TEST(Ids, BecomeTheNearestNumbers) {
  const Ids x = some_ids(41);
  Tape tape;
  const Tensor input = tape.input<Id>({41}, x);
  std::vector<double> same(x.begin(), x.end());
  Numbers nearest;
  for (const Id id : x) {
    nearest.push_back(static_cast<float>(id));
  }
  EXPECT_EQ(values_of<double>(cast(input, DType::f64)), same);
  EXPECT_EQ(values_of<float>(cast(input, DType::f32)), nearest);
  EXPECT_EQ(values_of<float>(cast(tape.input<Id>({2}, Ids{kBeyondF32, kMost}), DType::f32)), (Numbers{0x1p24F, 0x1p31F}));
  const Tensor rounded = cast(input, DType::bf16);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(rounded.data<bf16>()[i], to_bf16(static_cast<float>(x[i])));
  }
  EXPECT_FALSE(cast(input, DType::f32).needs_gradient());
  EXPECT_EQ(cast(input, DType::i32), input);
}

TEST(Ids, AreNumbersWithoutTheirFraction) {
  for (const index n : {13, 40'000}) {
    const WithThreads with(n > 1000 ? 3 : 1, Work{0});
    Tape tape;
    const Numbers x = numbers(n, 1, -1000, 1000);
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const Tensor input = cast(tape.input<float>({n}, x, true), dtype);
      Ids expected;
      for (const double number : doubles_of(input)) {
        expected.push_back(static_cast<Id>(std::trunc(number)));
      }
      expect_ids(cast(input, DType::i32), {n}, expected);
    }
  }
  Tape tape;
  const std::vector<double> extreme{-0x1p31 - 0.75, 0x1p31 - 0.25, -0.9, -0.0};
  expect_ids(cast(tape.input<double>({4}, extreme), DType::i32), {4}, {kLeast, kMost, 0, 0});
  expect_ids(cast(tape.input<float>({1}, Numbers{-0x1p31F}), DType::i32), {1}, {kLeast});
}

TEST(Ids, AreNotMadeOfNumbersThatDoNotFit) {
  static constexpr index kCount = 40'000;
  const auto refusal = [](auto number, index at, int threads) {
    const WithThreads with(threads, Work{0});
    Tape tape;
    std::vector<decltype(number)> x(kCount, 1);
    x[static_cast<std::size_t>(at)] = number;
    return error_of([&] { cast(tape.input<decltype(number)>({kCount}, x), DType::i32); });
  };
  for (const index at : {index{0}, index{17'000}, kCount - 1}) {
    for (const double number : {0x1p31, -0x1p31 - 1, 1e300, std::numeric_limits<double>::infinity(), std::nan("")}) {
      EXPECT_TRUE(names(refusal(number, at, 3), {"cast", concat("element ", at), concat(number), "i32"}));
    }
    EXPECT_TRUE(names(refusal(0x1p31F, at, 1), {"cast", concat("element ", at), "i32"}));
    EXPECT_TRUE(names(refusal(std::nanf(""), at, 1), {"cast", concat("element ", at), "i32"}));
  }
}

// A dry run computes no numbers, so they are not looked at.
TEST(Ids, AreNotCheckedInADryRun) {
  Tape tape;
  const Tensor x = tape.input<float>({2}, Numbers{1e30F, std::nanf("")});
  const DryRun dry;
  EXPECT_EQ(cast(x, DType::i32).dtype(), DType::i32);
}

// Lookups, reductions and sorting

TEST(Ids, AreLookedUp) {
  Tape tape;
  const Tensor x = ids(tape, {4, 37});
  const Ids values = values_of<Id>(x);
  const auto at = [&](index row, index column) { return values[static_cast<std::size_t>(row * 37 + column)]; };
  expect_ids(gather(x, 1, tape.input<Id>({4, 2}, Ids{3, 3, 36, 0, 1, 2, 5, 4})), {4, 2},
             {at(0, 3), at(0, 3), at(1, 36), at(1, 0), at(2, 1), at(2, 2), at(3, 5), at(3, 4)});
  expect_ids(index_select(x, 0, tape.input<Id>({3}, Ids{2, 0, 2})), {3, 37},
             at_places(values, 111, [](index i) { return (i / 37 == 1 ? 0 : 2) * 37 + i % 37; }));
  expect_ids(index_select(x, 1, tape.input<Id>({2}, Ids{36, 1})), {4, 2},
             at_places(values, 8, [](index i) { return i / 2 * 37 + (i % 2 == 0 ? 36 : 1); }));
  EXPECT_TRUE(names(error_of([&] { gather(x, 1, tape.input<Id>({1, 1}, Ids{37})); }), {"gather", "37", "36"}));
}

TEST(Ids, HaveExtremes) {
  for (const Shape& shape : {Shape{3, 1, 1}, {3, 37, 1}, {3, 37, 5}, {2, 300, 70}, {1, 40'000, 1}}) {
    SCOPED_TRACE(concat(shape));
    const WithThreads with(shape.size() > 1000 ? 3 : 1, Work{0});
    Tape tape;
    const Tensor x = ids(tape, shape);
    const Ids values = values_of<Id>(x);
    Ids largest, smallest, place_of_largest, place_of_smallest;
    for (index i = 0; i < shape[0] * shape[2]; ++i) {
      const Ids line = at_places(values, shape[1], [&](index j) { return (i / shape[2] * shape[1] + j) * shape[2] + i % shape[2]; });
      const auto last = std::max_element(line.begin(), line.end()), first = std::min_element(line.begin(), line.end());
      largest.push_back(*last);
      smallest.push_back(*first);
      place_of_largest.push_back(static_cast<Id>(last - line.begin()));
      place_of_smallest.push_back(static_cast<Id>(first - line.begin()));
    }
    const Shape rest{shape[0], shape[2]};
    expect_ids(max(x, 1), rest, largest);
    expect_ids(min(x, 1), rest, smallest);
    expect_ids(argmax(x, 1), rest, place_of_largest);
    expect_ids(argmin(x, 1), rest, place_of_smallest);
    expect_ids(max(x, {}, true), {1, 1, 1}, {*std::max_element(values.begin(), values.end())});
  }
}

TEST(Ids, AreSorted) {
  for (const index n : {1, 5, 39, 40, 3000}) {
    for (const bool descending : {false, true}) {
      SCOPED_TRACE(concat(n, descending ? " descending" : " ascending"));
      Tape tape;
      const Tensor x = ids(tape, {n});
      const Ids values = values_of<Id>(x);
      Ids order(values.size()), sorted;
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](Id a, Id b) {
        const Id one = values[static_cast<std::size_t>(a)], other = values[static_cast<std::size_t>(b)];
        return descending ? one > other : one < other;
      });
      for (const Id i : order) {
        sorted.push_back(values[static_cast<std::size_t>(i)]);
      }
      expect_ids(argsort(x, 0, descending), {n}, order);
      expect_ids(sort(x, 0, descending).values, {n}, sorted);
      const Sorted first = topk(x, n / 3, 0, descending);
      expect_ids(first.values, {n / 3}, Ids(sorted.begin(), sorted.begin() + n / 3));
      expect_ids(first.indices, {n / 3}, Ids(order.begin(), order.begin() + n / 3));
    }
  }
}

// Steps of a loop over time, as a decoder that takes its own tokens has them.
TEST(Ids, AreStatesOfAScan) {
  Tape tape;
  const Tensor x = tape.input<Id>({2, 3}, Ids{4, 5, 6, 7, 8, 9}), none = tape.input<Id>({2}, Ids{-1, -1});
  const auto [states, last] = scan(x, none, [](Tensor now, Tensor before) { return where(equal(before, -1), now, before); }, 1);
  expect_ids(states, {2, 3}, {4, 4, 4, 7, 7, 7});
  expect_ids(last, {2}, {4, 7});
}

// What stays refused

TEST(Ids, HaveNoArithmetic) {
  Tape tape;
  const Tensor x = ids(tape, {3, 3}), row = ids(tape, {3});
  const auto refused = [](const char* name, auto&& call) {
    const std::string error = error_of(call);
    EXPECT_EQ(error.rfind(concat(name, ": "), 0), 0U) << error;
    EXPECT_TRUE(names(error, {"i32", "cast("})) << name;
  };
  refused("add", [&] { x + x; });
  refused("add", [&] { x + 1; });
  refused("subtract", [&] { x - row; });
  refused("subtract", [&] { 1 - x; });
  refused("multiply", [&] { multiply(x, row); });
  refused("scale", [&] { x * 2; });
  refused("scale", [&] { -x; });
  refused("divide", [&] { x / x; });
  refused("maximum", [&] { maximum(x, x); });
  refused("minimum", [&] { minimum(x, 1); });
  refused("clamp", [&] { clamp(x, 0, 1); });
  refused("power", [&] { power(x, 2); });
  refused("abs", [&] { abs(x); });
  refused("exp", [&] { exp(x); });
  refused("relu", [&] { relu(x); });
  refused("dropout", [&] { dropout(x, 0.5, RandomStream(1, "test", 0)); });
  refused("elementwise", [&] { elementwise([](auto v) { return v + 1; }, x); });
  refused("sum", [&] { sum(x); });
  refused("mean", [&] { mean(x, 0); });
  refused("variance", [&] { variance(x); });
  refused("logsumexp", [&] { logsumexp(x); });
  refused("softmax", [&] { softmax(x); });
  refused("cumsum", [&] { cumsum(x, 0); });
  refused("scatter_add", [&] { scatter_add(x, 0, tape.input<Id>({1, 3}, Ids{0, 1, 2}), tape.input<Id>({1, 3}, Ids{1, 1, 1})); });
  refused("matmul", [&] { matmul(x, x); });
  refused("einsum", [&] { einsum("ij,jk->ik", x, x); });
  refused("mse_loss", [&] { mse_loss(x, x); });
}

TEST(Ids, AreNotMixedWithNumbers) {
  Tape tape;
  const Tensor x = ids(tape, {3}), numbers_of_3 = tape.input<float>({3}, Numbers{1, 2, 3});
  for (const Comparison& comparison : kComparisons) {
    EXPECT_TRUE(names(error_of([&] { comparison.of_two(x, numbers_of_3); }), {comparison.name, "i32", "f32", "cast()"}));
  }
  EXPECT_TRUE(names(error_of([&] { where(x, x, numbers_of_3); }), {"where", "i32", "f32"}));
  EXPECT_TRUE(names(error_of([&] { concat(std::vector{numbers_of_3, x}, 0); }), {"concat", "i32", "f32"}));
}

TEST(Ids, HaveNoGradient) {
  Tape tape;
  const Ids two{1, 2};
  EXPECT_TRUE(names(error_of([&] { tape.input<Id>({2}, two, true); }), {"input", "i32", "[2]"}));
  // Results of an op that also has numbers as operands, such as the ids that a recomputed part returns.
  const Tensor x = tape.input<float>({2, 3}, Numbers{1, 3, 2, 6, 5, 4}, true);
  const auto [best, largest] =
      recompute<2>(tape, std::array{x}, [](Tape&, const std::array<Tensor, 1>& in) { return std::array{argmax(in[0], 1), max(in[0], 1)}; });
  expect_ids(best, {2}, {1, 0});
  EXPECT_FALSE(cast(best, DType::f32).needs_gradient());
  tape.backward(sum(cast(best, DType::f32) * largest));
  EXPECT_EQ(std::vector(tape.gradient<float>(x), tape.gradient<float>(x) + 6), (Numbers{0, 1, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace dikkat::ids_test
