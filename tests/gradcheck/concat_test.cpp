#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops/basic.h"
#include "autograd/tape/tape.h"
#include "tests/support/numbers.h"

namespace dikkat {
namespace {

using testing::numbers;

std::vector<float> values_of(const float* x, index n) { return {x, x + n}; }

// There are as many parts as a recurrence has steps.
TEST(Concat, OfAThousandPartsIsTheirValuesInOrder) {
  constexpr index kParts = 1000, kRows = 3;
  const auto x = numbers(kRows * kParts, 1);
  const auto dy = numbers(kRows * kParts, 2);
  Tape tape;
  const Tensor whole = tape.input<float>({kRows, kParts}, x, true);
  std::vector<Tensor> columns;
  for (index i = 0; i < kParts; ++i) {
    columns.push_back(slice(whole, 1, i, 1));
  }
  const Tensor y = concat(columns, 1);
  EXPECT_EQ(y.shape(), (Shape{kRows, kParts}));
  EXPECT_EQ(values_of(y.data<float>(), y.size()), x);
  tape.backward(y, tape.input<float>({kRows, kParts}, dy));
  EXPECT_EQ(values_of(tape.gradient<float>(whole), whole.size()), dy);
}

// The other concat() makes texts of anything printable.
TEST(Concat, OfAnyRangeOfTensorsIsTheOp) {
  Tape tape;
  const Tensor x = tape.input<float>({2}, std::vector<float>{1, 2});
  const std::vector<Tensor> list = {x, x};
  const Tensor array[] = {x, x, x};
  EXPECT_EQ(concat(list, 0).shape(), Shape{4});
  EXPECT_EQ(concat(array, 0).shape(), Shape{6});
  EXPECT_EQ(concat(x.shape(), ' ', 0), "[2] 0");
}

}  // namespace
}  // namespace dikkat
