#include "autograd/ops/reduce.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "autograd/tape/gradient_check.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"
#include "tests/support/values.h"

namespace dikkat::reduce_test {
namespace {

using testing::doubles_of;
using testing::error_of;
using testing::names;
using testing::numbers;
using testing::same_bits;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The elements of each result in row-major order, by plain loops: the last axis is counted up first.
std::vector<std::vector<double>> terms_of(const Shape& shape, const std::vector<int>& axes, const std::vector<double>& x) {
  std::vector<std::vector<double>> terms;
  std::vector<index> at(static_cast<std::size_t>(shape.rank()));
  for (const double value : x) {
    std::size_t result = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const bool is_reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
      result = is_reduced ? result
                          : result * static_cast<std::size_t>(shape[axis]) + static_cast<std::size_t>(at[static_cast<std::size_t>(axis)]);
    }
    terms.resize(std::max(terms.size(), result + 1));
    terms[result].push_back(value);
    for (int axis = shape.rank() - 1; axis >= 0 && ++at[static_cast<std::size_t>(axis)] == shape[axis]; --axis) {
      at[static_cast<std::size_t>(axis)] = 0;
    }
  }
  return terms;
}

using Terms = std::vector<double>;
double sum_of(const Terms& terms) {
  double sum = 0;
  for (const double term : terms) {
    sum += term;
  }
  return sum;
}
double mean_of(const Terms& terms) { return sum_of(terms) / static_cast<double>(terms.size()); }
double place_of(const Terms& terms, bool is_max) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < terms.size(); ++i) {
    best = (is_max ? terms[i] > terms[best] : terms[i] < terms[best]) ? i : best;
  }
  return static_cast<double>(best);
}
double log_sum_exp_of(const Terms& terms) {
  double sum = 0;
  for (const double term : terms) {
    sum += std::exp(term);
  }
  return std::log(sum);
}
double variance_of(const Terms& terms, double correction) {
  const double mean = mean_of(terms);
  double sum = 0;
  for (const double term : terms) {
    sum += (term - mean) * (term - mean);
  }
  return sum / (static_cast<double>(terms.size()) - correction);
}

struct Reducing {
  const char* name;
  Tensor (*op)(Tensor, const Axes&, bool);
  double (*of_terms)(const Terms&);
  bool is_exact;  // it moves numbers, and computes none
};
const Reducing kReductions[] = {
    {"sum", sum, sum_of, false},
    {"mean", mean, mean_of, false},
    {"max", max, [](const Terms& terms) { return *std::max_element(terms.begin(), terms.end()); }, true},
    {"min", min, [](const Terms& terms) { return *std::min_element(terms.begin(), terms.end()); }, true},
    {"argmax", argmax, [](const Terms& terms) { return place_of(terms, true); }, true},
    {"argmin", argmin, [](const Terms& terms) { return place_of(terms, false); }, true},
    {"logsumexp", logsumexp, log_sum_exp_of, false},
    {"variance", [](Tensor x, const Axes& axes, bool keepdim) { return variance(x, axes, keepdim); },
     [](const Terms& terms) { return variance_of(terms, 1); }, false},
    {"variance without correction", [](Tensor x, const Axes& axes, bool keepdim) { return variance(x, axes, keepdim, 0); },
     [](const Terms& terms) { return variance_of(terms, 0); }, false}};

struct Along {
  Shape shape;
  std::vector<int> axes;
};
const Along kAlong[] = {{{7}, {0}},
                        {{3, 7}, {1}},
                        {{3, 7}, {0}},
                        {{3, 7}, {0, 1}},
                        {{40, 333}, {1}},
                        {{333, 40}, {0}},
                        {{2, 3, 4, 5}, {0, 2}},
                        {{2, 3, 4, 5}, {1, 3}},
                        {{2, 3, 4, 5}, {1, 2}},
                        {{64, 3, 49}, {0, 2}},
                        {{5, 1, 9}, {1, 2}},
                        {{2, 3, 2, 3, 2, 1, 2, 3}, {0, 2, 4, 6}},
                        {{2, 3, 2, 3, 2, 1, 2, 3}, {1, 3, 7}},
                        {{70'001}, {0}},
                        {{3, 33'000}, {1}},
                        {{4001, 70}, {0}},
                        {{2, 5000, 3}, {1}},
                        {{9000, 10}, {0}},
                        {{3, 4, 5000}, {1}},
                        {{3000, 2}, {1}}};

/// The numbers of an element type: many are equal, so that first ones count.
template <class T>
std::vector<T> numbers_of(index size, bool coarse) {
  std::vector<T> x;
  for (const float value : numbers(size, 3, -2, 2)) {
    x.push_back(to_stored<T>(static_cast<Computed<T>>(coarse ? std::round(value * 8) / 8 : value)));
  }
  return x;
}

template <class T>
void check_values(double bound) {
  for (const auto& [shape, axes] : kAlong) {
    for (const bool coarse : {false, true}) {
      const std::vector<T> x = numbers_of<T>(shape.size(), coarse);
      Tape outer;
      const auto terms = terms_of(shape, axes, doubles_of(outer.input<T>(shape, x)));
      for (const Reducing& reduction : kReductions) {
        SCOPED_TRACE(concat(reduction.name, " of ", shape, " along ", axes.front(), " and others: ", axes.size()));
        std::vector<double> expected, first;
        for (const auto& own : terms) {
          expected.push_back(reduction.of_terms(own));
        }
        for (const int threads : {1, 2, 3}) {
          const WithThreads some(threads, Work{0});
          Tape tape;
          const Tensor input = tape.input<T>(shape, x, threads == 2);  // for a gradient, places are kept
          const std::vector<double> found = doubles_of(reduction.op(input, std::span<const int>(axes), threads == 3));
          if (threads == 1) {
            first = found;
            EXPECT_LE(testing::relative_error(found, expected), reduction.is_exact ? 0 : bound);
          }
          EXPECT_TRUE(same_bits(found, first)) << threads << " threads";
        }
      }
    }
  }
}

TEST(Reduce, EqualsPlainLoopsInF64) { check_values<double>(1e-12); }
TEST(Reduce, EqualsPlainLoopsInF32) { check_values<float>(3e-6); }
TEST(Reduce, EqualsPlainLoopsInBf16) { check_values<bf16>(0x1p-8); }

TEST(Reduce, KeepsDimensionsOnRequest) {
  Tape tape;
  const Tensor x = tape.input<float>({2, 3, 4}, numbers(24, 1));
  for (const Reducing& reduction : kReductions) {
    SCOPED_TRACE(reduction.name);
    EXPECT_EQ(reduction.op(x, {}, false).shape(), (Shape{}));
    EXPECT_EQ(reduction.op(x, {}, true).shape(), (Shape{1, 1, 1}));
    EXPECT_EQ(reduction.op(x, 1, false).shape(), (Shape{2, 4}));
    EXPECT_EQ(reduction.op(x, -2, true).shape(), (Shape{2, 1, 4}));
    EXPECT_EQ(reduction.op(x, {0, -1}, false).shape(), (Shape{3}));
  }
}

// Sums of all elements had their own kernel before there were axes, and their bits are those of finished runs.
TEST(Reduce, AllAxesByNameAreAllElements) {
  Tape tape;
  const Tensor x = tape.input<float>({300, 70}, numbers(21'000, 1));
  EXPECT_TRUE(same_bits(doubles_of(sum(x, {0, 1})), doubles_of(sum(x))));
  EXPECT_TRUE(same_bits(doubles_of(mean(x, {1, 0}, true)), doubles_of(mean(x))));
}

TEST(Reduce, OfBf16MayBackpropagateInF32) {
  Tape tape;
  const Tensor x = tape.input<float>({3, 7}, numbers(21, 1), true);
  tape.backward(sum(cast(mean(cast(x, DType::bf16), 1), DType::f32)));
  for (index i = 0; i < 21; ++i) {
    EXPECT_NEAR(tape.gradient<float>(x)[i], 1.0 / 7, 1e-3);
  }
}

/// The results and gradients of an op of some f64 numbers.
struct Outcome {
  std::vector<double> y, dx;
};
Outcome run(const std::function<Tensor(Tensor)>& f, Shape shape, const std::vector<double>& x) {
  Tape tape;
  const Tensor input = tape.input<double>(shape, x, true);
  const Tensor y = f(input);
  tape.backward(y, tape.input<double>(y.shape(), std::vector<double>(static_cast<std::size_t>(y.size()), 1.0)));
  return {doubles_of(y), {tape.gradient<double>(input), tape.gradient<double>(input) + x.size()}};
}

TEST(Extreme, GivesTheGradientToTheFirstOfEquals) {
  const auto rows = run([](Tensor x) { return max(x, 1); }, {2, 3}, {1, 5, 5, 2, 2, 2});
  EXPECT_EQ(rows.y, (Terms{5, 2}));
  EXPECT_EQ(rows.dx, (Terms{0, 1, 0, 1, 0, 0}));
  const auto columns = run([](Tensor x) { return min(x, 0); }, {3, 2}, {1, 4, 1, 3, 2, 3});
  EXPECT_EQ(columns.y, (Terms{1, 3}));
  EXPECT_EQ(columns.dx, (Terms{1, 0, 0, 1, 0, 0}));
}

TEST(Extreme, OfEqualsInSeveralChunksIsTheFirst) {
  for (const Along& along : {Along{{50'000}, {0}}, {{3, 40'000}, {1}}, {{20'000, 3}, {0}}, {{2000, 100}, {0}}, {{30, 2, 900}, {0, 2}}}) {
    SCOPED_TRACE(concat(along.shape));
    std::vector<float> x(static_cast<std::size_t>(along.shape.size()), 1.0F);
    for (std::size_t i = x.size() / 2; i < x.size(); ++i) {
      x[i] = 2;  // half of the elements are equally large
    }
    Tape tape;
    std::vector<double> expected;
    for (const auto& terms : terms_of(along.shape, along.axes, {x.begin(), x.end()})) {
      expected.push_back(place_of(terms, true));
    }
    EXPECT_EQ(doubles_of(argmax(tape.input<float>(along.shape, x), std::span<const int>(along.axes))), expected);
  }
}

TEST(Extreme, PropagatesTheFirstNan) {
  for (const index size : {3, 40, 1000, 40'000}) {
    for (const index nan : {index{0}, size / 3, size - 1}) {
      std::vector<float> x = numbers(size, 1);
      x[static_cast<std::size_t>(nan)] = x.back() = std::numeric_limits<float>::quiet_NaN();
      Tape tape;
      const Tensor row = tape.input<float>({size}, x), column = tape.input<float>({size, 1}, x);
      for (const Tensor input : {row, concat(std::vector<Tensor>{column, column}, 1)}) {
        EXPECT_TRUE(std::isnan(doubles_of(max(input, 0)).front())) << size;
        EXPECT_TRUE(std::isnan(doubles_of(min(input, 0)).front())) << size;
        EXPECT_EQ(doubles_of(argmax(input, 0)).front(), static_cast<double>(nan)) << size;
        EXPECT_EQ(doubles_of(argmin(input, 0)).front(), static_cast<double>(nan)) << size;
      }
    }
  }
}

TEST(Extreme, OfInfinities) {
  Tape tape;
  const std::vector<double> x(37, -kInfinity);
  EXPECT_EQ(doubles_of(max(tape.input<double>({37}, x))), Terms{-kInfinity});
  EXPECT_EQ(doubles_of(argmax(tape.input<double>({37}, x))), Terms{0});
  EXPECT_EQ(doubles_of(argmin(tape.input<double>({37}, x))), Terms{0});
  EXPECT_EQ(doubles_of(argmax(tape.input<double>({2, 2}, Terms{-kInfinity, 1, kInfinity, kInfinity}), 0)), (Terms{1, 1}));
}

TEST(Extreme, PlacesHaveNoGradient) {
  Tape tape;
  const Tensor x = tape.input<float>({2, 3}, numbers(6, 1), true);
  EXPECT_FALSE(argmax(x, 1).needs_gradient());
  EXPECT_TRUE(max(x, 1).needs_gradient());
}

TEST(LogSumExp, NeitherOverflowsNorVanishes) {
  Tape tape;
  const auto of = [&](std::vector<double> x) {
    std::vector<float> singles(x.begin(), x.end());
    const auto n = static_cast<index>(x.size());
    const double row = doubles_of(logsumexp(tape.input<float>({1, n}, singles), 1)).front();
    const double column = doubles_of(logsumexp(tape.input<float>({n, 1}, singles), 0)).front();
    EXPECT_TRUE(row == column || (std::isnan(row) && std::isnan(column)) || std::abs(row - column) < 1e-6);
    return row;
  };
  EXPECT_NEAR(of({1000, 1000}), 1000 + std::log(2.0), 1e-4);
  EXPECT_NEAR(of({-1000, -1000, -2000}), -1000 + std::log(2.0), 1e-4);
  EXPECT_EQ(of({-kInfinity, -kInfinity}), -kInfinity);
  EXPECT_EQ(of({-kInfinity, 3}), 3);
  EXPECT_EQ(of({kInfinity, 3}), kInfinity);
  EXPECT_TRUE(std::isnan(of({kNan, 3})));
}

// Each chunk has its own largest number.
TEST(LogSumExp, JoinsChunks) {
  for (const double low : {-kInfinity, -800.0, 0.0}) {
    std::vector<double> x(50'000, low);
    x[20'000] = -500;
    x[45'001] = -501;
    const double expected = low == 0 ? std::log(49'998.0) : -500 + std::log1p(std::exp(-1.0));
    Tape tape;
    EXPECT_NEAR(doubles_of(logsumexp(tape.input<double>({50'000}, x))).front(), expected, 1e-10) << low;
    EXPECT_NEAR(doubles_of(logsumexp(tape.input<double>({25'000, 2}, x), 0)).front(), low == 0 ? std::log(24'999.0) : -500, 1e-10) << low;
  }
}

// A sum of squares minus the square of the sum would lose all digits.
TEST(Variance, KeepsItsDigitsFarFromZero) {
  std::vector<float> x = numbers(40'000, 1, 0, 1);
  for (float& value : x) {
    value = 1000 + std::round(value * 1024) / 1024;
  }
  const double expected = variance_of({x.begin(), x.end()}, 1);
  Tape tape;
  EXPECT_NEAR(doubles_of(variance(tape.input<float>({40'000}, x))).front() / expected, 1, 1e-5);
  EXPECT_NEAR(doubles_of(variance(tape.input<float>({40'000, 1}, x), 0)).front() / expected, 1, 1e-5);
}

TEST(Reduce, OfNothing) {
  Tape tape;
  const Tensor x = tape.input<float>({2, 0, 3}, std::vector<float>{}, true);
  EXPECT_EQ(doubles_of(sum(x)), Terms{0});
  EXPECT_EQ(doubles_of(sum(x, 1)), Terms(6));
  EXPECT_EQ(doubles_of(sum(x, {1, 2})), Terms(2));
  EXPECT_EQ(doubles_of(logsumexp(x, 1)), Terms(6, -kInfinity));
  EXPECT_EQ(max(x, 0).shape(), (Shape{0, 3})) << "no result, so nothing is missing";
  EXPECT_EQ(cumsum(x, 1).shape(), x.shape());
  EXPECT_EQ(softmax(x, 1).shape(), x.shape());
  EXPECT_TRUE(names(error_of([&] { mean(x, 1); }), {"mean", "[2, 0, 3]"}));
  EXPECT_TRUE(names(error_of([&] { max(x, 1); }), {"max", "[2, 0, 3]"}));
  EXPECT_TRUE(names(error_of([&] { min(x, {1, 2}); }), {"min", "[2, 0, 3]"}));
  EXPECT_TRUE(names(error_of([&] { argmax(x, 1); }), {"argmax", "[2, 0, 3]"}));
  EXPECT_TRUE(names(error_of([&] { argmin(x, 1); }), {"argmin", "[2, 0, 3]"}));
  EXPECT_TRUE(names(error_of([&] { variance(x, 1, false, -1); }), {"variance", "[2, 0, 3]"}));
}

TEST(Reduce, RefusesAxesThatDoNotExist) {
  Tape tape;
  const Tensor x = tape.input<float>({2, 3}, numbers(6, 1));
  EXPECT_TRUE(names(error_of([&] { argmax(x, 2); }), {"argmax", "2", "[2, 3]"}));
  EXPECT_TRUE(names(error_of([&] { argmin(x, {0, 0}); }), {"argmin", "0", "[2, 3]"}));
  EXPECT_TRUE(names(error_of([&] { sum(x, {0, 1, 2, 3, 4, 5, 6, 7, 8}); }), {"axes", "9", "8"}));
  EXPECT_TRUE(names(error_of([&] { variance(x, 1, false, 3); }), {"variance", "3"}));
}

TEST(Softmax, AlongAnyAxisIsThatOfTheExchangedAxes) {
  for (const Shape& shape : {Shape{5, 3}, {2, 7, 3}, {3, 70, 300}, {2, 3, 4, 5}, {1000, 2}}) {
    for (int axis = 0; axis + 1 < shape.rank(); ++axis) {
      SCOPED_TRACE(concat(shape, " along ", axis));
      for (const auto op : {softmax, log_softmax}) {
        Tape tape;
        const Tensor x = tape.input<float>(shape, numbers(shape.size(), 1, -5, 5));
        const auto expected = doubles_of(transpose(op(transpose(x, axis, -1), -1), axis, -1));
        EXPECT_LE(testing::relative_error(doubles_of(op(x, axis)), expected), 1e-6);
      }
    }
  }
}

TEST(Softmax, OfBf16IsThatOfF32Rounded) {
  for (const int axis : {0, 1}) {
    for (const auto op : {softmax, log_softmax}) {
      Tape tape;
      const Tensor x = cast(tape.input<float>({9, 70}, numbers(630, 1, -5, 5)), DType::bf16);
      EXPECT_EQ(doubles_of(op(x, axis)), doubles_of(cast(op(cast(x, DType::f32), axis), DType::bf16)));
    }
  }
}

TEST(LogSoftmax, IsFiniteWhereProbabilitiesVanish) {
  Tape tape;
  EXPECT_EQ(doubles_of(log_softmax(tape.input<float>({2}, std::vector<float>{0, 1000}))), (Terms{-1000, 0}));
  EXPECT_EQ(doubles_of(log_softmax(tape.input<float>({2, 1}, std::vector<float>{0, 1000}), 0)), (Terms{-1000, 0}));
}

// In f32, adding one number after the other, the sum of 2^25 ones would stay 2^24.
TEST(Cumsum, AddsInF64) {
  std::vector<float> x(200'000, 0.1F);
  Tape tape;
  for (const Shape& shape : {Shape{200'000}, {200'000, 1}}) {
    const auto y = doubles_of(cumsum(tape.input<float>(shape, x), 0));
    for (std::size_t i = 0; i < y.size(); i += 999) {
      ASSERT_EQ(y[i], static_cast<double>(static_cast<float>(static_cast<double>(0.1F) * static_cast<double>(i + 1))));
    }
  }
}

TEST(Cumsum, OfBf16) {
  Tape tape;
  const Tensor x = cast(tape.input<float>({3, 40}, numbers(120, 1)), DType::bf16);
  for (const int axis : {0, 1}) {
    EXPECT_EQ(doubles_of(cumsum(x, axis)), doubles_of(cast(cumsum(cast(x, DType::f32), axis), DType::bf16)));
  }
}

// Reductions beside each other, as a batch norm has them.
TEST(Reduce, GradientsOfABatchNorm) {
  std::vector<double> values;
  for (const float value : numbers(2 * 3 * 4 * 5, 1)) {
    values.push_back(value);
  }
  const CheckedOperand x{{2, 3, 4, 5}, values};
  const auto f = [](Tape&, std::span<const Tensor> t) {
    const Tensor centered = add(t[0], scale(broadcast_to(mean(t[0], {0, 2, 3}, true), t[0].shape()), -1));
    return multiply(centered, broadcast_to(power(variance(t[0], {0, 2, 3}, true, 0), -0.5), t[0].shape()));
  };
  EXPECT_LE(gradient_error(f, std::span(&x, 1)), 1e-6);
}

}  // namespace
}  // namespace dikkat::reduce_test
