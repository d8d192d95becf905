#include "autograd/ops/loss.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops/basic.h"
#include "autograd/tape/parameters.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::numbers;
using testing::same_bits;

constexpr index kRows = 300, kWidth = 8, kClasses = 1500;
constexpr index kLogits = 96 * kClasses;  // at once: four chunks

/// A head of its own, and backward of one loss after the other.
struct Head {
  ParameterStore store{DType::f32};
  Parameter weight = store.add("head", {kClasses, kWidth}, Init::normal(1), Decay::yes, Role::head);
  std::vector<std::int32_t> targets = std::vector<std::int32_t>(kRows);
  std::vector<float> dx;
  std::size_t bytes = 0;

  Head() {
    store.allocate(1);
    for (index i = 0; i < kRows; ++i) {
      targets[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * 37 % kClasses);
    }
  }
  void backward(bool is_root, double factor = 1) {
    Tape tape;
    const Tensor x = tape.input<float>({kRows, kWidth}, numbers(kRows * kWidth, 1), true);
    const Tensor loss = linear_cross_entropy(x, weight, tape.input<std::int32_t>({kRows}, targets), {.is_root = is_root}, kLogits);
    tape.backward(factor == 1 ? loss : scale(loss, factor));
    const float* data = tape.gradient<float>(x);
    dx.assign(data, data + kRows * kWidth);
    bytes = tape.activation_bytes();
  }
  std::vector<float> dweight() const {
    const auto* data = static_cast<const float*>(store.entry("head").gradient.data);
    return {data, data + kClasses * kWidth};
  }
};

TEST(LinearCrossEntropy, AsTheRootHasTheSameGradientsInLessMemory) {
  Head usual, root;
  usual.backward(false);
  root.backward(true);
  EXPECT_TRUE(same_bits(root.dx, usual.dx));
  EXPECT_TRUE(same_bits(root.dweight(), usual.dweight()));
  EXPECT_LE(root.bytes + kClasses * kWidth * sizeof(float), usual.bytes);
}

TEST(LinearCrossEntropy, AsTheRootAddsToTheGradientsOfEarlierBatches) {
  Head once, twice;
  once.backward(true);
  twice.backward(true);
  twice.backward(true);
  auto doubled = once.dweight();
  std::transform(doubled.begin(), doubled.end(), doubled.begin(), [](float g) { return 2 * g; });
  EXPECT_LE(testing::relative_error(twice.dweight(), doubled, 1e-3), 1e-5);
}

TEST(LinearCrossEntropy, AsTheRootIsNotAPartOfAnythingElse) {
  Head head;
  EXPECT_EQ(error_of([&] { head.backward(true, 2); }),
            "linear_cross_entropy: the derivative of the loss is 2, expected 1: CrossEntropyOptions::is_root promises that backward "
            "starts from it");
}

}  // namespace
}  // namespace dikkat
