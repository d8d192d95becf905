#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"

namespace dikkat::loss_of_elements_test {
namespace {

using testing::error_of;
using testing::names;
using testing::numbers;
using testing::same_bits;

template <class T>
std::vector<T> gradient_of(const Tape& tape, Tensor x) {
  return {tape.gradient<T>(x), tape.gradient<T>(x) + x.size()};
}

TEST(BinaryCrossEntropy, IsExactForAnyLogit) {
  const std::vector<float> logits = {-1000, -100, -20, -0.5F, 0, 0.5F, 20, 100, 1000};
  for (const float target : {0.0F, 0.25F, 1.0F}) {
    Tape tape;
    const Tensor x = tape.input<float>({9}, logits, true);
    const Tensor y = binary_cross_entropy(x, tape.input<float>({9}, std::vector<float>(9, target)), Reduction::none);
    const std::vector<float> terms(y.data<float>(), y.data<float>() + 9);
    tape.backward(sum(y));
    for (std::size_t i = 0; i < 9; ++i) {
      const double z = logits[i];
      const double expected = std::max(z, 0.0) - z * target + std::log1p(std::exp(-std::abs(z)));
      EXPECT_NEAR(terms[i], expected, 2e-6 * expected + 1e-38)  // denormal numbers are zero
          << z << " " << target;
      EXPECT_NEAR(tape.gradient<float>(x)[i], 1 / (1 + std::exp(-z)) - target, 1e-6) << z << " " << target;
    }
  }
}

TEST(KlDivergence, CountsNothingWhereTheTargetIsZero) {
  Tape tape;
  const Tensor x = tape.input<float>({2, 2}, std::vector<float>{-std::numeric_limits<float>::infinity(), 0, -1, -2}, true);
  const Tensor y = kl_divergence(x, tape.input<float>({2, 2}, std::vector<float>{0, 1, 0.5F, 0.5F}));
  EXPECT_NEAR(*y.data<float>(), (0.5 * (std::log(0.5) + 1) + 0.5 * (std::log(0.5) + 2)) / 2, 1e-6);
  tape.backward(y);
  EXPECT_EQ(gradient_of<float>(tape, x), (std::vector<float>{0, -0.5F, -0.25F, -0.25F}));
}

TEST(KlDivergence, OfADistributionFromItselfIsZero) {
  Tape tape;
  const Tensor logits = tape.input<double>({3, 5}, testing::converted<double>(numbers(15, 1, -3, 3)));
  EXPECT_NEAR(*kl_divergence(log_softmax(logits), softmax(logits)).data<double>(), 0, 1e-14);
}

// The terms of bf16 tensors are not rounded to bf16 before they are added.
TEST(LossOfElements, OfBf16IsAddedInF32) {
  const auto value_of = [](DType dtype, int threads) {
    const WithThreads some(threads, Work{0});
    Tape tape;
    const auto on_tape = [&](std::uint64_t seed) {
      const Tensor exact = cast(tape.input<float>({300, 70}, numbers(21'000, seed), true), DType::bf16);
      return cast(exact, dtype);
    };
    const Tensor y = mse_loss(on_tape(1), on_tape(2));
    EXPECT_EQ(y.dtype(), DType::f32);
    return *y.data<float>();
  };
  EXPECT_EQ(value_of(DType::bf16, 1), value_of(DType::f32, 1));
  EXPECT_EQ(value_of(DType::bf16, 1), value_of(DType::bf16, 3));
}

TEST(LossOfElements, GradientsOfBf16AreThoseOfF32Rounded) {
  const auto gradients = [](DType dtype) {
    Tape tape;
    const Tensor x = tape.input<float>({300, 70}, numbers(21'000, 1), true),
                 target = tape.input<float>({300, 70}, numbers(21'000, 2), true);
    const auto given = [&](Tensor t) { return cast(cast(t, DType::bf16), dtype); };
    tape.backward(huber_loss(given(x), given(target), 0.5, Reduction::sum));
    auto both = gradient_of<float>(tape, x);
    const auto other = gradient_of<float>(tape, target);
    both.insert(both.end(), other.begin(), other.end());
    return both;
  };
  const auto found = gradients(DType::bf16), expected = gradients(DType::f32);
  EXPECT_TRUE(same_bits(found, expected)) << "casts round the gradients of f32 too";
}

TEST(LossOfElements, WithOneTensorTwice) {
  Tape tape;
  const Tensor x = tape.input<float>({5}, numbers(5, 1), true);
  const Tensor y = mse_loss(x, x);
  EXPECT_EQ(*y.data<float>(), 0);
  tape.backward(y);
  EXPECT_EQ(gradient_of<float>(tape, x), std::vector<float>(5));
}

/// Cross-entropy of PyTorch's kind, by plain loops, and its gradient.
struct Expected {
  double loss = 0;
  std::vector<double> dlogits;

  Expected(index classes, const std::vector<double>& logits, const std::vector<std::int32_t>& targets,
           const std::vector<float>& class_weights, std::optional<std::int32_t> ignored, const std::vector<float>& weights = {}) {
    dlogits.resize(logits.size());
    double divisor = 0;
    for (const bool divides : {false, true}) {
      for (std::size_t i = 0; i < targets.size(); ++i) {
        if (targets[i] == ignored || (!weights.empty() && weights[i] == 0)) {
          continue;
        }
        double weight = class_weights.empty() ? 1 : class_weights[static_cast<std::size_t>(targets[i])];
        weight *= weights.empty() ? 1 : weights[i];
        if (!divides) {
          divisor += weight;
          continue;
        }
        const double* row = logits.data() + i * static_cast<std::size_t>(classes);
        double sum = 0;
        for (index v = 0; v < classes; ++v) {
          sum += std::exp(row[v]);
        }
        loss += weight * (std::log(sum) - row[targets[i]]) / divisor;
        for (index v = 0; v < classes; ++v) {
          dlogits[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(v)] =
              weight * (std::exp(row[v]) / sum - (v == targets[i] ? 1 : 0)) / divisor;
        }
      }
    }
  }
};

constexpr index kRows = 40, kClasses = 7;
const std::vector<float> kClassWeights = {1, 0.5F, 2, 0, 3, 0.25F, 1};

std::vector<std::int32_t> targets(std::int32_t ignored) {
  std::vector<std::int32_t> all;
  for (index i = 0; i < kRows; ++i) {
    all.push_back(i % 5 == 2 ? ignored : static_cast<std::int32_t>(i * i % kClasses));
  }
  return all;
}

TEST(CrossEntropy, WeighsClassesAndIgnoresATarget) {
  const auto logits = testing::converted<double>(numbers(kRows * kClasses, 1, -3, 3));
  std::vector<float> weights;
  for (index i = 0; i < kRows; ++i) {
    weights.push_back(static_cast<float>(i % 3));
  }
  for (const bool by_class : {false, true}) {
    for (const std::optional<std::int32_t> ignored : {std::optional<std::int32_t>{}, std::optional{-100}, std::optional{3}}) {
      for (const bool by_row : {false, true}) {
        if (!by_class && !ignored) {
          continue;  // then the number of targets divides
        }
        SCOPED_TRACE(concat(by_class, " ", ignored.value_or(-1), " ", by_row));
        const auto ids = targets(ignored.value_or(0));
        Tape tape;
        const Tensor x = tape.input<double>({kRows, kClasses}, logits, true);
        const CrossEntropyOptions options{.weights = by_row ? tape.input<float>({kRows}, weights) : Tensor{},
                                          .class_weights = by_class ? tape.input<float>({kClasses}, kClassWeights) : Tensor{},
                                          .ignored_target = ignored};
        const Tensor y = cross_entropy(x, tape.input<std::int32_t>({kRows}, ids), options);
        const Expected expected(kClasses, logits, ids, by_class ? kClassWeights : std::vector<float>{}, ignored,
                                by_row ? weights : std::vector<float>{});
        EXPECT_NEAR(*y.data<double>(), expected.loss, 1e-12);
        tape.backward(y);
        EXPECT_LE(testing::relative_error(gradient_of<double>(tape, x), expected.dlogits), 1e-12);
      }
    }
  }
}

// With a normalizer, micro-batches add up.
TEST(CrossEntropy, OfClassWeightsTakesANormalizer) {
  Tape tape;
  const auto ids = targets(0);
  const Tensor x = tape.input<float>({kRows, kClasses}, numbers(kRows * kClasses, 1));
  const auto loss = [&](std::optional<double> normalizer) {
    return *cross_entropy(x, tape.input<std::int32_t>({kRows}, ids),
                          {.class_weights = tape.input<float>({kClasses}, kClassWeights), .normalizer = normalizer})
                .data<float>();
  };
  double sum = 0;
  for (const std::int32_t id : ids) {
    sum += kClassWeights[static_cast<std::size_t>(id)];
  }
  EXPECT_FLOAT_EQ(loss(2 * sum), loss({}) / 2);
}

TEST(CrossEntropy, WithoutAnyTargetIsZero) {
  Tape tape;
  const Tensor x = tape.input<float>({2, 3}, numbers(6, 1), true);
  const Tensor y = cross_entropy(x, tape.input<std::int32_t>({2}, std::vector<std::int32_t>{-1, -1}), {.ignored_target = -1});
  EXPECT_EQ(*y.data<float>(), 0);
  tape.backward(y);
  EXPECT_EQ(gradient_of<float>(tape, x), std::vector<float>(6));
}

TEST(CrossEntropy, RefusesClassWeightsThatDoNotFit) {
  Tape tape;
  const Tensor x = tape.input<float>({2, 3}, numbers(6, 1)), ids = tape.input<std::int32_t>({2}, std::vector<std::int32_t>{0, 2});
  const Tensor two = tape.input<float>({2}, std::vector<float>{1, 1}), negative = tape.input<float>({3}, std::vector<float>{1, 1, -1});
  const Tensor three = tape.input<float>({3}, std::vector<float>{1, 1, 1});
  EXPECT_TRUE(names(error_of([&] { cross_entropy(x, ids, {.class_weights = two}); }), {"cross_entropy", "class weights", "[2]", "[3]"}));
  EXPECT_TRUE(names(error_of([&] { cross_entropy(x, ids, {.class_weights = negative}); }), {"cross_entropy", "class 2", "-1"}));
  EXPECT_TRUE(names(error_of([&] { cross_entropy(x, ids, {.class_weights = three, .label_smoothing = 0.1}); }),
                    {"cross_entropy", "label smoothing", "0.1", "class weights"}));
  EXPECT_TRUE(names(error_of([&] { cross_entropy(x, ids, {.ignored_target = 1, .normalizer = 0}); }), {"cross_entropy", "normalizer"}));
}

// linear_cross_entropy() leaves out rows of weight 0, whatever the reason.
TEST(LinearCrossEntropy, WeighsClassesAndIgnoresATarget) {
  for (const index at_once : {index{1}, kLogitsAtOnce}) {
    const auto run = [&](bool fused) {
      Tape tape;
      const Tensor x = tape.input<double>({kRows, 4}, testing::converted<double>(numbers(kRows * 4, 1)), true);
      const Tensor weight = tape.input<double>({kClasses, 4}, testing::converted<double>(numbers(kClasses * 4, 2)), true);
      const CrossEntropyOptions options{.class_weights = tape.input<float>({kClasses}, kClassWeights), .ignored_target = -100};
      const Tensor ids = tape.input<std::int32_t>({kRows}, targets(-100));
      const Tensor y = fused ? linear_cross_entropy(x, weight, ids, options, at_once) : cross_entropy(linear(x, weight), ids, options);
      std::vector<double> all{*y.data<double>()};
      tape.backward(y);
      for (const Tensor operand : {x, weight}) {
        const auto gradient = gradient_of<double>(tape, operand);
        all.insert(all.end(), gradient.begin(), gradient.end());
      }
      return all;
    };
    EXPECT_LE(testing::relative_error(run(true), run(false)), 1e-12) << at_once;
  }
}

}  // namespace
}  // namespace dikkat::loss_of_elements_test
