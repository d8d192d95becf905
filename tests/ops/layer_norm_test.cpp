#include "autograd/ops/layer_norm.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"

namespace dikkat::layer_norm_test {
namespace {

using testing::numbers;
using testing::same_bits;

constexpr Shape kShape{9, 130};

std::vector<float> values_of(const float* data) { return {data, data + kShape.size()}; }

/// Operands of add_layer_norm on a new tape, and one call of it.
struct Call {
  explicit Call(double probability) : options{.probability = probability, .stream = RandomStream(1, "here", 2), .first = 3} {}

  Tape tape;
  DropoutOptions options;
  Tensor residual = tape.input<float>(kShape, numbers(kShape.size(), 1), true);
  Tensor branch = tape.input<float>(kShape, numbers(kShape.size(), 2), true);
  Tensor gamma = tape.input<float>({130}, numbers(130, 3), true);
  Tensor beta = tape.input<float>({130}, numbers(130, 4), true);
  SumAndNorm made = add_layer_norm(residual, branch, gamma, beta, options);
};

TEST(AddLayerNorm, HasTheBitsOfItsParts) {
  for (const double probability : {0.0, 0.3}) {
    Call call(probability);
    const Tensor sum = add(call.residual, dropout(call.branch, call.options));
    EXPECT_TRUE(same_bits(values_of(call.made.sum.data<float>()), values_of(sum.data<float>()))) << probability;
    const Tensor norm = layer_norm(sum, call.gamma, call.beta);
    EXPECT_TRUE(same_bits(values_of(call.made.norm.data<float>()), values_of(norm.data<float>()))) << probability;
  }
}

// The mean of the sum, which is not near 0 here, is not subtracted.
TEST(AddRmsNorm, HasTheBitsOfItsParts) {
  for (const double probability : {0.0, 0.3}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const DropoutOptions options{.probability = probability, .stream = RandomStream(1, "here", 2), .first = 3};
      Tape tape;
      const Tensor residual = tape.input<float>(kShape, numbers(kShape.size(), 1, 0, 3), true);
      const Tensor branch = tape.input<float>(kShape, numbers(kShape.size(), 2), true);
      const Tensor gamma = tape.input<float>({130}, numbers(130, 3), true);
      const Tensor sum = add(residual, dropout(branch, options));
      const Tensor norm = cast(rms_norm(sum, gamma, {.dtype = dtype}), DType::f32);
      const SumAndNorm made = add_rms_norm(residual, branch, gamma, options, {.dtype = dtype});
      const Tensor found = cast(made.norm, DType::f32);
      EXPECT_TRUE(same_bits(values_of(made.sum.data<float>()), values_of(sum.data<float>()))) << probability;
      EXPECT_TRUE(same_bits(values_of(found.data<float>()), values_of(norm.data<float>()))) << probability;
    }
  }
}

TEST(AddLayerNorm, PassesTheSumsGradientOnIfNobodyReadsTheNorm) {
  for (const double probability : {0.0, 0.3}) {
    Call call(probability);
    const auto dy = numbers(kShape.size(), 5);
    call.tape.backward(call.made.sum, call.tape.input<float>(kShape, dy));
    EXPECT_TRUE(same_bits(values_of(call.tape.gradient<float>(call.residual)), dy));
    Tape other;
    const Tensor dropped = dropout(other.input<float>(kShape, dy), call.options);
    EXPECT_TRUE(same_bits(values_of(call.tape.gradient<float>(call.branch)), values_of(dropped.data<float>())));
    EXPECT_EQ(call.tape.gradient<float>(call.gamma), nullptr);
    EXPECT_EQ(call.tape.gradient<float>(call.beta), nullptr);
  }
}

// Only add_layer_norm reads the end of a branch.
TEST(AddLayerNorm, FreesABranchThatLivesUntilItIsConsumed) {
  const auto ends_of = [](Lifetime lifetime) {
    Tape tape;
    const Tensor x = tape.input<float>({9, 20}, numbers(180, 6), true);
    const Tensor weight = tape.input<float>({130, 20}, numbers(2600, 7), true);
    const Tensor gamma = tape.input<float>({130}, numbers(130, 3));
    Tensor sum = tape.input<float>(kShape, numbers(kShape.size(), 1));
    const std::size_t before = tape.gradient_bytes();
    for (int branch = 0; branch < 3; ++branch) {
      const Tensor end = linear(x, weight, {}, {.lifetime = lifetime});
      const SumAndNorm made = add_layer_norm(sum, end, gamma);
      sum = made.sum;
      if (lifetime == Lifetime::until_consumed) {
        EXPECT_TRUE(
            testing::names(testing::error_of([&] { dropout(end, {.probability = 0.5}); }), {"dropout", "Lifetime::until_consumed"}));
      }
    }
    EXPECT_LE(tape.gradient_bytes() - before, 2 * static_cast<std::size_t>(kShape.size()) * sizeof(float)) << "all use one buffer";
    tape.backward(sum, tape.input<float>(kShape, numbers(kShape.size(), 8)));
    const float* dx = tape.gradient<float>(x);
    return std::pair{values_of(sum.data<float>()), std::vector<float>(dx, dx + x.size())};
  };
  const auto usual = ends_of(Lifetime::until_reset);
  const auto freed = ends_of(Lifetime::until_consumed);
  EXPECT_TRUE(same_bits(freed.first, usual.first));
  EXPECT_TRUE(same_bits(freed.second, usual.second));
}

}  // namespace
}  // namespace dikkat::layer_norm_test
