#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/kernels/instruction_set.h"
#include "autograd/ops/activation.h"
#include "autograd/ops/attention.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/convolution.h"
#include "autograd/ops/head_norm.h"
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/value_embedding.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"

// Compares ops of bf16 with the same ops of f32. Operands and gradients are numbers that bf16 holds exactly. So results differ only by the
// op's roundings, each of which is at most 2^-8 of its number.
namespace dikkat::bf16_test {
namespace {

using testing::error_of;
using testing::largest_magnitude;
using testing::names;
using testing::numbers;
using testing::same_bits;

constexpr double kRounding = 0x1p-8;
constexpr double kF32 = 1e-5;  // of the largest number: sums in f32, in another order

std::vector<float> rounded(std::vector<float> values) {
  for (float& value : values) {
    value = to_float(to_bf16(value));
  }
  return values;
}

struct Operand {
  Shape shape;
  bool is_parameter = false;  // f32 in both
  std::vector<float> values{};
};
Operand operand(Shape shape, std::uint64_t seed) { return {shape, false, rounded(numbers(shape.size(), seed, -2, 2))}; }
Operand parameter(Shape shape, std::uint64_t seed) { return {shape, true, rounded(numbers(shape.size(), seed, -2, 2))}; }

using Values = std::vector<double>;
struct Outcome {
  DType dtype;
  Values y;
  std::vector<Values> gradients;
  std::vector<DType> gradient_dtypes;
};

Values values_of(Tensor x, const void* data) {
  return for_stored(x.dtype(), "test", [&](auto zero) {
    Values values;
    for (index i = 0; i < x.size(); ++i) {
      values.push_back(static_cast<double>(to_computed(static_cast<const decltype(zero)*>(data)[i])));
    }
    return values;
  });
}

using Function = std::function<Tensor(std::span<const Tensor>)>;

/// Runs the op on operands that are cast to `dtype`, unless they are parameters, and returns all gradients.
Outcome run(DType dtype, const std::vector<Operand>& operands, const Function& f) {
  Tape tape;
  std::vector<Tensor> leaves, given;
  for (const Operand& o : operands) {
    leaves.push_back(tape.input<float>(o.shape, o.values, true));
    given.push_back(o.is_parameter ? leaves.back() : cast(leaves.back(), dtype));
  }
  const Tensor y = f(given);
  const Tensor dy = tape.input<float>(y.shape(), rounded(numbers(y.size(), 99, -1, 1)));
  Outcome outcome{y.dtype(), values_of(y, y.record()->data), {}, {}};
  tape.backward(y, cast(dy, y.dtype()));
  for (const Tensor leaf : leaves) {
    outcome.gradients.push_back(values_of(leaf, tape.gradient<float>(leaf)));
  }
  return outcome;
}

void expect_within(const Values& found, const Values& expected, double relative, double absolute) {
  ASSERT_EQ(found.size(), expected.size());
  const double f32 = kF32 * largest_magnitude(expected);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_LE(std::abs(found[i] - expected[i]), relative * std::abs(expected[i]) + absolute + f32) << i;
  }
}

// As a whole, results are nearer than their separate bounds: a number has a few independent roundings.
void expect_near(const Values& found, const Values& expected) {
  double difference = 0, whole = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    whole += expected[i] * expected[i];
  }
  EXPECT_LE(std::sqrt(difference), 2 * kRounding * std::sqrt(whole));
}

/// Checks y and the gradients: each may differ by its own roundings, and by `more`, one for y and one for each gradient.
void check(const std::vector<Operand>& operands, const Function& f, DType dtype_of_y = DType::bf16, const std::vector<double>& more = {}) {
  const Outcome found = run(DType::bf16, operands, f), expected = run(DType::f32, operands, f);
  const auto further = [&](std::size_t i) { return i < more.size() ? more[i] : 0.0; };
  EXPECT_EQ(found.dtype, dtype_of_y);
  expect_near(found.y, expected.y);
  expect_within(found.y, expected.y, dtype_of_y == DType::bf16 ? kRounding : 0, further(0));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    SCOPED_TRACE(::testing::Message() << "gradient of operand " << i);
    expect_near(found.gradients[i], expected.gradients[i]);
    expect_within(found.gradients[i], expected.gradients[i], operands[i].is_parameter ? 0 : kRounding, further(i + 1));
  }
  for (const int threads : {1, 3}) {
    const WithThreads with(threads, Work{0});
    const Outcome again = run(DType::bf16, operands, f);
    EXPECT_TRUE(same_bits(again.y, found.y)) << threads << " threads";
    for (std::size_t i = 0; i < operands.size(); ++i) {
      EXPECT_TRUE(same_bits(again.gradients[i], found.gradients[i])) << threads << " threads, gradient of operand " << i;
    }
  }
}

TEST(Bf16Ops, Functions) {
  for (const auto f : {gelu, relu, relu2, silu, sigmoid, tanh}) {
    check({operand({37, 65}, 1)}, [f](std::span<const Tensor> t) { return f(t[0]); });
  }
}

TEST(Bf16Ops, Gated) {
  for (const Activation a : {Activation::gelu, Activation::relu, Activation::relu2, Activation::silu}) {
    check({operand({37, 66}, 1)}, [a](std::span<const Tensor> t) { return gated(a, t[0]); });
  }
}

TEST(Bf16Ops, RmsNormOfF32) {
  check({parameter({37, 65}, 1), parameter({65}, 2)},
        [](std::span<const Tensor> t) { return rms_norm(t[0], t[1], {.dtype = DType::bf16}); });
}

TEST(Bf16Ops, NormsOfBf16) {
  const std::vector<Operand> operands = {operand({5, 24}, 1), parameter({24}, 2), parameter({24}, 3)};
  check(operands, [](std::span<const Tensor> t) { return layer_norm(t[0], t[1], t[2]); });
  check(operands, [](std::span<const Tensor> t) { return layer_norm(t[0], t[1], t[2], {.dtype = DType::f32}); }, DType::f32);
  check({operands[0], operands[1]}, [](std::span<const Tensor> t) { return rms_norm(t[0], t[1]); });
}

TEST(Bf16Ops, HeadNorm) {
  check({operand({37, 100}, 1), parameter({20}, 2), parameter({20}, 3)},
        [](std::span<const Tensor> t) { return head_norm(t[0], t[1], t[2], {.heads = 3, .key_heads = 1}); });
}

TEST(Bf16Ops, AddValueEmbedding) {
  check({operand({37, 100}, 1), operand({37, 33}, 2), parameter({37, 40}, 3), parameter({2, 12}, 4)},
        [](std::span<const Tensor> t) { return add_value_embedding(t[0], t[1], t[2], t[3]); });
}

TEST(Bf16Ops, Dropout) {
  check({operand({37, 65}, 1)}, [](std::span<const Tensor> t) { return dropout(t[0], 0.25, RandomStream(1, "here", 2), 3); });
}

TEST(Bf16Ops, ATensorThatIsReadTwiceHasTheSumOfBothGradients) {
  check(
      {operand({5, 33}, 1)}, [](std::span<const Tensor> t) { return add(cast(relu(t[0]), DType::f32), cast(relu(t[0]), DType::f32)); },
      DType::f32);
}

TEST(Bf16Ops, LayerNormOfF32) {
  check({parameter({37, 65}, 1), parameter({65}, 2), parameter({65}, 3)},
        [](std::span<const Tensor> t) { return layer_norm(t[0], t[1], t[2], {.dtype = DType::bf16}); });
}

TEST(Bf16Ops, AddLayerNormOfABranch) {
  for (const double probability : {0.0, 0.3}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const DropoutOptions options{.probability = probability, .stream = RandomStream(1, "here", 2), .first = 3};
      const Function norm = [=](std::span<const Tensor> t) {
        return add_layer_norm(t[0], t[1], t[2], t[3], options, {.dtype = dtype}).norm;
      };
      const std::vector<Operand> operands = {parameter({37, 65}, 1), operand({37, 65}, 2), parameter({65}, 3), parameter({65}, 4)};
      check(operands, norm, dtype);
      const auto both = [&](std::span<const Tensor> t) {
        const SumAndNorm made = add_layer_norm(t[0], t[1], t[2], t[3], options, {.dtype = dtype});
        return add(made.sum, cast(made.norm, DType::f32));
      };
      check(operands, both, DType::f32, {4 * kRounding});  // the norm's largest number is below 4
    }
  }
}

TEST(Bf16Ops, Linear) {
  for (const DType dtype : {DType::bf16, DType::f32}) {
    const auto f = [dtype](std::span<const Tensor> t) {
      return dtype == DType::f32 ? linear(t[0], t[1], t[2], {.dtype = dtype}) : linear(t[0], t[1], t[2]);
    };
    check({operand({3, 15, 33}, 1), parameter({65, 33}, 2), parameter({65}, 3)}, f, dtype);
    check({operand({129, 800}, 1), parameter({50, 800}, 2), parameter({50}, 3)}, f, dtype);
  }
}

// Sums over a batch are rounded once, too.
TEST(Bf16Ops, Matmul) {
  const auto f = [](bool transpose_b) { return [=](std::span<const Tensor> t) { return matmul(t[0], t[1], transpose_b); }; };
  check({operand({3, 15, 33}, 1), operand({3, 33, 20}, 2)}, f(false));
  check({operand({5, 15, 33}, 1), operand({20, 33}, 2)}, f(true));
  check({operand({15, 33}, 1), operand({40, 33, 7}, 2)}, f(false));
  check({operand({2, 1, 9, 33}, 1), operand({3, 17, 33}, 2)}, f(true));
  check({operand({7, 33}, 1), operand({33}, 2)}, f(false));
  check({operand({2, 17, 3, 16}, 1), operand({2, 33, 3, 16}, 2)},
        [](std::span<const Tensor> t) { return einsum("bthd,bshd->bhts", t[0], t[1]); });
}

TEST(Bf16Ops, ActivatedLinearHasTheBitsOfItsParts) {
  for (const Nonlinearity n : {Nonlinearity{Activation::gelu}, Nonlinearity{Activation::relu}, Nonlinearity{Activation::silu, true}}) {
    const std::vector<Operand> operands = {operand({19, n.gated ? 66 : 33}, 1), parameter({65, 33}, 2), parameter({65}, 3)};
    const Outcome found = run(DType::bf16, operands, [=](std::span<const Tensor> t) { return activated_linear(n, t[0], t[1], t[2]); });
    const Outcome parts = run(DType::bf16, operands, [=](std::span<const Tensor> t) { return linear(activate(n, t[0]), t[1], t[2]); });
    EXPECT_TRUE(same_bits(found.y, parts.y));
    for (std::size_t i = 0; i < operands.size(); ++i) {
      EXPECT_TRUE(same_bits(found.gradients[i], parts.gradients[i])) << i;
    }
  }
}

// Backward takes <dy, y> from the rounded y. With D columns below 1 times 2, it errs by 2^-8 * 2 D. The weights, whose sum is 1, pass this
// to dq with keys below 2; dk gets it from at most `queries` weights, with queries below 2.
TEST(Bf16Ops, Attention) {
  constexpr index kHeads = 2, kSize = 24, kTime = 70;
  const AttentionOptions options{.heads = kHeads, .head_size = kSize, .causal = true, .dropout = 0.1, .stream = RandomStream(1, "here", 2)};
  const double scale = 1 / std::sqrt(static_cast<double>(kSize));
  const double bound = kRounding * kTime * scale * 2 * (2 * kSize) / (1 - options.dropout);
  // By AMX, weights are rounded too: y is a mean of values up to 2.
  const double of_y = kernels::has_amx_products() ? kRounding * 2 / (1 - options.dropout) : 0;
  check({operand({2, kTime, 3 * kHeads * kSize}, 1)}, [&](std::span<const Tensor> t) { return self_attention(t[0], options); }, DType::bf16,
        {of_y, bound});
}

// This is the bound above, for three heads of queries that all add to one dk, and queries and keys rotated by up to 1.
TEST(Bf16Ops, AttentionOfGroupsWithRotations) {
  constexpr index kHeads = 3, kSize = 24, kTime = 70;
  const double scale = 1 / std::sqrt(static_cast<double>(kSize));
  const double bound = kHeads * kRounding * kTime * scale * 2 * (2 * kSize);
  std::vector<float> angles;
  for (index t = 0; t < kTime; ++t) {
    for (index d = 0; d < kSize; ++d) {
      const double angle = static_cast<double>(t) / static_cast<double>(1 + d % (kSize / 2));
      angles.push_back(static_cast<float>(d < kSize / 2 ? std::cos(angle) : std::sin(angle)));
    }
  }
  const auto f = [&](std::span<const Tensor> t) {
    return self_attention(t[0], {.heads = kHeads,
                                 .head_size = kSize,
                                 .key_heads = 1,
                                 .rotation = t[0].tape()->input<float>({kTime, kSize}, angles),
                                 .causal = true});
  };
  // By AMX, weights are rounded too, and rotated queries and keys, whose squares add up to at most 4 kSize. A score that differs by e
  // changes y by at most 2 e times the largest value.
  const double of_score = scale * 2 * kRounding * 4 * kSize;
  const double of_y = kernels::has_amx_products() ? kRounding * 2 + 2 * of_score * 2 : 0;
  check({operand({2, kTime, (kHeads + 2) * kSize}, 1)}, f, DType::bf16, {of_y, bound});
}

// The gradients of logits are rounded before their products. The magnitudes of a row add up to at most 2, divided by the normalizer; those
// of a class to at most 1.
TEST(Bf16Ops, LinearCrossEntropy) {
  constexpr index kRows = 210, kWidth = 40;
  for (const index classes : {65, 2500}) {
    for (const index at_once : {kLogitsAtOnce, index{1}}) {
      std::vector<std::int32_t> targets;
      for (index i = 0; i < kRows; ++i) {
        targets.push_back(static_cast<std::int32_t>(i * 7919 % classes));
      }
      const auto f = [&](std::span<const Tensor> t) {
        return linear_cross_entropy(t[0], t[1], t[1].tape()->input<std::int32_t>({kRows}, targets), {}, at_once);
      };
      check({operand({kRows, kWidth}, 1), parameter({classes, kWidth}, 2)}, f, DType::f32, {0, kRounding * 2 * 2 / kRows, kRounding * 2});
    }
  }
}

TEST(Bf16Ops, CrossEntropyIsOfF32) {
  const std::vector<std::int32_t> targets = {3, 0, 6, 1};
  check(
      {operand({4, 7}, 1)}, [&](std::span<const Tensor> t) { return cross_entropy(t[0], t[0].tape()->input<std::int32_t>({4}, targets)); },
      DType::f32);
}

TEST(Bf16Ops, Convolutions) {
  const auto conv1 = [](std::span<const Tensor> t) { return conv1d(t[0], t[1], t[2], {.stride = 2, .padding = 1}); };
  const auto conv2 = [](std::span<const Tensor> t) { return conv2d(t[0], t[1], {}, {.padding = 1, .groups = 2}); };
  check({operand({2, 3, 17}, 1), operand({5, 3, 3}, 2), operand({5}, 3)}, conv1);
  check({operand({2, 3, 17}, 1), parameter({5, 3, 3}, 2), parameter({5}, 3)}, conv1);
  check({operand({2, 4, 9, 7}, 1), parameter({6, 2, 3, 3}, 2)}, conv2);
  check({operand({2, 3, 9, 7}, 1)}, [](std::span<const Tensor> t) { return unfold(t[0], 3, {.stride = 2}); });
}

TEST(Bf16Ops, Pools) {
  check({operand({2, 3, 9, 7}, 1)}, [](std::span<const Tensor> t) { return max_pool2d(t[0], 3, {.stride = 2, .padding = 1}); });
  check({operand({2, 3, 9, 7}, 1)}, [](std::span<const Tensor> t) { return avg_pool2d(t[0], 2); });
  check({operand({6, 30}, 1)}, [](std::span<const Tensor> t) { return max_pool1d(t[0], 4); });
}

TEST(Bf16Ops, CastRoundsAndPassesGradientsOn) {
  Tape tape;
  const std::vector<float> values = {1, 1.00390625F, 1.01171875F, -3e38F};
  const Tensor x = tape.input<float>({4}, values, true);
  const Tensor y = cast(x, DType::bf16);
  EXPECT_EQ(to_float(y.data<bf16>()[0]), 1);
  EXPECT_EQ(to_float(y.data<bf16>()[1]), 1) << "a tie goes to the even neighbor";
  EXPECT_EQ(to_float(y.data<bf16>()[2]), 1.015625F);
  EXPECT_EQ(cast(x, DType::f32), x);
}

TEST(Bf16Ops, OthersRefuseIt) {
  Tape tape;
  const Tensor x = cast(tape.input<float>({2, 3}, numbers(6, 1)), DType::bf16);
  const Tensor image = reshape(x, {1, 2, 3});
  EXPECT_TRUE(names(error_of([&] { conv1d(image, cast(image, DType::f64)); }), {"conv1d", "f32", "f64"}));
  EXPECT_TRUE(names(error_of([&] { linear(x, cast(x, DType::f64)); }), {"linear", "bf16", "f64", "f32"}));
  EXPECT_TRUE(names(error_of([&] { layer_norm(cast(x, DType::f64), cast(x, DType::f64), {}, {.dtype = DType::bf16}); }),
                    {"layer_norm", "bf16", "f64", "f32"}));
}

}  // namespace
}  // namespace dikkat::bf16_test
