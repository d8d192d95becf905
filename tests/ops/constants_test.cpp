#include "autograd/ops/constants.h"

#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/arrange.h"
#include "tests/support/throws.h"
#include "tests/support/values.h"

namespace dikkat::constants_test {
namespace {

using testing::doubles_of;
using testing::error_of;
using testing::names;

TEST(Constants, OfEachType) {
  Tape tape;
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::bf16}) {
    EXPECT_EQ(doubles_of(full(tape, {2, 2}, -3, dtype)), (std::vector<double>{-3, -3, -3, -3}));
    EXPECT_EQ(doubles_of(zeros(tape, {2}, dtype)), (std::vector<double>{0, 0}));
    EXPECT_EQ(doubles_of(ones(tape, {2}, dtype)), (std::vector<double>{1, 1}));
    EXPECT_EQ(doubles_of(arange(tape, 4, dtype)), (std::vector<double>{0, 1, 2, 3}));
    EXPECT_EQ(arange(tape, 4, dtype).dtype(), dtype);
    EXPECT_FALSE(ones(tape, {2}, dtype).needs_gradient());
  }
  EXPECT_EQ(arange(tape, 0).size(), 0);
  const WithThreads three(3, Work{0});
  const Tensor many = arange(tape, 100'000);
  EXPECT_EQ(many.data<std::int32_t>()[99'999], 99'999);
}

TEST(Constants, RefuseWhatTheTypeCannotHold) {
  Tape tape;
  EXPECT_TRUE(names(error_of([&] { full(tape, {2}, 0.5, DType::i32); }), {"full", "0.5", "i32"}));
  EXPECT_TRUE(names(error_of([&] { full(tape, {2}, 3e9, DType::i32); }), {"full", "i32"}));
  EXPECT_TRUE(names(error_of([&] { arange(tape, -1); }), {"arange", "-1"}));
}

TEST(Reshape, FindsAnExtentThatFollowsFromTheOthers) {
  Tape tape;
  const Tensor x = arange(tape, 12);
  EXPECT_EQ(reshape(x, {-1, 4}).shape(), (Shape{3, 4}));
  EXPECT_EQ(reshape(x, {2, -1, 2}).shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(reshape(x, {-1}).shape(), (Shape{12}));
  EXPECT_EQ(reshape(arange(tape, 0), {-1, 4}).shape(), (Shape{0, 4}));
  EXPECT_TRUE(names(error_of([&] { reshape(x, {-1, 5}); }), {"reshape", "[12]", "5"}));
  EXPECT_TRUE(names(error_of([&] { reshape(x, {-1, -1}); }), {"reshape", "-1"}));
  EXPECT_NE(error_of([&] { reshape(x, {-2, 6}); }), "");
  EXPECT_NE(error_of([&] { reshape(x, {-1, 0}); }), "");
  EXPECT_NE(error_of([&] { reshape(x, {-1, index{1} << 62, 4}); }), "");
}

TEST(Lists, OfTensorsAndSizesMayBeWrittenInBraces) {
  Tape tape;
  const Tensor a = arange(tape, 2, DType::f32), b = ones(tape, {2});
  EXPECT_EQ(doubles_of(concat({a, b}, 0)), (std::vector<double>{0, 1, 1, 1}));
  EXPECT_EQ(stack({a, b}).shape(), (Shape{2, 2}));
  EXPECT_EQ(split(a, 0, {1, 1})[1].item(), 1);
}

}  // namespace
}  // namespace dikkat::constants_test
