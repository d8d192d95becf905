// Layers of models of one's own: Sequential, layers without parameters, embeddings, buffers.
#include "layers/sequential.h"

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "layers/activations.h"
#include "layers/attention.h"
#include "layers/embedding.h"
#include "layers/linear.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;
using testing::numbers;

std::vector<float> values_of_net(Tensor x) { return {x.data<float>(), x.data<float>() + x.size()}; }

TEST(Sequential, CallsLayersFunctionsAndLambdasInTheirOrder) {
  ParameterStore store;
  const Scope s(store);
  const Sequential net{Linear(s / "up", 6, 8), Gelu{}, Sequential{Linear(s / "mid", 8, 8, Init::orthogonal(), false), relu2},
                       [](Pass&, Tensor x) { return scale(x, 0.5); }, Linear(s / "down", 8, 2)};
  store.allocate(3);
  EXPECT_EQ(store.entries().size(), 5U);
  Tape tape;
  Pass pass{.tape = tape};
  const Tensor x = tape.input<float>({5, 6}, numbers(30, 1));
  const Tensor expected = net.layer<4>()(pass, scale(relu2(net.layer<2>().layer<0>()(pass, gelu(net.layer<0>()(pass, x)))), 0.5));
  const Tensor y = net(pass, x);
  EXPECT_EQ(y.shape(), (Shape{5, 2}));
  EXPECT_EQ(values_of_net(y), values_of_net(expected));
}

TEST(Sequential, TakesEveryLayerWithoutParameters) {
  Tape tape;
  Pass pass{.tape = tape};
  const Tensor x = tape.input<float>({2, 3, 4}, numbers(24, 1));
  const std::function<Tensor(Tensor)> twice = [](Tensor t) { return add(t, t); };
  const Sequential net{Relu{}, Silu{}, Sigmoid{}, Tanh{}, twice, Flatten{}};
  const Tensor y = net(pass, x);
  EXPECT_EQ(y.shape(), (Shape{2, 12}));
  EXPECT_EQ(values_of_net(y), values_of_net(twice(tanh(sigmoid(silu(relu(x)))))));
  EXPECT_EQ(values_of_net(Sequential<>()(pass, x)), values_of_net(x));
}

TEST(OwnLayers, OfLinearBeginAsTheyAreTold) {
  ParameterStore store;
  const Scope s(store);
  const Linear plain(s / "plain", 100, 50), without(s / "without", 4, 4, Init::orthogonal(), false), normal(s / "normal", 4, 4, true, 0.0);
  store.allocate(1);
  EXPECT_EQ(store.entry("plain.weight").init.kind, Init::Kind::kaiming_uniform);
  EXPECT_EQ(store.entry("normal.weight").init.kind, Init::Kind::zeros);
  EXPECT_TRUE(plain.bias);
  EXPECT_FALSE(without.bias);
  const float* const weights = store.weights<float>() + store.entry("plain.weight").offset;
  EXPECT_TRUE(std::all_of(weights, weights + 5000, [](float w) { return std::abs(w) <= 0.1F; }));
  EXPECT_TRUE(std::any_of(weights, weights + 5000, [](float w) { return std::abs(w) > 0.099F; }));
}

TEST(OwnLayers, OfEmbeddingsTakeIdsOfAnyShape) {
  ParameterStore store;
  const Embedding table(Scope(store) / "table", 10, 3, 1);
  store.allocate(1);
  Tape tape;
  Pass pass{.tape = tape};
  const std::vector<std::int32_t> ids = {7, 0, 7, 9, 2, 3};
  for (const Shape& shape : {Shape{6}, Shape{2, 3}, Shape{1, 2, 3}}) {
    const Tensor y = table(pass, tape.input<std::int32_t>(shape, ids));
    EXPECT_EQ(y.shape().rank(), shape.rank() + 1);
    EXPECT_EQ(y.shape().cols(), 3);
    for (index i = 0; i < 18; ++i) {
      EXPECT_EQ(y.data<float>()[i], store.weights<float>()[ids[static_cast<std::size_t>(i / 3)] * 3 + i % 3]);
    }
  }
  EXPECT_TRUE(names(error_of([&] { table(pass, tape.input<std::int32_t>({1}, std::vector{10})); }), {"embedding", "10"}));
}

TEST(OwnLayers, OfAttentionNeedNoConfiguration) {
  ParameterStore store;
  const SelfAttention attention(Scope(store) / "attn", 12, 3, true);
  store.allocate(1);
  EXPECT_EQ(store.entry("attn.c_attn.weight").shape(), (Shape{36, 12}));
  Tape tape;
  Pass pass{.tape = tape};
  const Tensor x = tape.input<float>({2, 5, 12}, numbers(120, 1), true);
  const Tensor y = add(x, attention(pass, x));
  EXPECT_EQ(y.shape(), x.shape());
  tape.backward(sum(y));
  EXPECT_NE(tape.gradient<float>(x), nullptr);
  ParameterStore other;
  EXPECT_TRUE(names(error_of([&] { SelfAttention(Scope(other) / "attn", 13, 3, true); }), {"attn", "3 heads", "13"}));
}

TEST(OwnLayers, HaveBuffersThatAreNotTrained) {
  ParameterStore store;
  const Scope s = Scope(store) / "norm";
  const Parameter weight = s.param("weight", {4}, Init::ones(), Decay::no, Role::vector),
                  mean = s.buffer("running_mean", {4}, Init::zeros());
  store.allocate(1);
  EXPECT_EQ(store.trainable().size(), 1U);
  EXPECT_TRUE(store.entry("norm.running_mean").frozen);
  EXPECT_FALSE(Tensor(mean).needs_gradient());
  EXPECT_TRUE(Tensor(weight).needs_gradient());
  EXPECT_EQ(values_of_net(mean), std::vector<float>(4));
}

}  // namespace
}  // namespace dikkat
