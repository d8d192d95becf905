#include "autograd/base/shape.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "autograd/base/dtype.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

static_assert(Shape{2, 3, 4}.size() == 24 && Shape{2, 3, 4}.rows() == 6 && Shape{2, 3, 4}.cols() == 4);
static_assert(Shape{}.size() == 1 && Shape{}.rank() == 0 && Shape{}.cols() == 1 && Shape{}.rows() == 1);
static_assert(Shape{2, 3}[-1] == 3 && Shape{2, 3}[0] == 2);
static_assert(Shape{2, 3}.with_cols(7) == Shape{2, 7} && Shape{}.with_cols(7) == Shape{7});
static_assert(Shape{3, 0}.rows() == 0 && Shape{0, 3}.rows() == 0);
static_assert(Shape{2, 3} != Shape{3, 2} && Shape{2, 3} != Shape{2, 3, 1} && Shape{} != Shape{1});

TEST(Shape, RefusesImpossibleExtents) {
  EXPECT_TRUE(names(error_of([] { (void)Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }), {"shape", "rank", "9", "8"}));
  EXPECT_TRUE(names(error_of([] { (void)Shape{2, -1}; }), {"shape", "extent", "-1", "0"}));
  const std::vector<std::string> too_many = {"shape", "elements", "2^56"};
  EXPECT_TRUE(names(error_of([] { (void)Shape{index{1} << 32, index{1} << 31}; }), too_many));
  EXPECT_TRUE(names(error_of([] { (void)Shape{2, 3}.with_cols(INT64_MAX); }), too_many));
  EXPECT_TRUE(names(error_of([] { (void)Shape{INT64_MAX}; }), too_many)) << "bytes would wrap";
  EXPECT_TRUE(names(error_of([] { (void)Shape{index{1} << 62}; }), too_many));
  EXPECT_TRUE(names(error_of([] { (void)Shape{0, index{1} << 32, index{1} << 32}; }), too_many)) << "a part of it could not be counted";
  EXPECT_EQ(error_of([] { (void)Shape{index{1} << 28, index{1} << 28}; }), "");
}

TEST(Concat, EveryKindOfPart) {
  EXPECT_EQ(concat(), "");
  EXPECT_EQ(concat("x is ", Shape{2, 0, 3}, ", ", DType::f64, ' ', true, ' ', -7, ' ', Shape{}), "x is [2, 0, 3], f64 true -7 []");
  EXPECT_EQ(concat(std::string("a"), std::string_view("b"), 'c'), "abc");
  EXPECT_EQ(concat(std::numeric_limits<std::int64_t>::min(), ' ', std::numeric_limits<std::uint64_t>::max()),
            "-9223372036854775808 18446744073709551615");
}

TEST(Concat, NumbersReadBackToTheSameBits) {
  EXPECT_EQ(concat(0.1), "0.1");
  EXPECT_EQ(concat(0.1F), "0.1");
  EXPECT_EQ(concat(1e300), "1e+300");
  EXPECT_EQ(std::stod(concat(1.0 / 3)), 1.0 / 3);
  EXPECT_EQ(concat(std::numeric_limits<double>::lowest()), "-1.7976931348623157e+308");
  EXPECT_EQ(concat(std::numeric_limits<double>::infinity(), ' ', std::numeric_limits<double>::quiet_NaN()), "inf nan");
}

TEST(Require, ThrowsItsMessage) {
  EXPECT_EQ(error_of([] { require(false, "op: ", 3, ", expected ", 4); }), "op: 3, expected 4");
  EXPECT_EQ(error_of([] { require(true, "op"); }), "");
  EXPECT_THROW(require_input(false, "key"), InputError);
  EXPECT_NO_THROW(require_input(true, "key"));
  EXPECT_THROW(fail_input("key"), Error) << "a handler of failures also catches bad input";
  try {
    fail("failure");
    FAIL();
  } catch (const InputError&) {
    FAIL() << "a failure is not bad input";
  } catch (const Error&) {
  }
}

TEST(ForFloat, NamesItsCallerForIds) {
  EXPECT_EQ(for_float(DType::f64, "op", [](auto zero) { return sizeof zero; }), 8U);
  EXPECT_EQ(for_float(DType::f32, "op", [](auto zero) { return sizeof zero; }), 4U);
  EXPECT_TRUE(names(error_of([] { for_float(DType::i32, "op", [](auto) {}); }), {"op", "i32", "f32", "f64"}));
}

}  // namespace
}  // namespace dikkat
