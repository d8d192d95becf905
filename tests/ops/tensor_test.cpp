#include "autograd/tape/tensor.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops/basic.h"
#include "autograd/ops/constants.h"
#include "autograd/ops/linear.h"
#include "autograd/tape/parameters.h"
#include "autograd/tape/tape.h"
#include "tests/support/throws.h"

namespace dikkat::tensor_test {
namespace {

using testing::error_of;
using testing::names;

TEST(Tensor, AnAbsentOneIsRefused) {
  Tape tape;
  const Tensor x = tape.input<float>({2}, {1.0F, 2.0F});
  EXPECT_TRUE(names(error_of([] { (void)Tensor{}.shape(); }), {"absent"}));
  EXPECT_TRUE(names(error_of([] { exp(Tensor{}); }), {"absent"}));
  EXPECT_TRUE(names(error_of([&] { add(x, Tensor{}); }), {"absent"}));
  EXPECT_TRUE(names(error_of([&] { add(Tensor{}, x); }), {"absent"}));
}

// Its memory holds other numbers by then.
TEST(Tensor, OneOfAnEarlierStepIsRefused) {
  std::optional<Tape> tape(std::in_place);
  const Tensor a = ones(*tape, {2, 3}), first = a;
  EXPECT_EQ(sum(a).item(), 6);
  tape->reset();
  const auto is_refused = [&] {
    EXPECT_TRUE(names(error_of([&] { (void)a.shape(); }), {"reset"}));
    EXPECT_TRUE(names(error_of([&] { (void)a.data<float>(); }), {"reset"}));
    EXPECT_TRUE(names(error_of([&] { sum(a); }), {"reset"}));
  };
  is_refused();
  EXPECT_TRUE(a) << "it is not absent";
  std::vector<Tensor> others;
  for (int i = 0; i < 1000; ++i) {
    others.push_back(full(*tape, {2, 3}, 2));
    EXPECT_NE(others.back(), a) << "also where it has a's record";
  }
  is_refused();
  EXPECT_TRUE(names(error_of([&] { add(others.front(), a); }), {"reset"}));
  EXPECT_TRUE(names(error_of([&] { tape->backward(a); }), {"reset"}));
  EXPECT_EQ(sum(others.front()).item(), 12);
  EXPECT_EQ(a, first);
  // Another tape takes the records of a tape that is destroyed.
  tape.reset();
  EXPECT_TRUE(names(error_of([&] { (void)others.front().shape(); }), {"reset"}));
  Tape next;
  ones(next, {5});
  EXPECT_TRUE(names(error_of([&] { (void)others.front().shape(); }), {"reset"}));
  is_refused();
}

TEST(Tensor, AParameterThatATapeUsesIsOfThatStep) {
  ParameterStore store;
  const Parameter weight = store.add("weight", {2}, Init::ones(), Decay::no, Role::vector);
  store.allocate(1);
  Tape tape;
  const Tensor used = tape.use(weight);
  EXPECT_EQ(sum(used).item(), 2);
  tape.reset();
  EXPECT_TRUE(names(error_of([&] { sum(used); }), {"reset"}));
  EXPECT_EQ(sum(tape.use(weight)).item(), 2) << "the parameter stays";
}

TEST(Tensor, AParameterWithoutElementsIsOne) {
  ParameterStore store;
  const Parameter weight = store.add("weight", {0, 3}, Init::ones(), Decay::no, Role::hidden);
  store.allocate(1);
  Tape tape;
  EXPECT_EQ(linear(ones(tape, {2, 3}), weight).shape(), (Shape{2, 0}));
}

TEST(Tensor, AParameterWithoutMemoryIsRefused) {
  ParameterStore store;
  const Parameter weight = store.add("weight", {3, 2}, Init::ones(), Decay::no, Role::hidden);
  Tape tape;
  const Tensor x = tape.input<float>({1, 2}, {1.0F, 2.0F});
  EXPECT_TRUE(names(error_of([&] { linear(x, weight); }), {"allocate"}));
  tape.reset();
  store.allocate(1);
  EXPECT_EQ(linear(tape.input<float>({1, 2}, {1.0F, 2.0F}), weight).data<float>()[2], 3);
}

TEST(Tensor, ItsOnlyElementIsANumber) {
  Tape tape;
  EXPECT_EQ(tape.input<float>({}, {1.5F}).item(), 1.5);
  EXPECT_EQ(tape.input<double>({1, 1}, {0.1}).item(), 0.1);
  EXPECT_EQ(tape.input<std::int32_t>({1}, {-7}).item(), -7);
  EXPECT_EQ(cast(tape.input<float>({}, {1.5F}), DType::bf16).item(), 1.5);
  EXPECT_TRUE(names(error_of([&] { (void)tape.input<float>({2}, {1.0F, 2.0F}).item(); }), {"item", "[2]"}));
}

TEST(Tensor, TheGradientOfAParameterIsThatOfItsStore) {
  ParameterStore store;
  const Parameter weight = store.add("weight", {2}, Init::ones(), Decay::no, Role::vector);
  const Parameter idle = store.add("idle", {2}, Init::ones(), Decay::no, Role::vector);
  store.allocate(1);
  Tape tape;
  const Tensor x = tape.input<float>({2}, {3.0F, 5.0F});
  tape.backward(sum(x * weight));
  EXPECT_EQ(tape.gradient<float>(weight)[1], 5);
  EXPECT_EQ(tape.gradient<float>(idle), nullptr);
  EXPECT_TRUE(names(error_of([&] { (void)tape.gradient<float>(x); }), {"gradient", "input"})) << "x needs none";
}

}  // namespace
}  // namespace dikkat::tensor_test
