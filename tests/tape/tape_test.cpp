#include "autograd/tape/tape.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/tape/own_ops.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;
using testing::plus;
using testing::squared;
using testing::times;
using testing::total;

Tensor input(Tape& tape, const std::vector<double>& values, bool needs_gradient = true) {
  return tape.input<double>({static_cast<index>(values.size())}, values, needs_gradient);
}
std::vector<double> gradient(Tape& tape, Tensor x) {
  const double* dx = tape.gradient<double>(x);
  return dx == nullptr ? std::vector<double>{} : std::vector<double>(dx, dx + x.size());
}

TEST(Tape, AChain) {
  Tape tape;
  const Tensor x = input(tape, {1, 2, 3});
  const Tensor loss = total(squared(times(x, 3)));
  EXPECT_EQ(*loss.data<double>(), 9 * 14);
  tape.backward(loss);
  EXPECT_EQ(gradient(tape, x), (std::vector<double>{18, 36, 54}));
}

TEST(Tape, OfARandomDy) {
  Tape tape;
  const Tensor x = input(tape, {1, 2});
  tape.backward(squared(x), input(tape, {10, -1}, false));
  EXPECT_EQ(gradient(tape, x), (std::vector<double>{20, -4}));
}

// Backward shares dy with the tape, and writes to none of its elements, whoever takes it as a gradient.
TEST(Tape, DyDoesNotChange) {
  const std::vector<double> dy = {10, -1};
  struct Case {
    Tensor (*y_of)(Tensor);
    std::vector<double> slopes;
  };
  const std::vector<Case> cases = {{[](Tensor x) { return plus(x, x); }, {20, -2}},
                                   {[](Tensor x) { return plus(times(x, 3), x); }, {40, -4}},
                                   {[](Tensor x) { return squared(plus(x, x)); }, {80, -16}},
                                   {[](Tensor x) { return x; }, dy}};
  for (const auto& [y_of, slopes] : cases) {
    Tape tape, other;
    for (Tape* const place : {&tape, &other}) {
      const Tensor x = input(tape, {1, 2}), given = input(*place, dy, false);
      tape.backward(y_of(x), given);
      EXPECT_EQ(gradient(tape, x), slopes);
      EXPECT_EQ(std::vector<double>(given.data<double>(), given.data<double>() + 2), dy);
      tape.reset();
    }
  }
}

// x_(i+1) = x_i + f x_i: every add shares one gradient between both of its operands, and times() adds to a shared one.
TEST(Tape, ResidualChainsShareAndUnshareGradients) {
  for (const int depth : {1, 2, 3, 50}) {
    Tape tape;
    const Tensor x = input(tape, {1, -2});
    Tensor h = x;
    for (int i = 0; i < depth; ++i) {
      h = plus(h, times(h, 0.125));
    }
    tape.backward(total(squared(h)));
    const double growth = std::pow(1.125, depth);
    EXPECT_NEAR(gradient(tape, x)[0], 2 * growth * growth, 1e-12 * growth * growth) << depth;
    EXPECT_NEAR(gradient(tape, x)[1], -4 * growth * growth, 1e-12 * growth * growth) << depth;
  }
}

TEST(Tape, ResidualsWithTheBranchFirstAndBranchesOfTwo) {
  Tape tape;
  const Tensor x = input(tape, {3});
  const Tensor y = plus(times(x, 2), x);                             // 3 x
  const Tensor z = plus(plus(y, squared(y)), plus(times(y, 4), y));  // y^2 + 6 y
  tape.backward(z);
  EXPECT_EQ(gradient(tape, x), (std::vector<double>{3 * (2 * 9.0 + 6)}));
}

TEST(Tape, OneTensorInBothSlots) {
  Tape tape;
  const Tensor x = input(tape, {3});
  tape.backward(plus(plus(x, x), plus(x, x)));
  EXPECT_EQ(gradient(tape, x), (std::vector<double>{4}));
}

// squared() works in dL/dy's memory: if another tensor shares it, it must work in a copy.
TEST(Tape, ReuseCopiesSharedMemory) {
  Tape tape;
  const Tensor x = input(tape, {3});
  const Tensor a = squared(x);
  const Tensor b = times(x, 5);
  tape.backward(plus(a, b));  // a's gradient is b's
  EXPECT_EQ(gradient(tape, x), (std::vector<double>{2 * 3 + 5}));
}

TEST(Tape, OpsWithoutAGradientAreNotRun) {
  Tape tape;
  const Tensor x = input(tape, {3});
  const Tensor unused = times(x, 100);
  const Tensor idle = input(tape, {1});
  tape.backward(times(x, 2));
  EXPECT_EQ(gradient(tape, x), (std::vector<double>{2}));
  EXPECT_EQ(tape.gradient<double>(idle), nullptr);
  EXPECT_TRUE(names(error_of([&] { (void)tape.gradient<double>(unused); }), {"gradient", "input"}))
      << "the gradient of a result is not kept";
}

TEST(Tape, BackwardRefusesImpossibleCalls) {
  Tape tape;
  const Tensor x = input(tape, {1, 2});
  const Tensor y = times(x, 2);
  EXPECT_TRUE(names(error_of([&] { tape.backward(y); }), {"backward", "[2]", "scalar", "dy"}));
  EXPECT_TRUE(names(error_of([&] { tape.backward(y, input(tape, {1})); }), {"backward", "dy", "f64 [1]", "f64 [2]"}));
  EXPECT_NE(error_of([&] { tape.backward(total(input(tape, {1, 2}, false))); }), "") << "nothing needs a gradient";
  Tape other;
  EXPECT_NE(error_of([&] { other.backward(total(y)); }), "") << "of another tape";
  const Tensor ids = tape.input<std::int32_t>({1}, std::vector<std::int32_t>{1});
  EXPECT_NE(error_of([&] { tape.backward(ids); }), "") << "of ids";
  tape.backward(total(y));
  EXPECT_EQ(gradient(tape, x), (std::vector<double>{2, 2})) << "and none of these calls has done any harm";
}

TEST(Tape, BackwardTwiceThrows) {
  Tape tape;
  const Tensor x = input(tape, {1, 2});
  const Tensor y = times(x, 2);
  const Tensor loss = total(y);
  tape.backward(loss);
  const auto once = gradient(tape, x);
  const std::size_t bytes = tape.gradient_bytes();
  EXPECT_TRUE(names(error_of([&] { tape.backward(loss); }), {"backward", "second time"}));
  EXPECT_TRUE(names(error_of([&] { tape.backward(y, y); }), {"backward", "second time"}));
  EXPECT_EQ(gradient(tape, x), once);
  EXPECT_EQ(tape.gradient_bytes(), bytes);
  tape.reset();
  const Tensor again = input(tape, {1, 2});
  tape.backward(total(again));
  EXPECT_EQ(gradient(tape, again), (std::vector<double>{1, 1}));
}

TEST(Tape, AScalarInputIsItsOwnDerivative) {
  Tape tape;
  const Tensor x = input(tape, {7});
  tape.backward(x);
  EXPECT_EQ(gradient(tape, x), (std::vector<double>{1}));
}

TEST(Tape, RecordingOffKeepsNothing) {
  Tape on;
  Tape off(Recording::off);
  const auto forward = [](Tape& tape) {
    const Tensor x = input(tape, std::vector<double>(100, 1.0));
    Tensor h = x;
    for (int i = 0; i < 100; ++i) {
      h = times(h, 0.5);
    }
    return h;
  };
  EXPECT_TRUE(forward(on).needs_gradient());
  const Tensor y = forward(off);
  EXPECT_FALSE(y.needs_gradient());
  EXPECT_FALSE(off.recording());
  EXPECT_LT(off.activation_bytes(), on.activation_bytes()) << "no closures";
  EXPECT_NE(error_of([&] { off.backward(total(y)); }), "");
  EXPECT_EQ(off.gradient_bytes(), 64U) << "the refused dy, given back";
}

TEST(Tape, NothingIsKeptIfNoInputNeedsAGradient) {
  Tape tape;
  bool ran = false;
  const Tensor x = input(tape, {1}, false);
  const Tensor y = tape.make({1}, DType::f64);
  bool* flag = &ran;
  tape.record({x}, {y}, [flag](Gradients&) { *flag = true; });
  EXPECT_FALSE(y.needs_gradient());
  const Tensor z = input(tape, {1});
  tape.backward(plus(times(z, 1), y));
  EXPECT_FALSE(ran);
}

TEST(Tape, InputsAreCopied) {
  Tape tape;
  std::vector<double> values = {1, 2};
  const Tensor x = input(tape, values);
  values[0] = 9;
  EXPECT_EQ(x.data<double>()[0], 1);
  EXPECT_TRUE(names(error_of([&] { tape.input<double>({3}, values); }), {"input", "2 values", "[3]", "3"}));
  EXPECT_TRUE(names(error_of([&] { (void)x.data<float>(); }), {"tensor", "f64", "f32"}));
}

TEST(Tape, BorrowedMemoryIsShownAndHasNoGradient) {
  std::vector<double> values = {1, 2, 3};
  Tape tape;
  const Tensor x = tape.borrow({3}, DType::f64, values.data());
  EXPECT_EQ(x.data<double>(), values.data()) << "no copy";
  EXPECT_EQ(x.tape(), &tape);
  EXPECT_FALSE(x.needs_gradient());
}

TEST(Tape, AGradientOfAnotherTypeIsRefused) {
  Tape tape;
  const Tensor x = input(tape, {1, 2});
  tape.backward(total(x));
  EXPECT_TRUE(names(error_of([&] { (void)tape.gradient<float>(x); }), {"gradient", "f64", "f32"}));
}

TEST(Tape, FrozenItRefusesALargerStepNamingTheOp) {
  Tape tape;
  const auto step = [&](std::size_t size) {
    const Tensor x = input(tape, std::vector<double>(size, 1.0));
    tape.backward(total(squared(times(x, 3))));
    tape.reset();
  };
  step(100000);
  tape.freeze();
  step(100000);
  step(1000);
  const std::string error = error_of([&] { step(150000); });
  EXPECT_TRUE(names(error, {"1200000", "activation arena"}));
  EXPECT_TRUE(error.starts_with("times: ") || error.starts_with("squared: ")) << error;
  tape.reset();
  step(100000);
}

TEST(Tape, ResetGivesEverythingBack) {
  Tape tape;
  const auto step = [&](bool backward) {
    const Tensor x = input(tape, std::vector<double>(5000, 1.0));
    const Tensor loss = total(plus(x, squared(times(x, 3))));
    if (backward) {
      tape.backward(loss);
    }
    tape.reset();
  };
  step(true);
  step(true);
  const auto activations = tape.activation_bytes();
  const auto gradients = tape.gradient_bytes();
  const auto requests = Pages::requests();
  for (int i = 0; i < 10; ++i) {
    step(i % 3 != 0);
  }
  EXPECT_EQ(tape.activation_bytes(), activations);
  EXPECT_EQ(tape.gradient_bytes(), gradients);
  EXPECT_EQ(Pages::requests(), requests);
}

// A closure that throws leaves its own gradients and those before it: reset() must return them.
TEST(Tape, ResetAfterAClosureThrew) {
  Tape tape;
  const auto step = [&](bool broken) {
    const Tensor x = input(tape, std::vector<double>(5000, 1.0));
    const Tensor y = tape.make(x.shape(), DType::f64);
    tape.record({x}, {y}, [=](Gradients& g) {
      g.into<double>(x);
      require(!broken, "broken");
    });
    const Tensor loss = total(times(y, 2));
    EXPECT_EQ(error_of([&] { tape.backward(loss); }), broken ? "broken" : "");
    tape.reset();
  };
  step(false);
  const auto gradients = tape.gradient_bytes();
  for (int i = 0; i < 5; ++i) {
    step(true);
  }
  step(false);
  EXPECT_EQ(tape.gradient_bytes(), gradients);
}

TEST(Tape, ATensorThatLivesUntilItIsConsumedIsFreedByItsReaderOrByReset) {
  Tape tape;
  for (int step = 0; step < 3; ++step) {
    const Tensor read = tape.make({1000}, DType::f64, Lifetime::until_consumed);
    const double* memory = read.data<double>();
    tape.release(read);
    tape.release(read);  // more readers change nothing
    const Tensor unread = tape.make({1000}, DType::f64, Lifetime::until_consumed);
    EXPECT_EQ(unread.data<double>(), memory) << "its memory is used again";
    tape.release(tape.make({1000}, DType::f64));  // in the arena: it is kept
    const std::size_t bytes = tape.gradient_bytes();
    tape.reset();
    const Tensor next = tape.make({1000}, DType::f64, Lifetime::until_consumed);
    EXPECT_EQ(tape.gradient_bytes(), bytes) << "reset returned memory that nobody had read";
    tape.release(next);
  }
}

TEST(Tape, ViewsShowTheSameElements) {
  Tape tape;
  const Tensor x = input(tape, {1, 2, 3, 4});
  tape.begin("view");
  const Tensor y = tape.view(x, {2, 2});
  EXPECT_EQ(y.data<double>(), x.data<double>());
  EXPECT_TRUE(names(error_of([&] { tape.view(x, {3}); }), {"view", "[4]", "[3]", "elements"}));
}

}  // namespace
}  // namespace dikkat
