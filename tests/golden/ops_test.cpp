// Compares single ops, forward and backward, with PyTorch's float64 results (make_ops_fixture.py).

#include <map>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/kernels/attention.h"
#include "autograd/ops/attention.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/loss.h"
#include "autograd/tape/tape.h"
#include "tests/golden/compare.h"
#include "tests/golden/fixture.h"

namespace dikkat::ops_test {
namespace {

// Bounds relative to a tensor's largest magnitude. Sums here have at most 60 terms, so f32 keeps some six digits.
template <class T>
constexpr double kTolerance = std::is_same_v<T, double> ? 1e-13 : 2e-6;

Shape shape_of(const std::vector<index>& e) {
  switch (e.size()) {
    case 0: return {};
    case 1: return {e[0]};
    case 2: return {e[0], e[1]};
    case 3: return {e[0], e[1], e[2]};
    default: return {e.at(0), e.at(1), e.at(2), e.at(3)};
  }
}

template <class T>
std::vector<double> values_of(const T* data, index count) {
  return {data, data + count};
}

/// A group of the fixture: its inputs on a tape, its results compared.
template <class T>
class OpCase {
 public:
  explicit OpCase(const std::string& group) : fixture_(golden("ops.h5")), group_(group + "/") {}

  Tensor input(const std::string& name, bool needs_gradient = true) {
    const std::vector<double> values = fixture_.read(group_ + name);
    const Tensor x = tape.input<T>(shape_of(fixture_.shape(group_ + name)), std::vector<T>(values.begin(), values.end()), needs_gradient);
    if (needs_gradient) {
      leaves_[name] = x;
    }
    return x;
  }
  Tensor ints(const std::string& name) {
    return tape.input<std::int32_t>(shape_of(fixture_.shape(group_ + name)), fixture_.read_ints(group_ + name));
  }
  std::vector<double> read(const std::string& name) const { return fixture_.read(group_ + name); }
  double attribute(const std::string& name) const { return fixture_.attribute(group_ + name); }
  index extent(const std::string& name) const { return static_cast<index>(attribute(name)); }

  /// Compares y, and the gradients of <dy, y> for all inputs.
  void check(Tensor y, const std::string& name, Tensor dy) {
    EXPECT_LE(error_of(values_of(y.data<T>(), y.size()), read(name)), kTolerance<T>) << group_ << name;
    tape.backward(y, dy);
    for (const auto& [leaf, x] : leaves_) {
      const T* gradient = tape.gradient<T>(x);
      ASSERT_NE(gradient, nullptr) << group_ << leaf;
      EXPECT_LE(error_of(values_of(gradient, x.size()), read("d" + leaf)), kTolerance<T>) << group_ << "d" << leaf;
    }
  }
  void check(Tensor y) { check(y, "y", input("dy", false)); }

  Tape tape;

 private:
  Fixture fixture_;
  std::string group_;
  std::map<std::string, Tensor> leaves_;
};

template <class T>
class GoldenOps : public ::testing::Test {};

TYPED_TEST_SUITE(GoldenOps, FloatTypes, FloatTypeName);

TYPED_TEST(GoldenOps, LayerNorm) {
  OpCase<TypeParam> c("layer_norm");
  c.check(layer_norm(c.input("x"), c.input("gamma"), c.input("beta"), {.eps = c.attribute("eps")}));
}

TYPED_TEST(GoldenOps, Gelu) {
  OpCase<TypeParam> c("gelu");
  c.check(gelu(c.input("x")));
}

TYPED_TEST(GoldenOps, Softmax) {
  OpCase<TypeParam> c("softmax");
  c.check(softmax(c.input("x")));
}

TYPED_TEST(GoldenOps, CausalAttentionOfPackedQkv) {
  OpCase<TypeParam> c("causal_attention");
  EXPECT_DOUBLE_EQ(c.attribute("scale"), 1 / std::sqrt(c.attribute("D")));  // our default
  c.check(self_attention(c.input("qkv"), {.heads = c.extent("H"), .head_size = c.extent("D"), .causal = true}));
}

TYPED_TEST(GoldenOps, CausalAttentionSavesTheLogSumExp) {
  using T = TypeParam;
  OpCase<T> c("causal_attention");
  const index batch = c.extent("B"), time = c.extent("T"), heads = c.extent("H"), size = c.extent("D"), width = heads * size;
  const Tensor qkv = c.input("qkv");
  const auto columns = [&](index at) { return kernels::Heads<const T>{qkv.data<T>() + at, time * 3 * width, 3 * width}; };
  std::vector<T> y(static_cast<std::size_t>(batch * time * width)), log2_sum(static_cast<std::size_t>(batch * heads * time));
  kernels::attention_forward<T>({.shape = {.batch = batch,
                                           .heads = heads,
                                           .queries = time,
                                           .keys = time,
                                           .head_size = size,
                                           .scale = c.attribute("scale"),
                                           .causal = true,
                                           .stream = {}},
                                 .q = columns(0),
                                 .k = columns(width),
                                 .v = columns(2 * width),
                                 .y = {y.data(), time * width, width},
                                 .log2_sum = log2_sum.data()});
  std::vector<double> log_sum_exp;
  for (const T sum : log2_sum) {
    log_sum_exp.push_back(static_cast<double>(sum) * std::numbers::ln2);
  }
  EXPECT_LE(error_of(log_sum_exp, c.read("log_sum_exp")), kTolerance<T>);
}

TYPED_TEST(GoldenOps, AttentionOverIntervalsOfKeysSomeOfThemEmpty) {
  OpCase<TypeParam> c("interval_attention");
  c.check(attention({c.input("q")}, {c.input("k")}, {c.input("v")},
                    {.heads = c.extent("H"),
                     .head_size = c.extent("D"),
                     .scale = c.attribute("scale"),
                     .key_begin = c.ints("lo"),
                     .key_end = c.ints("hi")}));
}

template <class T>
void check_cross_entropy(OpCase<T>& c, double label_smoothing) {
  const std::vector<double> read = c.read("weights");
  const Tensor weights = c.tape.template input<float>({static_cast<index>(read.size())}, std::vector<float>(read.begin(), read.end()));
  const Tensor loss = cross_entropy(c.input("logits"), c.ints("targets"),
                                    {.weights = weights, .normaliser = c.attribute("normaliser"), .label_smoothing = label_smoothing});
  c.check(loss, "loss", c.tape.template input<T>({}, std::vector{static_cast<T>(c.attribute("dloss"))}));
}

TYPED_TEST(GoldenOps, WeightedCrossEntropy) {
  OpCase<TypeParam> c("cross_entropy");
  check_cross_entropy(c, 0);
}

TYPED_TEST(GoldenOps, SmoothedCrossEntropy) {
  OpCase<TypeParam> c("smoothed_cross_entropy");
  check_cross_entropy(c, c.attribute("label_smoothing"));
}

TYPED_TEST(GoldenOps, CrossEntropyOfEachRow) {
  OpCase<TypeParam> c("cross_entropy");
  const Tensor logits = c.input("logits", false);
  const Tensor targets = c.ints("targets");
  std::vector<double> losses;
  for (index row = 0; row < targets.size(); ++row) {
    losses.push_back(static_cast<double>(
        *cross_entropy(slice(logits, 0, row, 1), c.tape.template input<std::int32_t>({1}, std::vector{targets.data<std::int32_t>()[row]}))
             .template data<TypeParam>()));
  }
  EXPECT_LE(error_of(losses, c.read("losses")), kTolerance<TypeParam>);
}

TYPED_TEST(GoldenOps, EmbeddingOfRepeatedTokens) {
  OpCase<TypeParam> c("embedding");
  c.check(embedding(c.ints("tokens"), c.input("wte"), {.positions = c.input("wpe")}));
}

}  // namespace
}  // namespace dikkat::ops_test
