#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops/attention.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/convolution.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "autograd/tape/tape.h"
#include "tests/support/numbers.h"

namespace dikkat::cost_test {
namespace {

/// Records the costs of an op of f32 inputs.
struct Costs : TapeObserver {
  void forward_begins() override {}
  void forward_ends(const OpRun& run) override { forward = run.cost.forward; }
  void backward_begins() override {}
  void backward_ends(const OpRun& run) override { backward = run.cost.backward; }

  Tensor input(Shape shape, bool needs_gradient = true) {
    return tape.input<float>(shape, testing::numbers(shape.size(), 1, -1, 1), needs_gradient);
  }
  void run(Tensor y) { tape.backward(y, input(y.shape(), false)); }

  Costs() { tape.observe(this); }
  Tape tape;
  Cost forward, backward;
};

TEST(Cost, OfLinear) {
  Costs costs;
  costs.run(linear(costs.input({2, 3, 5}), costs.input({7, 5}), costs.input({7})));
  EXPECT_EQ(costs.forward.flops, 2 * 6 * 5 * 7);
  EXPECT_EQ(costs.backward.flops, 2 * costs.forward.flops);
  EXPECT_EQ(costs.forward.bytes, 4 * (30 + 35 + 7 + 42));
  EXPECT_EQ(costs.backward.bytes, 4 * (42 + 30 + 35 + 7 + 30 + 35 + 7));
}

// The gradients of each chunk of rows but the last are computed in forward.
TEST(Cost, OfTheHeadIsWhereItsChunksAreComputed) {
  constexpr index kRows = 200, kWidth = 8, kClasses = 1100;
  const auto of = [](bool of_x, index at_once, index scored) {
    Costs costs;
    const std::vector<std::int32_t> targets(kRows, 3);
    const Tensor x = costs.input({kRows, kWidth}, of_x), weight = costs.input({kClasses, kWidth});
    std::vector<float> weights(kRows);
    std::fill_n(weights.begin(), scored, 1.0F);
    costs.run(linear_cross_entropy(x, weight, costs.tape.input<std::int32_t>({kRows}, targets),
                                   {.weights = costs.tape.input<float>({kRows}, weights)}, at_once));
    return std::pair(costs.forward.flops, costs.backward.flops);
  };
  constexpr double kRow = 2.0 * kWidth * kClasses;
  EXPECT_EQ(of(true, kLogitsAtOnce, kRows), std::pair(kRow * 200, 2 * kRow * 200)) << "one chunk";
  EXPECT_EQ(of(true, 1, kRows), std::pair(kRow * (200 + 2 * 192), 2 * kRow * 8)) << "chunks of 96, 96 and 8 rows";
  EXPECT_EQ(of(false, 1, kRows), std::pair(kRow * (200 + 192), kRow * 8)) << "no gradient of x";
  EXPECT_EQ(of(true, 1, 100), std::pair(kRow * (100 + 2 * 96), 2 * kRow * 4)) << "only rows that are scored";
}

TEST(Cost, CountsGradientsThatAreWanted) {
  Costs costs;
  costs.run(linear(costs.input({2, 3, 5}, false), costs.input({7, 5}), {}));
  EXPECT_EQ(costs.backward.flops, costs.forward.flops);
  EXPECT_EQ(costs.backward.bytes, 4 * (42 + 30 + 35 + 35));
}

TEST(Cost, OfMatmul) {
  for (const bool transposed : {false, true}) {
    Costs costs;
    costs.run(matmul(costs.input({2, 3, 5}), costs.input(transposed ? Shape{2, 4, 5} : Shape{2, 5, 4}), transposed));
    EXPECT_EQ(costs.forward.flops, 2 * 2 * 3 * 5 * 4);
    EXPECT_EQ(costs.backward.flops, 2 * costs.forward.flops);
  }
}

TEST(Cost, OfMatmulCountsRepeatedOperandsOnce) {
  Costs costs;
  costs.run(matmul(costs.input({7, 3, 5}), costs.input({5, 4})));
  EXPECT_EQ(costs.forward.flops, 2 * 7 * 3 * 5 * 4);
  EXPECT_EQ(costs.forward.bytes, 4 * (7 * 3 * 5 + 5 * 4 + 7 * 3 * 4));
}

TEST(Cost, OfConvolution) {
  Costs costs;
  costs.run(conv2d(costs.input({2, 6, 8, 9}), costs.input({10, 3, 3, 2}), {}, {.stride = {2, 1}, .groups = 2}));
  EXPECT_EQ(costs.forward.flops, 2 * 2 * 10 * 3 * 8 * (3 * 3 * 2));
  EXPECT_EQ(costs.backward.flops, 2 * costs.forward.flops);
}

TEST(Cost, OfAttentionCountsKeysThatAreSeen) {
  constexpr index batch = 2, time = 5, heads = 2, size = 3, width = heads * size;
  const auto flops = [&](const std::function<void(AttentionOptions&, Tape&)>& choose) {
    Costs costs;
    AttentionOptions options{.heads = heads, .head_size = size};
    choose(options, costs.tape);
    costs.run(self_attention(costs.input({batch, time, 3 * width}), options));
    EXPECT_EQ(costs.backward.flops, 2.5 * costs.forward.flops);
    return costs.forward.flops;
  };
  constexpr double per_pair = 2 * 2 * width;  // two products, all heads
  EXPECT_EQ(flops([](AttentionOptions&, Tape&) {}), per_pair * batch * 25);
  EXPECT_EQ(flops([](AttentionOptions& o, Tape&) { o.causal = true; }), per_pair * batch * 15);
  const std::vector<std::int32_t> first = {0, 0, 1, 2, 2, 5, 5, 5, 5, 5};
  const std::vector<std::int32_t> last = {5, 5, 3, 2, 1, 5, 5, 5, 5, 5};  // 5, 5, 2, none, none; none
  const auto bound = [&](AttentionOptions& o, Tape& tape) {
    o.key_begin = tape.input<std::int32_t>({batch, time}, first);
    o.key_end = tape.input<std::int32_t>({batch, time}, last);
  };
  EXPECT_EQ(flops(bound), per_pair * 12);
  EXPECT_EQ(flops([&](AttentionOptions& o, Tape& tape) {
              bound(o, tape);
              o.causal = true;
            }),
            per_pair * (1 + 2 + 2));
}

TEST(Cost, OfTheRestIsBytes) {
  Costs costs;
  costs.run(gelu(costs.input({4, 8})));
  EXPECT_EQ(costs.forward.flops, 0);
  EXPECT_EQ(costs.forward.bytes, 4 * 2 * 32);
  EXPECT_EQ(costs.backward.bytes, 4 * 3 * 32);

  costs.tape.reset();
  const std::vector<std::int32_t> tokens = {1, 99, 0};
  costs.run(embedding(costs.tape.input<std::int32_t>({1, 3}, tokens), costs.input({100, 8})));
  EXPECT_EQ(costs.forward.bytes, 4 * 2 * 3 * 8) << "three rows of the table, not all";
}

}  // namespace
}  // namespace dikkat::cost_test
