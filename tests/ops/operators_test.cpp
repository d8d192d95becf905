#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/elementwise.h"
#include "autograd/tape/tape.h"
#include "tests/support/values.h"

namespace dikkat::operators_test {
namespace {

using testing::doubles_of;
using Numbers = std::vector<double>;

TEST(Operators, NumbersMayStandOnEitherSide) {
  Tape tape;
  const Tensor x = tape.input<float>({3}, {-1.0F, 0.0F, 2.0F});
  EXPECT_EQ(doubles_of(0 < x), (Numbers{0, 0, 1}));
  EXPECT_EQ(doubles_of(0 <= x), (Numbers{0, 1, 1}));
  EXPECT_EQ(doubles_of(0 > x), (Numbers{1, 0, 0}));
  EXPECT_EQ(doubles_of(0 >= x), (Numbers{1, 1, 0}));
  EXPECT_EQ(doubles_of(x < 0), (Numbers{1, 0, 0}));
  EXPECT_EQ(doubles_of(1 - x), (Numbers{2, 1, -1}));
  EXPECT_EQ(doubles_of(6 / (x + 4)), (Numbers{2, 1.5, 1}));
}

TEST(Operators, ComparisonsCombine) {
  Tape tape;
  const Tensor x = tape.input<float>({4}, {-1.0F, 0.5F, 1.0F, 3.0F});
  EXPECT_EQ(doubles_of(x > 0 && x < 2), (Numbers{0, 1, 1, 0}));
  EXPECT_EQ(doubles_of(x < 0 || x > 2), (Numbers{1, 0, 0, 1}));
  EXPECT_EQ(doubles_of(!(x > 0)), (Numbers{1, 0, 0, 0}));
  EXPECT_EQ(doubles_of(elementwise([](auto is, auto v) { return is * v; }, x > 0, x)), (Numbers{0, 0.5, 1, 3}));
}

TEST(Operators, AssignmentsNameTheResult) {
  Tape tape;
  const Tensor x = tape.input<float>({2}, {1.0F, 2.0F});
  Tensor y = x;
  y += 1;
  y *= 4;
  y -= 2;
  y /= 2;
  EXPECT_EQ(doubles_of(y), (Numbers{3, 5}));
  EXPECT_EQ(doubles_of(x), (Numbers{1, 2}));
}

TEST(Where, TakesNumbers) {
  Tape tape;
  const Tensor x = tape.input<float>({3}, {-1.0F, 0.5F, 2.0F}, true);
  EXPECT_EQ(doubles_of(where(x > 0, 7, x)), (Numbers{-1, 7, 7}));
  const Tensor y = where(x > 0, x, -3);
  EXPECT_EQ(doubles_of(y), (Numbers{-3, 0.5, 2}));
  tape.backward(y, tape.input<float>({3}, {5.0F, 6.0F, 7.0F}));
  EXPECT_EQ(Numbers(tape.gradient<float>(x), tape.gradient<float>(x) + 3), (Numbers{0, 6, 7}));
}

}  // namespace
}  // namespace dikkat::operators_test
