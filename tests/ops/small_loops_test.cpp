#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "autograd/tape/tape.h"
#include "tests/support/numbers.h"

namespace dikkat::small_loops_test {
namespace {

/// The number of loops that one step of a net with one hidden layer runs on several threads.
std::int64_t loops_of_a_step(index batch, index width) {
  const auto tensor = [](Tape& tape, Shape shape) { return tape.input<float>(shape, testing::numbers(shape.size(), 1), true); };
  const std::vector<std::int32_t> targets(static_cast<std::size_t>(batch), 3);
  const auto before = parallel_loops();
  Tape tape;
  const Tensor x = tensor(tape, {batch, width});
  const Tensor hidden = gelu(linear(x, tensor(tape, {width, width}), tensor(tape, {width})));
  const Tensor logits = linear(hidden, tensor(tape, {width, width}), tensor(tape, {width}));
  tape.backward(cross_entropy(logits, tape.input<std::int32_t>({batch}, targets)));
  return parallel_loops() - before;
}

// Waking threads for a loop of some microseconds takes longer than the loop, and very much longer if others use the cores.
TEST(SmallLoops, OfASmallNetRunOnlyOnTheCaller) {
  const WithThreads two(2);
  EXPECT_EQ(loops_of_a_step(128, 32), 0);
  EXPECT_GT(loops_of_a_step(1024, 256), 0);
}

}  // namespace
}  // namespace dikkat::small_loops_test
