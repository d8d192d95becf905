#include "autograd/ops/scan.h"

#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops/arrange.h"
#include "autograd/ops/basic.h"
#include "autograd/tape/gradient_check.h"
#include "autograd/tape/parameters.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"
#include "tests/support/values.h"

namespace dikkat::scan_test {
namespace {

using testing::converted;
using testing::error_of;
using testing::names;
using testing::numbers;
using testing::same_bits;
using testing::values_of;

Tensor input(Tape& tape, Shape shape, std::uint64_t seed, bool needs_gradient = true) {
  return tape.input<double>(shape, converted<double>(numbers(shape.size(), seed)), needs_gradient);
}

/// state = x_t * state + x_t.
Tensor next(Tensor x, Tensor state) { return add(multiply(x, state), x); }

TEST(Scan, StacksTheStatesAlongTheAxis) {
  for (const Shape& shape : {Shape{4}, {3, 4}, {2, 3, 4}, {2, 1, 3, 2}}) {
    for (int axis = -shape.rank(); axis < shape.rank(); ++axis) {
      SCOPED_TRACE(concat("axis ", axis, " of ", shape));
      Tape tape;
      const Tensor x = input(tape, shape, 1);
      const Tensor initial = input(tape, select(x, axis, 0).shape(), 2);
      const Scanned<Tensor> scanned = scan(x, initial, next, axis);
      EXPECT_EQ(scanned.states.shape(), shape);
      Tensor state = initial;
      for (index t = 0; t < shape[axis]; ++t) {
        state = next(select(x, axis, t), state);
        EXPECT_EQ(values_of<double>(select(scanned.states, axis, t)), values_of<double>(state)) << "step " << t;
      }
      EXPECT_EQ(values_of<double>(scanned.last), values_of<double>(state));
    }
  }
}

TEST(Scan, TakesStatesOfOtherShapesThanX) {
  // The sum of the last axis: states (B) of x (B, T, C).
  Tape tape;
  const Tensor x = input(tape, {2, 3, 4}, 1), initial = input(tape, {2, 5}, 2);
  const auto grow = [&](Tensor x_t, Tensor state) {
    EXPECT_EQ(x_t.shape(), (Shape{2, 4}));
    return scale(state, 2);
  };
  const Scanned<Tensor> scanned = scan(x, initial, grow, 1);
  EXPECT_EQ(scanned.states.shape(), (Shape{2, 3, 5}));
  EXPECT_EQ(values_of<double>(slice(scanned.states, 1, 2, 1)), values_of<double>(scale(initial, 8)));
  // An axis of its own at the end.
  const Scanned<Tensor> of_rows = scan(x, input(tape, {2}, 3), [](Tensor, Tensor state) { return scale(state, 2); }, 1);
  EXPECT_EQ(of_rows.states.shape(), (Shape{2, 3}));
  EXPECT_EQ(scan(x, input(tape, {}, 4), [](Tensor, Tensor state) { return scale(state, 2); }).states.shape(), Shape{2});
}

/// The two states of an LSTM without its products: c = x c + h, h = tanh(c).
TEST(Scan, CarriesSeveralStates) {
  const auto step = [](Tensor x, const std::array<Tensor, 2>& state) {
    const Tensor c = add(multiply(x, state[1]), state[0]);
    return std::array{tanh(c), c};
  };
  Tape tape;
  const Tensor x = input(tape, {2, 5, 3}, 1);
  const std::array initial = {input(tape, {2, 3}, 2), input(tape, {2, 3}, 3)};
  const auto [states, last] = scan(x, initial, step, 1);
  auto expected = initial;
  for (index t = 0; t < 5; ++t) {
    expected = step(select(x, 1, t), expected);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(states[i].shape(), (Shape{2, 5, 3}));
      EXPECT_EQ(values_of<double>(select(states[i], 1, t)), values_of<double>(expected[i])) << t << " " << i;
    }
  }
  EXPECT_EQ(values_of<double>(last[1]), values_of<double>(expected[1]));
}

TEST(Scan, HasTheGradientOfItsSteps) {
  const auto operand = [](Shape shape, std::uint64_t seed) {
    return CheckedOperand{shape, converted<double>(numbers(shape.size(), seed))};
  };
  for (const int axis : {0, 1, 2}) {
    const Shape shape{2, 3, 4};
    const CheckedOperand operands[] = {operand(shape, 1), operand(axis == 0 ? Shape{3, 4} : axis == 1 ? Shape{2, 4} : Shape{2, 3}, 2)};
    EXPECT_LT(gradient_error([&](Tape&, std::span<const Tensor> t) { return scan(t[0], t[1], next, axis).states; }, operands), 1e-7);
    EXPECT_LT(gradient_error([&](Tape&, std::span<const Tensor> t) { return scan(t[0], t[1], next, axis).last; }, operands), 1e-7);
  }
  // Both states and the last one are used.
  const CheckedOperand operands[] = {operand({4, 3}, 1), operand({3}, 2), operand({3}, 3)};
  const auto both = [](Tape&, std::span<const Tensor> t) {
    const auto scanned = scan(t[0], std::array{t[1], t[2]}, [](Tensor x, const std::array<Tensor, 2>& s) {
      return std::array{tanh(add(s[0], multiply(x, s[1]))), multiply(s[1], s[0])};
    });
    return add(multiply(scanned.states[0], scanned.last[1]), scanned.states[1]);
  };
  EXPECT_LT(gradient_error(both, operands), 1e-7);
}

TEST(Scan, OfParametersNeedsAtLeastOneTensorOfATape) {
  ParameterStore store(DType::f64);
  const Parameter x = store.add("x", {3, 2}, Init::ones(), Decay::no, Role::vector),
                  initial = store.add("initial", {2}, Init::ones(), Decay::no, Role::vector);
  store.allocate(1);
  const auto step = [](Tensor x_t, Tensor state) { return add(state, x_t); };
  Tape tape;
  EXPECT_EQ(values_of<double>(scan(tape.use(x), initial, step).last), (std::vector<double>{4, 4}));
  EXPECT_TRUE(names(error_of([&] { scan(x, initial, step); }), {"scan", "tape.use"}));
}

TEST(Scan, AsksForNoMemoryOnceTheTapeHasSeenAStep) {
  Tape tape;
  const auto step = [&] {
    const Tensor x = input(tape, {2, 500, 3}, 1);
    tape.backward(sum(scan(x, input(tape, {2, 3}, 2), next, 1).states));
    std::vector<double> gradient(tape.gradient<double>(x), tape.gradient<double>(x) + x.size());
    tape.reset();
    return gradient;
  };
  const auto first = step();
  step();
  tape.freeze();
  EXPECT_TRUE(same_bits(step(), first));
}

TEST(Scan, RefusesWhatDoesNotFit) {
  Tape tape;
  const Tensor x = input(tape, {2, 3, 4}, 1), initial = input(tape, {2, 4}, 2);
  EXPECT_TRUE(names(error_of([&] { scan(x, initial, next, 3); }), {"scan", "axis 3", "[2, 3, 4]"}));
  EXPECT_TRUE(names(error_of([&] { scan(input(tape, {2, 0, 4}, 1), initial, next, 1); }), {"scan", "axis 1", "[2, 0, 4]"}));
  EXPECT_TRUE(names(error_of([&] { scan(x, input(tape, {4}, 2), next, 2); }), {"scan", "[4]", "axis 2"}));
  const auto shrink = [](Tensor, Tensor state) { return slice(state, 0, 0, 1); };
  EXPECT_TRUE(names(error_of([&] { scan(x, initial, shrink, 1); }), {"scan", "step 0", "[1, 4]", "[2, 4]"}));
  const auto round = [](Tensor, Tensor state) { return cast(state, DType::f32); };
  EXPECT_TRUE(names(error_of([&] { scan(x, initial, round, 1); }), {"scan", "f32", "f64"}));
}

}  // namespace
}  // namespace dikkat::scan_test
