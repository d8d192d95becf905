#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "autograd/ops/linear.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat {
namespace {

using testing::numbers;
using testing::same_bits;

constexpr Shape kA{3, 100, 90}, kB{3, 90, 80}, kY{3, 100, 80};

struct Batch {
  Tape tape;
  Tensor a = tape.input<float>(kA, numbers(kA.size(), 1), true);
  Tensor b = tape.input<float>(kB, numbers(kB.size(), 2), true);
  Tensor y = matmul(a, b);

  std::vector<float> results() {
    tape.backward(y, tape.input<float>(kY, numbers(kY.size(), 3)));
    std::vector<float> all(y.data<float>(), y.data<float>() + y.size());
    for (const Tensor x : {a, b}) {
      all.insert(all.end(), tape.gradient<float>(x), tape.gradient<float>(x) + x.size());
    }
    return all;
  }
};

TEST(Matmul, OfABatchHasTheSameBitsOnAnyNumberOfThreads) {
  const auto on = [](int threads) {
    const WithThreads with(threads);
    return Batch().results();
  };
  const auto alone = on(1);
  for (const int threads : {2, 3, 4}) {  // at 4 there are fewer products than threads
    EXPECT_TRUE(same_bits(on(threads), alone)) << threads << " threads";
  }
}

TEST(Matmul, OfABatchReportsItsScratchMemoryToADryRun) {
  const WithThreads with(3);
  const DryRun dry;
  Batch().results();
  EXPECT_GT(dry.scratch_bytes(3), 2 * 90 * 48 * sizeof(float)) << "each thread packs a panel of b";
}

}  // namespace
}  // namespace dikkat
