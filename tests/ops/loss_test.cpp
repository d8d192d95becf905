#include "autograd/ops/loss.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "autograd/tape/parameters.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"

namespace dikkat::loss_test {
namespace {

using testing::error_of;
using testing::names;
using testing::numbers;
using testing::same_bits;

constexpr index kRows = 300, kWidth = 8, kClasses = 1500;
constexpr index kLogits = 96 * kClasses;  // at once: four chunks

/// A head, and backward of one loss after the other.
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
  EXPECT_TRUE(
      names(error_of([&] { head.backward(true, 2); }), {"linear_cross_entropy", "derivative", "2", "1", "CrossEntropyOptions::is_root"}));
}

/// A loss of rows, only some of which are scored, and its gradients. The others hold NaN, and targets out of range.
struct Answers {
  std::vector<float> dx, dweight;
  std::vector<double> terms = std::vector<double>(kRows, -1);
  float loss = 0;
  std::size_t bytes = 0;

  explicit Answers(const std::function<bool(index)>& is_scored, index logits_at_once = kLogits) {
    ParameterStore store{DType::f32};
    const Parameter weight = store.add("head", {kClasses, kWidth}, Init::normal(1), Decay::yes, Role::head);
    store.allocate(1);
    auto x = numbers(kRows * kWidth, 1);
    std::vector<std::int32_t> targets(kRows, -1);
    std::vector<float> weights(kRows);
    for (index row = 0; row < kRows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      if (is_scored(row)) {
        targets[at] = static_cast<std::int32_t>(row * 37 % kClasses);
        weights[at] = 1;
      } else {
        std::fill_n(x.begin() + row * kWidth, kWidth, std::numeric_limits<float>::quiet_NaN());
      }
    }
    Tape tape;
    const Tensor inputs = tape.input<float>({kRows, kWidth}, x, true);
    const Tensor result =
        linear_cross_entropy(inputs, weight, tape.input<std::int32_t>({kRows}, targets),
                             {.weights = tape.input<float>({kRows}, weights), .terms = terms.data(), .is_root = true}, logits_at_once);
    tape.backward(result);
    loss = *result.data<float>();
    dx.assign(tape.gradient<float>(inputs), tape.gradient<float>(inputs) + kRows * kWidth);
    const auto* data = static_cast<const float*>(store.entry("head").gradient.data);
    dweight.assign(data, data + kClasses * kWidth);
    bytes = tape.activation_bytes();
  }
};

/// The result of Answers by the definition, from only the scored rows.
struct ScoredAlone {
  std::vector<float> dx = std::vector<float>(kRows * kWidth), dweight;
  float loss = 0;

  explicit ScoredAlone(index stride) {
    ParameterStore store{DType::f32};
    const Parameter weight = store.add("head", {kClasses, kWidth}, Init::normal(1), Decay::yes, Role::head);
    store.allocate(1);
    const auto all = numbers(kRows * kWidth, 1);
    std::vector<float> x;
    std::vector<std::int32_t> targets;
    for (index row = 0; row < kRows; row += stride) {
      x.insert(x.end(), all.begin() + row * kWidth, all.begin() + (row + 1) * kWidth);
      targets.push_back(static_cast<std::int32_t>(row * 37 % kClasses));
    }
    const auto count = static_cast<index>(targets.size());
    Tape tape;
    const Tensor inputs = tape.input<float>({count, kWidth}, x, true);
    const Tensor result = cross_entropy(linear(inputs, weight), tape.input<std::int32_t>({count}, targets), {.normalizer = kRows});
    tape.backward(result);
    loss = *result.data<float>();
    for (index i = 0; i < count; ++i) {
      std::copy_n(tape.gradient<float>(inputs) + i * kWidth, kWidth, dx.begin() + i * stride * kWidth);
    }
    const auto* data = static_cast<const float*>(store.entry("head").gradient.data);
    dweight.assign(data, data + kClasses * kWidth);
  }
};

TEST(LinearCrossEntropy, ComputesNothingOfRowsThatAreNotScored) {
  for (const index stride : {2, 3, 7, 299}) {
    SCOPED_TRACE(stride);
    const Answers answers([&](index row) { return row % stride == 0; });
    const ScoredAlone alone(stride);
    EXPECT_NEAR(answers.loss, alone.loss, 1e-5F * alone.loss);
    EXPECT_LE(testing::relative_error(answers.dx, alone.dx), 1e-5);
    EXPECT_LE(testing::relative_error(answers.dweight, alone.dweight), 1e-5);
    for (std::size_t row = 0; row < answers.terms.size(); ++row) {
      EXPECT_EQ(answers.terms[row] != 0, static_cast<index>(row) % stride == 0) << row;
    }
  }
}

TEST(LinearCrossEntropy, OfNoScoredRowsIsZero) {
  const Answers none([](index) { return false; });
  EXPECT_EQ(none.loss, 0);
  EXPECT_EQ(none.dx, std::vector<float>(kRows * kWidth));
  EXPECT_EQ(none.dweight, std::vector<float>(kClasses * kWidth));
  EXPECT_EQ(none.terms, std::vector<double>(kRows));
}

TEST(LinearCrossEntropy, OfNoRowsIsZero) {
  Head head;
  Tape tape;
  const Tensor x = tape.input<float>({0, kWidth}, std::vector<float>{}, true);
  const Tensor loss = linear_cross_entropy(x, head.weight, tape.input<std::int32_t>({0}, std::vector<std::int32_t>{}), {.normalizer = 1});
  tape.backward(loss);
  EXPECT_EQ(*loss.data<float>(), 0);
  EXPECT_EQ(head.dweight(), std::vector<float>(kClasses * kWidth));
}

/// The loss and the gradients of targets that all have one weight.
struct Weighted {
  float loss = 0;
  std::vector<float> dx, dweight;

  Weighted(float weight_of_targets, DType dtype, index classes, index logits_at_once) {
    ParameterStore store{DType::f32};
    const Parameter weight = store.add("head", {classes, kWidth}, Init::normal(1), Decay::yes, Role::head);
    store.allocate(1);
    std::vector<std::int32_t> targets(kRows);
    for (index i = 0; i < kRows; ++i) {
      targets[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * 37 % classes);
    }
    Tape tape;
    const Tensor x = tape.input<float>({kRows, kWidth}, numbers(kRows * kWidth, 1), true);
    const std::vector<float> weights(kRows, weight_of_targets);
    const Tensor result =
        linear_cross_entropy(dtype == DType::f32 ? x : cast(x, dtype), weight, tape.input<std::int32_t>({kRows}, targets),
                             {.weights = tape.input<float>({kRows}, weights), .normalizer = 12, .is_root = true}, logits_at_once);
    tape.backward(result);
    loss = *result.data<float>();
    dx.assign(tape.gradient<float>(x), tape.gradient<float>(x) + kRows * kWidth);
    const auto* data = static_cast<const float*>(store.entry("head").gradient.data);
    dweight.assign(data, data + classes * kWidth);
  }
};

std::vector<float> negated(std::vector<float> values) {
  for (float& value : values) {
    value = -value;
  }
  return values;
}

TEST(LinearCrossEntropy, NegativeWeightsNegateTheLossAndItsGradients) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const index classes : {index{40}, kClasses}) {
      for (const index logits : {kLogits, kLogitsAtOnce}) {
        const Weighted more(1.5F, dtype, classes, logits), less(-1.5F, dtype, classes, logits);
        EXPECT_GT(more.loss, 0);
        EXPECT_EQ(less.loss, -more.loss);
        EXPECT_EQ(less.dx, negated(more.dx));
        EXPECT_EQ(less.dweight, negated(more.dweight));
      }
    }
  }
}

TEST(LinearCrossEntropy, TakesNoMoreMemoryThanADryRunForAnyScoredRows) {
  for (const index logits : {kLogits, 2 * kLogits, kLogitsAtOnce}) {
    const std::size_t planned = [&] {
      const DryRun dry;
      return Answers([](index) { return true; }, logits).bytes;
    }();
    for (const index skipped : {0, 1, 50, 150, 299, 300}) {
      EXPECT_LE(Answers([&](index row) { return row >= skipped; }, logits).bytes, planned) << logits << " logits, without " << skipped;
    }
  }
}

}  // namespace
}  // namespace dikkat::loss_test
