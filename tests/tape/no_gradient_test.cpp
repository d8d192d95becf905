#include "autograd/tape/no_gradient.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/tape/parameters.h"
#include "autograd/tape/recompute.h"
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

using Values = std::vector<double>;

Tensor operand(Tape& tape, const Values& values, bool needs_gradient = true) {
  return tape.input<double>({static_cast<index>(values.size())}, values, needs_gradient);
}
Values gradient_of(Tape& tape, Tensor x) {
  const double* dx = tape.gradient<double>(x);
  return dx == nullptr ? Values{} : Values(dx, dx + x.size());
}

TEST(Detach, ShowsTheSameMemoryAndTakesNoGradient) {
  Tape tape;
  const Tensor x = operand(tape, {1, 2}), y = times(x, 3), constant = detach(y);
  EXPECT_EQ(constant.data<double>(), y.data<double>()) << "no copy";
  EXPECT_EQ(constant.tape(), &tape);
  EXPECT_FALSE(constant.needs_gradient());
  EXPECT_TRUE(y.needs_gradient());
  EXPECT_EQ(detach(constant), constant);
  tape.backward(total(plus(squared(y), times(constant, 100))));
  EXPECT_EQ(gradient_of(tape, x), (Values{2 * 9, 2 * 9 * 2}));
}

TEST(Detach, WhatDependsOnlyOnItHasNoDerivative) {
  Tape tape;
  const Tensor x = operand(tape, {2});
  const Tensor y = squared(detach(times(x, 3)));
  EXPECT_FALSE(y.needs_gradient());
  EXPECT_TRUE(names(error_of([&] { tape.backward(y); }), {"backward", "gradient"}));
}

TEST(Detach, OfWhatItCannotShow) {
  ParameterStore store(DType::f64);
  const Parameter p = store.add("p", {2}, Init::ones(), Decay::no, Role::vector);
  store.allocate(1);
  EXPECT_TRUE(names(error_of([&] { detach(p); }), {"detach", "[2]", "tape.use"}));
  Tape tape;
  const Tensor constant = detach(tape.use(p));
  EXPECT_FALSE(constant.needs_gradient());
  EXPECT_EQ(constant.data<double>(), Tensor(p).data<double>());
  const Tensor passing = tape.make({2}, DType::f64, Lifetime::until_consumed);
  EXPECT_TRUE(names(error_of([&] { detach(passing); }), {"detach", "until_consumed"}));
}

TEST(NoGradient, ResultsNeedNone) {
  Tape tape;
  const Tensor x = operand(tape, {1, 2});
  Tensor inside;
  {
    const NoGradient guard(tape);
    EXPECT_FALSE(tape.recording());
    inside = times(squared(x), 10);
    EXPECT_FALSE(inside.needs_gradient());
    EXPECT_FALSE(operand(tape, {1, 2}).needs_gradient()) << "a new input";
    EXPECT_TRUE(x.needs_gradient()) << "an earlier one keeps its own";
  }
  EXPECT_TRUE(tape.recording());
  EXPECT_EQ(inside.data<double>()[1], 40);
  tape.backward(total(plus(squared(x), inside)));
  EXPECT_EQ(gradient_of(tape, x), (Values{2, 4})) << "the gradient of x^2 only";
}

TEST(NoGradient, KeepsNoClosures) {
  const auto bytes_of = [](bool guarded) {
    Tape tape;
    const Tensor x = operand(tape, {1});
    const auto run = [&] {
      Tensor y = x;
      for (int i = 0; i < 1000; ++i) {
        y = times(y, 1);
      }
    };
    if (guarded) {
      const NoGradient guard(tape);
      run();
    } else {
      run();
    }
    return tape.activation_bytes();
  };
  EXPECT_LT(bytes_of(true), bytes_of(false));
}

TEST(NoGradient, Nests) {
  Tape tape, other;
  const Tensor x = operand(tape, {3}), z = operand(other, {3});
  {
    const NoGradient outer(tape);
    {
      const NoGradient inner(tape);
      EXPECT_FALSE(times(x, 2).needs_gradient());
    }
    EXPECT_FALSE(times(x, 2).needs_gradient());
    EXPECT_TRUE(times(z, 2).needs_gradient()) << "another tape records";
  }
  EXPECT_TRUE(times(x, 2).needs_gradient());
  Tape off(Recording::off);
  {
    const NoGradient guard(off);
  }
  EXPECT_FALSE(off.recording());
}

TEST(NoGradient, EndsWhenAnOpThrows) {
  Tape tape;
  EXPECT_NE(error_of([&] {
              const NoGradient guard(tape);
              tape.view(operand(tape, {1, 2}), {3});
            }),
            "");
  EXPECT_TRUE(tape.recording());
}

TEST(NoGradient, BackwardMayRunWithinIt) {
  Tape tape;
  const Tensor x = operand(tape, {3});
  const Tensor y = squared(x);
  const NoGradient guard(tape);
  tape.backward(y);
  EXPECT_EQ(gradient_of(tape, x), Values{6});
}

/// p * x for each element; p has one.
Tensor weighted(Tensor p, Tensor x) {
  Tape& tape = *x.tape();
  tape.begin("weighted");
  const Tensor y = tape.make(x.shape(), DType::f64);
  for (index i = 0; i < x.size(); ++i) {
    y.mutable_data<double>()[i] = *p.data<double>() * x.data<double>()[i];
  }
  tape.record({p, x}, {y}, [=](Gradients& g) {
    const double* dy = g.of<double>(y);
    double dp = 0;
    for (index i = 0; i < x.size(); ++i) {
      dp += dy[i] * x.data<double>()[i];
    }
    if (const auto to = g.into<double>(p)) {
      to.put(0, dp);
    }
    if (const auto dx = g.into<double>(x)) {
      for (index i = 0; i < x.size(); ++i) {
        dx.put(i, *p.data<double>() * dy[i]);
      }
    }
  });
  return y;
}

/// Counts how often each gradient is complete, and keeps its value at that time.
struct Watcher : GradientWatcher {
  void gradient_complete(ParameterGradient& gradient) override {
    complete[&gradient] += 1;
    value[&gradient] = *static_cast<double*>(gradient.data);
  }
  std::map<const ParameterGradient*, int> complete;
  std::map<const ParameterGradient*, double> value;
};

/// Two parameters, which are 3.
struct Model {
  ParameterStore store{DType::f64};
  Parameter p, other;
  Model() {
    p = store.add("p", {1}, Init::ones(), Decay::no, Role::vector);
    other = store.add("other", {1}, Init::ones(), Decay::no, Role::vector);
    store.allocate(1);
    *Tensor(p).mutable_data<double>() = 3;
    *Tensor(other).mutable_data<double>() = 3;
  }
  ParameterGradient& gradient(const char* path) { return store.entry(path).gradient; }
};

// A use without gradient has no node, so a gradient must not wait for it.
TEST(NoGradient, UsesOfParametersAreNotCounted) {
  Model model;
  Watcher watcher;
  Tape tape;
  tape.watch_gradients(&watcher);
  for (int step = 1; step <= 3; ++step) {
    const Tensor x = operand(tape, {1, 2}, false);
    Tensor target, kept;
    {
      const NoGradient guard(tape);
      target = weighted(model.p, weighted(tape.use(model.p), x));
      kept = tape.use(model.p);
      weighted(model.other, x);
    }
    // Later ops read what was made within the guard, with and without a gradient of their own.
    weighted(kept, x);
    weighted(detach(tape.use(model.p)), x);
    const Tensor y = plus(weighted(kept, weighted(model.p, x)), target);
    tape.backward(total(y));
    EXPECT_EQ(watcher.complete[&model.gradient("p")], step);
    EXPECT_EQ(watcher.value[&model.gradient("p")], 3.0 * (1 + 2)) << "only the recorded use has a derivative";
    EXPECT_EQ(model.gradient("p").uses, 0);
    EXPECT_EQ(model.gradient("other").uses, 0);
    EXPECT_FALSE(model.gradient("other").written);
    tape.reset();
    model.store.clear_gradients();
  }
  EXPECT_EQ(watcher.complete[&model.gradient("other")], 0);
}

// The part runs twice: first without recording, when uses are counted, then in backward.
TEST(NoGradient, WithinRecomputeAndAroundIt) {
  Model model;
  Watcher watcher;
  Tape tape;
  tape.watch_gradients(&watcher);
  const Tensor p = model.p;
  const auto part = [p](Tape& inner, const std::array<Tensor, 1>& in) {
    Tensor constant;
    {
      const NoGradient guard(inner);
      constant = weighted(p, weighted(inner.use(p), in[0]));
    }
    return std::array{plus(weighted(p, in[0]), constant)};
  };
  const Tensor x = operand(tape, {1, 2});
  Tensor target;
  {
    const NoGradient guard(tape);
    target = recompute<1>(tape, std::array{x}, part)[0];
    EXPECT_FALSE(target.needs_gradient());
  }
  const Tensor y = recompute<1>(tape, std::array{x}, part)[0];
  EXPECT_EQ(y.data<double>()[1], (3 + 9) * 2);
  EXPECT_EQ(target.data<double>()[1], (3 + 9) * 2);
  tape.backward(total(plus(y, target)));
  EXPECT_EQ(gradient_of(tape, x), (Values{3, 3}));
  EXPECT_EQ(watcher.complete[&model.gradient("p")], 1);
  EXPECT_EQ(watcher.value[&model.gradient("p")], 3);
  EXPECT_EQ(model.gradient("p").uses, 0);
}

TEST(GradientsOfGradients, AreRefused) {
  Tape tape;
  const Tensor x = operand(tape, {3});
  tape.backward(squared(x));
  // A tensor that is made of a gradient is a constant.
  const Tensor dx = tape.borrow({1}, DType::f64, tape.gradient<double>(x));
  EXPECT_EQ(*dx.data<double>(), 6);
  EXPECT_FALSE(squared(dx).needs_gradient());
  EXPECT_TRUE(names(error_of([&] { tape.backward(squared(dx)); }), {"backward", "second time", "derivatives of gradients"}));
  EXPECT_TRUE(names(error_of([&] { tape.backward(plus(squared(x), dx)); }), {"backward", "second time", "derivatives of gradients"}));
  Tape another;
  EXPECT_TRUE(names(error_of([&] { another.backward(another.input<double>({1}, Values{6})); }), {"backward", "depends on nothing"}));
}

/// x^2, whose backward closure is written with ops on the tape.
Tensor squared_by_ops(Tensor x, bool with_guard) {
  Tape& tape = *x.tape();
  tape.begin("squared_by_ops");
  const Tensor y = tape.make(x.shape(), DType::f64);
  for (index i = 0; i < x.size(); ++i) {
    y.mutable_data<double>()[i] = x.data<double>()[i] * x.data<double>()[i];
  }
  tape.record({x}, {y}, [=, to = &tape](Gradients& g) {
    const double* dy = g.of<double>(y);
    const auto two_x = [&] {
      const NoGradient guard(*to);
      return times(x, 2);
    };
    const Tensor slope = with_guard ? two_x() : times(x, 2);
    if (const auto dx = g.into<double>(x)) {
      for (index i = 0; i < x.size(); ++i) {
        dx.put(i, slope.data<double>()[i] * dy[i]);
      }
    }
  });
  return y;
}

TEST(GradientsOfGradients, AClosureThatRecordsIsRefused) {
  Tape tape;
  const Tensor x = operand(tape, {3, 5});
  const Tensor y = total(squared_by_ops(times(x, 1), false));
  EXPECT_TRUE(names(error_of([&] { tape.backward(y); }), {"times", "backward closure", "NoGradient"}));
  tape.reset();
  const Tensor again = operand(tape, {3, 5});
  tape.backward(total(squared_by_ops(times(again, 1), true)));
  EXPECT_EQ(gradient_of(tape, again), (Values{6, 10}));
  const Tensor later = times(again, 2);  // ops after backward are not those of a closure
  EXPECT_EQ(later.data<double>()[1], 10);
}

}  // namespace
}  // namespace dikkat
