#include "autograd/ops/layer_norm.h"

#include <vector>

#include <gtest/gtest.h>

#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat {
namespace {

using testing::numbers;
using testing::same_bits;

constexpr Shape kShape{9, 130};

std::vector<float> values_of(const float* data) { return {data, data + kShape.size()}; }

/// Operands of add_layer_norm on a tape of their own, and one call of it.
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

TEST(AddLayerNorm, WhoseNormNobodyReadsPassesTheSumsGradientOn) {
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

}  // namespace
}  // namespace dikkat
