// Convolutional layers give their operands to the ops, whose own tests compute what they compute.
#include "layers/convolution.h"

#include <vector>

#include <gtest/gtest.h>

#include "layers/activations.h"
#include "layers/sequential.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;
using testing::numbers;

std::vector<float> values_of_layer(Tensor x) { return {x.data<float>(), x.data<float>() + x.size()}; }

TEST(Convolutions, HaveTheParametersOfTheirOptions) {
  ParameterStore store;
  const Scope s(store);
  const Conv1d one(s / "one", 4, 6, 5, {.stride = 2, .padding = 1, .groups = 2});
  const Conv2d two(s / "two", 3, 8, {3, 2}, {.stride = {2, 1}, .padding = 1}, Init::kaiming_normal(), false);
  store.allocate(1);
  EXPECT_EQ(store.entry("one.weight").shape(), (Shape{6, 2, 5}));
  EXPECT_EQ(store.entry("one.bias").shape(), Shape{6});
  EXPECT_EQ(store.entry("two.weight").shape(), (Shape{8, 3, 3, 2}));
  EXPECT_EQ(store.entries().size(), 3U);
  Tape tape;
  Pass pass{.tape = tape};
  const Tensor x = tape.input<float>({2, 4, 11}, numbers(88, 1)), image = tape.input<float>({2, 3, 7, 6}, numbers(252, 2));
  EXPECT_EQ(values_of_layer(one(pass, x)), values_of_layer(conv1d(x, one.weight, one.bias, {.stride = 2, .padding = 1, .groups = 2})));
  EXPECT_EQ(one(pass, x).shape(), (Shape{2, 6, 5}));
  EXPECT_EQ(values_of_layer(two(pass, image)), values_of_layer(conv2d(image, two.weight, {}, {.stride = {2, 1}, .padding = 1})));
  EXPECT_EQ(two(pass, image).shape(), (Shape{2, 8, 4, 7}));
}

TEST(Convolutions, TrainInASequence) {
  ParameterStore store;
  const Scope s(store);
  const Sequential net{Conv2d(s / 0, 1, 4, 3, {.padding = 1}), Relu{}, MaxPool2d{2}, Conv2d(s / 1, 4, 2, 3), AvgPool2d{2}, Flatten{}};
  store.allocate(1);
  Tape tape;
  Pass pass{.tape = tape};
  const Tensor y = net(pass, tape.input<float>({3, 1, 8, 8}, numbers(192, 1)));
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  tape.backward(y, tape.input<float>({3, 2}, numbers(6, 2)));
  for (const ParameterStore::Entry* entry : store.entries()) {
    ASSERT_TRUE(entry->gradient.written) << entry->path;
    EXPECT_NE(static_cast<const float*>(entry->gradient.data)[0], 0) << entry->path;
  }
}

TEST(Convolutions, RefuseGroupsThatDoNotDivide) {
  ParameterStore store;
  const Scope s(store);
  EXPECT_TRUE(names(error_of([&] { Conv2d(s / "a", 4, 6, 3, {.groups = 4}); }), {"a", "4 channels", "6 filters", "4 groups"}));
  EXPECT_TRUE(names(error_of([&] { Conv1d(s / "b", 3, 6, 3, {.groups = 2}); }), {"b", "3 channels", "2 groups"}));
  EXPECT_NE(error_of([&] { Conv1d(s / "c", 3, 6, 3, {.groups = 0}); }), "");
}

}  // namespace
}  // namespace dikkat
