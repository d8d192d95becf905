#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/activation.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/indexing.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "autograd/tape/parameters.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/values.h"

// Ops on parts of a step's batch give the parts of the result of the whole batch.
namespace dikkat {
namespace {

using testing::numbers;
using testing::same_bits;
using testing::values_of;

TEST(Parts, DropoutOfTheWholeIsThatOfItsParts) {
  const RandomStream stream(1, "here", 2);
  for (const index cut : {0, 1, 2, 5, 8, 13, 20}) {  // in rows of 7: a draw of four words is cut anywhere
    Tape tape;
    const Tensor x = tape.input<float>({20, 7}, numbers(140, 1));
    const Tensor whole = dropout(x, 0.3, stream, 100);
    const Tensor parts[] = {dropout(slice(x, 0, 0, cut), 0.3, stream, 100),
                            dropout(slice(x, 0, cut, 20 - cut), 0.3, stream, 100 + 7 * cut)};
    EXPECT_TRUE(same_bits(values_of<float>(concat(std::span<const Tensor>(parts), 0)), values_of<float>(whole))) << cut;
  }
}

TEST(Parts, DropoutOfProbabilityZeroIsItsArgument) {
  Tape tape;
  const Tensor x = tape.input<float>({5}, numbers(5, 1));
  EXPECT_EQ(dropout(x, 0, RandomStream(1, "here", 2)), x);
}

// With the whole step's normalizer, losses and gradients of micro-batches add up to the batch's.
TEST(Parts, LossesOfMicroBatchesAddUp) {
  const auto logits = numbers(12 * 9, 1, -3, 3);
  const std::vector<std::int32_t> targets = {0, 8, 3, 3, 1, 7, 5, 5, 2, 4, 6, 0};
  const std::vector<float> weights = {1, 0, 1, 0.5F, 1, 1, 0, 0, 0, 1, 2, 1};
  const auto run = [&](index first, index rows) {
    Tape tape;
    const Tensor x = tape.input<float>(
        {rows, 9}, std::span(logits).subspan(static_cast<std::size_t>(first * 9), static_cast<std::size_t>(rows * 9)), true);
    const auto at = static_cast<std::size_t>(first);
    const auto n = static_cast<std::size_t>(rows);
    const Tensor loss = cross_entropy(x, tape.input<std::int32_t>({rows}, std::span(targets).subspan(at, n)),
                                      {.weights = tape.input<float>({rows}, std::span(weights).subspan(at, n)), .normalizer = 8.5});
    const float value = *loss.data<float>();
    tape.backward(loss);
    const float* dx = tape.gradient<float>(x);
    return std::pair(value, std::vector<float>(dx, dx + x.size()));
  };
  const auto [whole, dx] = run(0, 12);
  float added = 0;
  std::vector<float> beside;
  for (const auto& [first, rows] : {std::pair<index, index>{0, 5}, {5, 4}, {9, 3}}) {
    const auto part = run(first, rows);
    added += part.first;
    beside.insert(beside.end(), part.second.begin(), part.second.end());
  }
  EXPECT_FLOAT_EQ(added, whole);
  EXPECT_TRUE(same_bits(beside, dx)) << "rows do not affect each other";
}

// A mixture of experts sends each token to one of them. An expert may get none.
TEST(Parts, AnExpertWithoutTokensHasAGradientOfZeros) {
  ParameterStore store;
  const Parameter weights[] = {store.add("0", {4, 4}, Init::normal(1), Decay::yes, Role::hidden),
                               store.add("1", {4, 4}, Init::normal(1), Decay::yes, Role::hidden)};
  const Parameter up = store.add("up", {4, 4}, Init::normal(1), Decay::yes, Role::hidden);
  store.allocate(1);
  const std::vector<std::vector<std::int32_t>> tokens = {{2, 0, 1}, {}};
  for (const int threads : {1, 2, 7}) {
    const WithThreads with(threads, Work{0});
    store.clear_gradients();
    Tape tape;
    const Tensor x = tape.input<float>({3, 4}, numbers(12, 1), true);
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor own = index_select(x, 0, tape.input<std::int32_t>({std::ssize(tokens[i])}, tokens[i]));
      results.push_back(activated_linear({Activation::gelu, false}, linear(own, up), weights[i]));
    }
    const Tensor y = concat(results, 0);
    EXPECT_EQ(y.shape(), (Shape{3, 4}));
    tape.backward(sum(y * y));
    const auto gradient_of = [&](Tensor of) {
      const float* gradient = tape.gradient<float>(of);
      return std::vector<float>(gradient, gradient + of.size());
    };
    EXPECT_EQ(gradient_of(weights[1]), std::vector<float>(16, 0.0F)) << threads;
    EXPECT_NE(gradient_of(weights[0]), std::vector<float>(16, 0.0F)) << threads;
    for (const float number : gradient_of(x)) {
      EXPECT_TRUE(std::isfinite(number));
    }
  }
}

}  // namespace
}  // namespace dikkat
