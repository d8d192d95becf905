#include "autograd/ops/elementwise.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "autograd/tape/tape.h"
#include "tests/support/numbers.h"

namespace dikkat::elementwise_test {
namespace {

constexpr auto kFormula = [](auto x, auto y, auto z) { return x * tanh(y) + z * z - 2.5 / (1 + exp(y)); };

/// The place in an array of one shape of element `i` of the common shape.
index place_of(const Shape& own, const Shape& common, index i) {
  index place = 0, step = 1;
  for (int axis = 1; axis <= common.rank(); ++axis) {
    const index extent = axis <= own.rank() ? own[-axis] : 1;
    place += extent == 1 ? 0 : i % common[-axis] * step;
    i /= common[-axis];
    step *= extent;
  }
  return place;
}

/// The result of the formula, and the gradients of its operands.
template <class T>
using Results = std::array<std::vector<T>, 4>;

template <class T>
std::vector<T> numbers_of(Shape shape, std::uint64_t seed) {
  const std::vector<float> some = testing::numbers(shape.size(), seed);
  return {some.begin(), some.end()};
}

/// Returns the results of elementwise().
template <class T>
Results<T> computed(const std::array<Shape, 3>& shapes, int threads) {
  const WithThreads some(threads, Work{0});
  Tape tape;
  std::array<Tensor, 3> x;
  for (std::size_t k = 0; k < 3; ++k) {
    x[k] = tape.input<T>(shapes[k], numbers_of<T>(shapes[k], k + 1), true);
  }
  const Tensor y = elementwise(kFormula, x[0], x[1], x[2]);
  tape.backward(y, tape.input<T>(y.shape(), numbers_of<T>(y.shape(), 9)));
  Results<T> results{std::vector<T>(y.data<T>(), y.data<T>() + y.size())};
  for (std::size_t k = 0; k < 3; ++k) {
    results[k + 1].assign(tape.gradient<T>(x[k]), tape.gradient<T>(x[k]) + x[k].size());
  }
  return results;
}

/// Returns the results by the definition, in f64.
template <class T>
Results<double> defined(const std::array<Shape, 3>& shapes, const Shape& common) {
  const auto dy = numbers_of<T>(common, 9);
  std::array<std::vector<T>, 3> x;
  Results<double> results;
  results[0].resize(static_cast<std::size_t>(common.size()));
  for (std::size_t k = 0; k < 3; ++k) {
    x[k] = numbers_of<T>(shapes[k], k + 1);
    results[k + 1].resize(x[k].size());
  }
  for (index i = 0; i < common.size(); ++i) {
    std::array<std::size_t, 3> at;
    for (std::size_t k = 0; k < 3; ++k) {
      at[k] = static_cast<std::size_t>(place_of(shapes[k], common, i));
    }
    const double a = x[0][at[0]], b = x[1][at[1]], c = x[2][at[2]], d = dy[static_cast<std::size_t>(i)];
    const double t = std::tanh(b), e = std::exp(b);
    results[0][static_cast<std::size_t>(i)] = a * t + c * c - 2.5 / (1 + e);
    results[1][at[0]] += d * t;
    results[2][at[1]] += d * (a * (1 - t * t) + 2.5 * e / ((1 + e) * (1 + e)));
    results[3][at[2]] += d * 2 * c;
  }
  return results;
}

template <class T>
void check(const std::array<Shape, 3>& shapes, const Shape& common, double bound) {
  const Results<T> one = computed<T>(shapes, 1);
  EXPECT_EQ(one, computed<T>(shapes, 2)) << "the same bits on two threads";
  const Results<double> expected = defined<T>(shapes, common);
  for (std::size_t k = 0; k < 4; ++k) {
    ASSERT_EQ(one[k].size(), expected[k].size());
    double error = 0;
    for (std::size_t i = 0; i < one[k].size(); ++i) {
      error = std::max(error, std::abs(one[k][i] - expected[k][i]) / (1 + std::abs(expected[k][i])));
    }
    EXPECT_LE(error, bound) << "result " << k;
  }
}

TEST(Elementwise, BroadcastsAndDifferentiates) {
  const struct {
    std::array<Shape, 3> shapes;
    Shape common;
  } cases[] = {{{Shape{5}, {5}, {5}}, {5}},
               {{Shape{}, {}, {}}, {}},
               {{Shape{3, 7}, {7}, {1}}, {3, 7}},
               {{Shape{3, 7}, {3, 1}, {7}}, {3, 7}},
               {{Shape{2, 3, 4, 5}, {3, 1, 5}, {2, 1, 4, 1}}, {2, 3, 4, 5}},
               {{Shape{1000, 33}, {33}, {1000, 1}}, {1000, 33}},
               {{Shape{70'000}, {1}, {70'000}}, {70'000}},
               {{Shape{1}, {50'000}, {}}, {50'000}},
               {{Shape{3, 40'000}, {3, 1}, {}}, {3, 40'000}},
               {{Shape{100, 1, 7}, {1, 90, 7}, {100, 90, 1}}, {100, 90, 7}},
               {{Shape{0, 3}, {3}, {1}}, {0, 3}}};
  for (const auto& [shapes, common] : cases) {
    SCOPED_TRACE(concat(shapes[0], " ", shapes[1], " ", shapes[2]));
    check<float>(shapes, common, 2e-4);
    check<double>(shapes, common, 1e-10);
  }
}

TEST(Elementwise, AnOperandMayOccurTwice) {
  Tape tape;
  const std::vector<float> numbers = testing::numbers(100, 1);
  const Tensor x = tape.input<float>({100}, numbers, true);
  tape.backward(sum(elementwise([](auto a, auto b) { return a * b; }, x, x)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_FLOAT_EQ(tape.gradient<float>(x)[i], 2 * numbers[i]);
  }
}

TEST(Elementwise, RefusesShapesThatDoNotFit) {
  Tape tape;
  const Tensor a = tape.input<float>({2, 3}, testing::numbers(6, 1)), b = tape.input<float>({2}, testing::numbers(2, 1));
  EXPECT_THROW(elementwise([](auto x, auto y) { return x + y; }, a, b), Error);
}

// Each function of one number, beside the derivative of its values.
TEST(Elementwise, FunctionsHaveTheirDerivatives) {
  const auto check_one = [](const char* name, const auto& f, double x) {
    const auto value = [&](double at) {
      Tape tape(Recording::off);
      return *elementwise(f, tape.input<double>({1}, std::vector<double>{at})).template data<double>();
    };
    Tape tape;
    const Tensor operand = tape.input<double>({1}, std::vector<double>{x}, true);
    tape.backward(elementwise(f, operand));
    constexpr double kStep = 1e-6;
    EXPECT_NEAR(*tape.gradient<double>(operand), (value(x + kStep) - value(x - kStep)) / (2 * kStep), 1e-7) << name << " at " << x;
  };
  for (const double x : {-1.7, -0.3, 0.4, 2.1}) {
    check_one("exp", [](auto v) { return exp(v); }, x);
    check_one("tanh", [](auto v) { return tanh(v); }, x);
    check_one("sin", [](auto v) { return sin(v); }, x);
    check_one("cos", [](auto v) { return cos(v); }, x);
    check_one("erf", [](auto v) { return erf(v); }, x);
    check_one("abs", [](auto v) { return abs(v); }, x);
    check_one("square", [](auto v) { return square(v); }, x);
    check_one("sigmoid", [](auto v) { return sigmoid(v); }, x);
    check_one("softplus", [](auto v) { return softplus(v); }, x);
    check_one("clamp", [](auto v) { return clamp(v, -1, 1); }, x);
    check_one("max", [](auto v) { return max(v, 1) + min(v, 0.5); }, x);
    check_one("where", [](auto v) { return where(v > 0 && v < 1, v * v, -v); }, x);
    check_one("quotient", [](auto v) { return v / (v * v + 2); }, x);
    check_one("log", [](auto v) { return log(v * v); }, x);
    check_one("sqrt", [](auto v) { return sqrt(v * v + 1); }, x);
    check_one("pow", [](auto v) { return pow(v * v + 1, 1.5); }, x);
  }
}

}  // namespace
}  // namespace dikkat::elementwise_test
