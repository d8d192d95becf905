#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops/arrange.h"
#include "autograd/ops/matmul.h"
#include "autograd/tape/gradient_check.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"
#include "tests/support/values.h"

// tests/gradcheck compares einsum with loops over all letters, and checks its gradients. These tests are of the formula's other forms.
namespace dikkat::einsum_test {
namespace {

using testing::error_of;
using testing::names;
using testing::numbers;
using testing::same_bits;
using testing::values_of;

Tensor input(Tape& tape, Shape shape, std::uint64_t seed) { return tape.input<float>(shape, numbers(shape.size(), seed), true); }
TEST(Einsum, IgnoresSpaces) {
  Tape tape;
  const Tensor a = input(tape, {2, 3}, 1), b = input(tape, {3, 4}, 2);
  EXPECT_TRUE(same_bits(values_of<float>(einsum(" i j , jk -> i k ", a, b)), values_of<float>(einsum("ij,jk->ik", a, b))));
}

TEST(Einsum, WithoutAnArrowFollowsTheAlphabet) {
  Tape tape;
  const Tensor a = input(tape, {2, 3}, 1), b = input(tape, {3, 4}, 2);
  EXPECT_TRUE(same_bits(values_of<float>(einsum("ij,jk", a, b)), values_of<float>(einsum("ij,jk->ik", a, b))));
  EXPECT_TRUE(same_bits(values_of<float>(einsum("kj,ji", a, b)), values_of<float>(einsum("kj,ji->ik", a, b))));
  EXPECT_TRUE(same_bits(values_of<float>(einsum("aB,BC", a, b)), values_of<float>(einsum("aB,BC->Ca", a, b)))) << "capitals come first";
  EXPECT_TRUE(same_bits(values_of<float>(einsum("ba", a)), values_of<float>(transpose(a))));
}

TEST(Einsum, DotsAreTheAxesWithoutLetters) {
  Tape tape;
  const Tensor a = input(tape, {5, 2, 3, 4}, 1), b = input(tape, {2, 4, 3}, 2);
  EXPECT_TRUE(same_bits(values_of<float>(einsum("...ij,...jk->...ik", a, b)), values_of<float>(einsum("abij,bjk->abik", a, b))));
  EXPECT_TRUE(same_bits(values_of<float>(einsum("...ij,...jk", a, b)), values_of<float>(einsum("abij,bjk->abik", a, b))));
  EXPECT_TRUE(same_bits(values_of<float>(einsum("...i->i...", a)), values_of<float>(permute(a, {3, 0, 1, 2}))));
  EXPECT_EQ(einsum("...,...->...", a, a).shape(), a.shape());
}

TEST(Einsum, ALetterTwiceInAnOperandIsADiagonal) {
  Tape tape;
  const Tensor x = input(tape, {3, 3}, 1), y = input(tape, {2, 3, 2}, 2);
  EXPECT_TRUE(same_bits(values_of<float>(einsum("ii->i", x)), {values_of<float>(x)[0], values_of<float>(x)[4], values_of<float>(x)[8]}));
  EXPECT_TRUE(same_bits(values_of<float>(einsum("iji->ij", y)), values_of<float>(transpose(diagonal(y, 0, 2)))));
  EXPECT_EQ(einsum("ii", x).shape(), Shape{});
  EXPECT_NEAR(values_of<float>(einsum("ii", x))[0], values_of<float>(x)[0] + values_of<float>(x)[4] + values_of<float>(x)[8], 1e-6);
  EXPECT_EQ(einsum("iij,jk->ik", input(tape, {3, 3, 2}, 3), input(tape, {2, 5}, 4)).shape(), (Shape{3, 5}));
}

TEST(Einsum, GradientsOfSumsAndDiagonals) {
  const auto operand = [](Shape shape, std::uint64_t seed) {
    return CheckedOperand{shape, testing::converted<double>(numbers(shape.size(), seed))};
  };
  const std::vector<CheckedOperand> operands = {operand({2, 3, 4}, 1), operand({4, 5, 5}, 2)};
  EXPECT_LE(gradient_error([](Tape&, std::span<const Tensor> t) { return einsum("abc,cdd->d", t[0], t[1]); }, operands), 1e-7);
  EXPECT_LE(gradient_error([](Tape&, std::span<const Tensor> t) { return einsum("abc,cde->ade", t[0], t[1]); }, operands), 1e-7);
}

/// The names of the ops that a formula runs.
struct Names : TapeObserver {
  void forward_begins() override {}
  void forward_ends(const OpRun& run) override { all.push_back(run.op); }
  void backward_begins() override {}
  void backward_ends(const OpRun&) override {}
  std::vector<std::string> all;
};
std::vector<std::string> ops_of(const char* formula, Shape a, Shape b) {
  Tape tape;
  const Tensor x = input(tape, a, 1), y = input(tape, b, 2);
  Names names;
  tape.observe(&names);
  einsum(formula, x, y);
  return names.all;
}

// Products read rows that lie apart, so heads and most orders of axes need no copy.
TEST(Einsum, PermutesOnlyWhatProductsCannotRead) {
  using Ops = std::vector<std::string>;
  EXPECT_EQ(ops_of("bij,bjk->bik", {2, 3, 4}, {2, 4, 5}), Ops{"einsum"});
  EXPECT_EQ(ops_of("bij,bkj->bik", {2, 3, 4}, {2, 5, 4}), Ops{"einsum"});
  EXPECT_EQ(ops_of("bji,bjk->bki", {2, 4, 3}, {2, 4, 5}), Ops{"einsum"});
  EXPECT_EQ(ops_of("bthd,bshd->bhts", {2, 3, 4, 5}, {2, 6, 4, 5}), Ops{"einsum"});
  EXPECT_EQ(ops_of("bhts,bshd->bthd", {2, 4, 3, 6}, {2, 6, 4, 5}), Ops{"einsum"});
  EXPECT_EQ(ops_of("bij,bj->bi", {2, 3, 4}, {2, 4}), Ops{"einsum"});
  EXPECT_EQ(ops_of("btc,cd->btd", {2, 3, 4}, {4, 5}), Ops{"einsum"});
  EXPECT_EQ(ops_of("bij,jk->bik", {2, 3, 1}, {1, 5}), Ops{"einsum"}) << "an extent of 1 has any place";
  EXPECT_EQ(ops_of("ijb,bjk->bik", {3, 4, 2}, {2, 4, 5}), (Ops{"permute", "einsum"}));
  EXPECT_EQ(ops_of("bij,bjk->ikb", {2, 3, 4}, {2, 4, 5}), (Ops{"einsum", "permute"}));
  EXPECT_EQ(ops_of("bi,bj->bij", {2, 3}, {2, 4}), (Ops{"reshape", "reshape", "einsum"}));
}

TEST(Einsum, ErrorsNameTheLetterAndItsExtents) {
  Tape tape;
  const auto error = [&](const char* formula, Shape a, Shape b) {
    return error_of([&] { einsum(formula, input(tape, a, 1), input(tape, b, 2)); });
  };
  EXPECT_TRUE(names(error("ij,jk->ik", {2, 3}, {4, 5}), {"'j'", "3", "4", "ij,jk->ik"}));
  EXPECT_TRUE(names(error("...i,...i", {7, 3}, {8, 3}), {"-1", "...", "7", "8"}));
  EXPECT_TRUE(names(error("ij,jk->iz", {2, 3}, {3, 5}), {"'z'", "ij,jk->iz"}));
  EXPECT_TRUE(names(error("ijk,jk->i", {2, 3}, {3, 5}), {"ijk", "[2, 3]", "3", "2"}));
}

}  // namespace
}  // namespace dikkat::einsum_test
