#include "autograd/ops/matmul.h"

#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "autograd/ops/arrange.h"
#include "autograd/ops/linear.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"
#include "tests/support/values.h"

namespace dikkat::matmul_test {
namespace {

using testing::error_of;
using testing::names;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;
using testing::values_of;

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
  const std::size_t least = 90 * 16 * sizeof(float);  // of a panel of b, which has 16 columns or more, depending on the processor
  EXPECT_GE(dry.scratch_bytes(1), least);
  EXPECT_GE(dry.scratch_bytes(3), dry.scratch_bytes(1) + 2 * least) << "each thread packs a panel of b";
}

Tensor input(Tape& tape, Shape shape, std::uint64_t seed) { return tape.input<float>(shape, numbers(shape.size(), seed), true); }

TEST(Matmul, OfABatchAndOneMatrixHasTheBitsOfOneProduct) {
  for (const bool transpose_b : {false, true}) {
    Tape tape;
    const Tensor a = input(tape, {3, 5, 20, 90}, 1), b = input(tape, transpose_b ? Shape{80, 90} : Shape{90, 80}, 2);
    const Tensor one = matmul(reshape(a, {300, 90}), b, transpose_b);
    const Tensor batch = matmul(a, b, transpose_b);
    EXPECT_EQ(batch.shape(), (Shape{3, 5, 20, 80}));
    EXPECT_TRUE(same_bits(values_of<float>(batch), values_of<float>(one)));
  }
}

// The results and gradients are those of operands that were repeated in memory.
TEST(Matmul, BroadcastsLeadingAxes) {
  struct Pair {
    Shape a, b, leading;
  };
  for (const Pair& p : {Pair{{4, 1, 20, 33}, {3, 33, 17}, {4, 3}}, Pair{{20, 33}, {6, 2, 33, 17}, {6, 2}},
                        Pair{{2, 1, 2, 1, 1, 1, 5, 7}, {2, 1, 1, 3, 7, 4}, {2, 1, 2, 1, 1, 3}}, Pair{{1, 20, 33}, {9, 33, 17}, {9}}}) {
    SCOPED_TRACE(concat(p.a, " times ", p.b));
    const auto whole = [&](const Shape& operand) {
      std::vector<index> extents(p.leading.extents().begin(), p.leading.extents().end());
      extents.insert(extents.end(), {operand[-2], operand[-1]});
      return Shape(extents);
    };
    const auto run = [&](bool repeats) {
      Tape tape;
      const Tensor a = input(tape, p.a, 1), b = input(tape, p.b, 2);
      const Tensor y = repeats ? matmul(broadcast_to(a, whole(p.a)), broadcast_to(b, whole(p.b))) : matmul(a, b);
      tape.backward(y, tape.input<float>(y.shape(), numbers(y.size(), 3)));
      const std::vector<float> da(tape.gradient<float>(a), tape.gradient<float>(a) + a.size());
      const std::vector<float> db(tape.gradient<float>(b), tape.gradient<float>(b) + b.size());
      return std::array{values_of<float>(y), da, db};
    };
    const auto found = run(false), expected = run(true);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_LE(relative_error(found[i], expected[i]), 2e-6) << i;
    }
  }
}

TEST(Matmul, OfVectorsLacksTheirAxes) {
  Tape tape;
  const Tensor vector = input(tape, {5}, 1), matrix = input(tape, {4, 5}, 2), batch = input(tape, {2, 3, 5, 6}, 3);
  EXPECT_EQ(matmul(vector, vector).shape(), Shape{});
  EXPECT_EQ(matmul(matrix, vector).shape(), Shape{4});
  EXPECT_EQ(matmul(vector, matrix, true).shape(), Shape{4});
  EXPECT_EQ(matmul(vector, batch).shape(), (Shape{2, 3, 6}));
  EXPECT_EQ(matmul(transpose(batch), vector).shape(), (Shape{2, 3, 6}));
}

TEST(Matmul, OfNothing) {
  Tape tape;
  EXPECT_EQ(matmul(input(tape, {0, 3, 4}, 1), input(tape, {4, 5}, 2)).shape(), (Shape{0, 3, 5}));
  const Tensor a = input(tape, {3, 0}, 1), b = input(tape, {2, 0, 5}, 2);
  const Tensor zeros = matmul(a, b);
  EXPECT_EQ(values_of<float>(zeros), std::vector<float>(30));
  // The gradient of an operand that repeats zero times is zero.
  const Tensor c = input(tape, {3, 4}, 3);
  const Tensor y = matmul(c, input(tape, {0, 4, 5}, 4));
  tape.backward(y, tape.input<float>({0, 3, 5}, std::vector<float>()));
  ASSERT_NE(tape.gradient<float>(c), nullptr);
  EXPECT_EQ(std::vector<float>(tape.gradient<float>(c), tape.gradient<float>(c) + 12), std::vector<float>(12));
}

TEST(Matmul, ErrorsNameTheShapes) {
  Tape tape;
  EXPECT_TRUE(names(error_of([&] { matmul(input(tape, {2, 3, 4}, 1), input(tape, {5, 4, 6}, 2)); }), {"[2, 3, 4]", "[5, 4, 6]"}));
}

// A batch of small products costs no thread's wake-up.
TEST(Matmul, OfSmallMatricesRunsOnlyOnTheCaller) {
  const WithThreads two(2);
  const auto before = parallel_loops();
  Tape tape;
  const Tensor a = input(tape, {64, 16, 16}, 1), b = input(tape, {64, 16, 16}, 2), one = input(tape, {16, 16}, 3);
  const Tensor y = matmul(matmul(one, matmul(a, b, true)), one);
  tape.backward(y, tape.input<float>({64, 16, 16}, numbers(64 * 16 * 16, 4)));
  EXPECT_EQ(parallel_loops(), before);
}

}  // namespace
}  // namespace dikkat::matmul_test
