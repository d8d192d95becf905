#include "autograd/tape/gradient_check.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/tape/own_ops.h"

namespace dikkat {
namespace {

const std::vector<CheckedOperand> kOperands = {{Shape{3}, {1, -2, 0.5}}, {Shape{3}, {3, 0.25, -1}}};

TEST(GradientCheck, FindsARightOpRight) {
  const auto f = [](Tape&, std::span<const Tensor> x) { return testing::plus(testing::squared(x[0]), testing::times(x[1], 3)); };
  EXPECT_LT(gradient_error(f, kOperands), 1e-8);
  const auto dy = gradient_check_dy(3);
  EXPECT_NEAR(numeric_gradients(f, kOperands)[0][1], dy[1] * 2 * -2, 1e-9);
  EXPECT_DOUBLE_EQ(backward_gradients(f, kOperands)[1][2], dy[2] * 3);
}

/// 3 x, with a backward pass that computes the gradient of `slope` x.
Tensor wrong(Tensor x, double slope) {
  Tape& tape = *x.tape();
  tape.begin("wrong");
  const Tensor y = tape.make(x.shape(), DType::f64);
  for (index i = 0; i < x.size(); ++i) {
    y.mutable_data<double>()[i] = 3 * x.data<double>()[i];
  }
  tape.record({x}, {y}, [=](Gradients& g) {
    if (const auto dx = g.into<double>(x)) {
      for (index i = 0; i < x.size(); ++i) {
        dx.put(i, slope * g.of<double>(y)[i]);
      }
    }
  });
  return y;
}

TEST(GradientCheck, FindsAWrongOneWrong) {
  const auto error = [](double slope) {
    return gradient_error([=](Tape&, std::span<const Tensor> x) { return testing::plus(x[0], wrong(x[1], slope)); }, kOperands);
  };
  EXPECT_LT(error(3), 1e-8);
  EXPECT_NEAR(error(3.3), 0.1, 1e-6);
  EXPECT_NEAR(error(0), 1, 1e-6);
  EXPECT_TRUE(std::isinf(error(std::nan(""))));
}

TEST(GradientCheck, ComparesTheGradientsOfParameters) {
  ParameterStore store(DType::f64);
  const Parameter a = store.add("a", {3}, Init::normal(1), Decay::no, Role::vector);
  const Parameter b = store.add("b", {3}, Init::normal(1), Decay::no, Role::vector);
  store.allocate(1);
  const std::vector<double> before(store.weights<double>(), store.weights<double>() + store.slab_size());
  const auto error = [&](double slope) {
    return gradient_error(store, [&](Tape& tape) { return testing::plus(testing::squared(tape.use(a)), wrong(tape.use(b), slope)); });
  };
  EXPECT_LT(error(3), 1e-8);
  EXPECT_NEAR(error(3.3), 0.1, 1e-6) << "gradients of an earlier check do not count";
  EXPECT_EQ(before, std::vector<double>(store.weights<double>(), store.weights<double>() + store.slab_size()));
}

}  // namespace
}  // namespace dikkat
