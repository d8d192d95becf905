#include "autograd/ops/convolution.h"

#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "autograd/ops/arrange.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"
#include "tests/support/values.h"

// tests/gradcheck compares these ops with loops, and checks their gradients.
namespace dikkat::convolution_test {
namespace {

using testing::error_of;
using testing::names;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;
using testing::values_of;

Tensor input(Tape& tape, Shape shape, std::uint64_t seed) { return tape.input<float>(shape, numbers(shape.size(), seed), true); }

TEST(Convolution, IsAProductOfUnfoldedWindows) {
  Tape tape;
  const Tensor x = input(tape, {3, 5, 12, 13}, 1), weight = input(tape, {20, 5, 3, 2}, 2);
  const Conv2dOptions o{.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 3}};
  const Tensor columns = unfold(x, {3, 2}, {.stride = o.stride, .padding = o.padding, .dilation = o.dilation});
  EXPECT_EQ(columns.shape(), (Shape{3, 30, 60}));
  const Tensor y = conv2d(x, weight, {}, o);
  EXPECT_EQ(y.shape(), (Shape{3, 20, 6, 10}));
  EXPECT_LE(relative_error(values_of<float>(y), values_of<float>(matmul(reshape(weight, {20, 30}), columns))), 1e-6);
}

TEST(Convolution, OfOneRowHasTheSameBitsAsAnImageOfOne) {
  Tape tape;
  const Tensor x = input(tape, {4, 6, 50}, 1), weight = input(tape, {8, 3, 5}, 2), bias = input(tape, {8}, 3);
  const Tensor one = conv1d(x, weight, bias, {.stride = 2, .padding = 4, .dilation = 2, .groups = 2});
  const Tensor two = conv2d(reshape(x, {4, 6, 1, 50}), reshape(weight, {8, 3, 1, 5}), bias,
                            {.stride = {1, 2}, .padding = {0, 4}, .dilation = {1, 2}, .groups = 2});
  EXPECT_TRUE(one.shape() == (Shape{4, 8, 25}));
  EXPECT_TRUE(same_bits(values_of<float>(one), values_of<float>(two)));
}

// Groups are convolutions of their own.
TEST(Convolution, OfGroupsIsThatOfTheirChannels) {
  Tape tape;
  const Tensor x = input(tape, {3, 8, 9, 10}, 1), weight = input(tape, {24, 4, 3, 3}, 2);
  const Tensor whole = conv2d(x, weight, {}, {.padding = 1, .groups = 2});
  const Tensor parts[] = {conv2d(slice(x, 1, 0, 4), slice(weight, 0, 0, 12), {}, {.padding = 1}),
                          conv2d(slice(x, 1, 4, 4), slice(weight, 0, 12, 12), {}, {.padding = 1})};
  EXPECT_LE(relative_error(values_of<float>(whole), values_of<float>(concat(parts, 1))), 1e-6);
}

TEST(Pool, OfEightAxesKeepsTheLeadingOnes) {
  Tape tape;
  EXPECT_EQ(max_pool2d(input(tape, {1, 2, 1, 2, 1, 3, 6, 7}, 1), {3, 2}).shape(), (Shape{1, 2, 1, 2, 1, 3, 2, 3}));
  EXPECT_EQ(avg_pool1d(input(tape, {7}, 1), 3, {.stride = 2}).shape(), Shape{3});
  EXPECT_EQ(avg_pool2d(input(tape, {0, 4, 4}, 1), 2).shape(), (Shape{0, 2, 2}));
}

// An example: 6 is largest twice, and the first one gets the gradient.
TEST(Pool, TheGradientGoesToTheFirstMaximum) {
  Tape tape;
  const Tensor x = tape.input<float>({2, 4}, std::vector<float>{1, 6, 3, 3, 6, 2, 3, 0}, true);
  const Tensor y = max_pool2d(x, 2);
  EXPECT_EQ(values_of<float>(y), (std::vector<float>{6, 3}));
  tape.backward(y, tape.input<float>({1, 2}, std::vector<float>{10, 20}));
  EXPECT_EQ(std::vector<float>(tape.gradient<float>(x), tape.gradient<float>(x) + 8), (std::vector<float>{0, 10, 20, 0, 0, 0, 0, 0}));
}

TEST(Pool, PaddingCountsOnlyIfItShould) {
  Tape tape;
  const Tensor x = tape.input<float>({4}, std::vector<float>{2, 4, 6, 8});
  EXPECT_EQ(values_of<float>(avg_pool1d(x, 2, {.padding = 1})), (std::vector<float>{1, 5, 4}));
  EXPECT_EQ(values_of<float>(avg_pool1d(x, 2, {.padding = 1, .counts_padding = false})), (std::vector<float>{2, 5, 8}));
}

/// The digits classifier of the issue: one step's loss, and the gradients of all parameters.
std::vector<float> digits_step(Tape& tape, index batch) {
  const Tensor x = input(tape, {batch, 1, 28, 28}, 1);
  const Tensor parameters[] = {input(tape, {16, 1, 3, 3}, 2), input(tape, {16}, 3),       input(tape, {32, 16, 3, 3}, 4),
                               input(tape, {32}, 5),          input(tape, {10, 1568}, 6), input(tape, {10}, 7)};
  const Tensor one = max_pool2d(relu(conv2d(x, parameters[0], parameters[1], {.padding = 1})), 2);
  const Tensor two = max_pool2d(relu(conv2d(one, parameters[2], parameters[3], {.padding = 1})), 2);
  const Tensor logits = linear(reshape(two, {batch, 1568}), parameters[4], parameters[5]);
  std::vector<std::int32_t> targets;
  for (index i = 0; i < batch; ++i) {
    targets.push_back(static_cast<std::int32_t>(i % 10));
  }
  const Tensor loss = cross_entropy(logits, tape.input<std::int32_t>({batch}, targets));
  tape.backward(loss);
  std::vector<float> all = values_of<float>(loss);
  for (const Tensor p : parameters) {
    all.insert(all.end(), tape.gradient<float>(p), tape.gradient<float>(p) + p.size());
  }
  tape.reset();
  return all;
}

TEST(Convolution, NetworksHaveTheSameBitsOnAnyNumberOfThreads) {
  const auto on = [](int threads) {
    const WithThreads with(threads);
    Tape tape;
    return digits_step(tape, 33);
  };
  const auto one = on(1);
  EXPECT_TRUE(same_bits(on(2), one));
  EXPECT_TRUE(same_bits(on(3), one));
}

// After a dry run of a step, which computes nothing, the step takes no more memory.
TEST(Convolution, ADryRunShowsTheMemoryOfAStep) {
  const WithThreads two(2);
  Tape planned;
  {
    const DryRun dry;
    digits_step(planned, 64);
    EXPECT_GT(dry.scratch_bytes(2), std::size_t{2} * 144 * 192 * sizeof(float)) << "each thread unfolds windows";
  }
  Tape tape;
  digits_step(tape, 64);
  EXPECT_EQ(planned.activation_bytes(), tape.activation_bytes());
  EXPECT_EQ(planned.gradient_bytes(), tape.gradient_bytes());
}

TEST(Convolution, ErrorsNameWhatDoesNotFit) {
  Tape tape;
  const Tensor x = input(tape, {2, 3, 5, 6}, 1);
  EXPECT_TRUE(names(error_of([&] { conv2d(x, input(tape, {4, 2, 3, 3}, 2)); }), {"conv2d", "[4, 2, 3, 3]", "[2, 3, 5, 6]", "3"}));
  EXPECT_TRUE(names(error_of([&] { conv2d(x, input(tape, {4, 3, 3, 7}, 2)); }), {"conv2d", "width", "7", "6"}));
  EXPECT_TRUE(names(error_of([&] { max_pool2d(x, 3, {.padding = {2, 1}}); }), {"max_pool2d", "height", "2", "1"}));
  EXPECT_TRUE(names(error_of([&] { conv1d(x, x); }), {"conv1d", "[2, 3, 5, 6]", "[batch, channels, length]"}));
}

}  // namespace
}  // namespace dikkat::convolution_test
