// Initial values are a function of (seed, path).

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/layers/tiny_gpt.h"

namespace dikkat {
namespace {

using testing::names;

template <class T = float>
std::vector<T> values_of(ParameterStore& store, const std::string& path) {
  const ParameterStore::Entry& entry = store.entry(path);
  const T* data = store.weights<T>() + entry.offset;
  return {data, data + entry.size()};
}

constexpr TransformerConfig kSmallGpt{.n_layer = 4, .n_head = 4, .n_embd = 64, .block_size = 64, .vocab_size = 200};

/// With q_norm and k_norm, c_attn of unequal parts, c_fc of two.
constexpr TransformerConfig kSmallLlama{.n_layer = 4,
                                        .n_head = 4,
                                        .n_kv_head = 2,
                                        .n_embd = 64,
                                        .block_size = 64,
                                        .vocab_size = 200,
                                        .qkv_bias = true,
                                        .positions = Positions::rope,
                                        .norm = NormKind::rms_norm,
                                        .qk_norm = true,
                                        .activation = Activation::silu,
                                        .gated = true};

struct Moments {
  double mean = 0, std = 0, kurtosis = 0;
};

Moments moments_of(const std::vector<float>& values) {
  const auto n = static_cast<double>(values.size());
  Moments m{.mean = std::accumulate(values.begin(), values.end(), 0.0) / n};
  double second = 0, fourth = 0;
  for (const float value : values) {
    const double d = static_cast<double>(value) - m.mean;
    second += d * d / n;
    fourth += d * d * d * d / n;
  }
  m.std = std::sqrt(second);
  m.kurtosis = fourth / (second * second);
  return m;
}

// Bounds are five standard errors of a sample of that size, so a correct draw passes and one off by a few percent does not.
TEST(InitialValues, AreNormalWithTheirStandardDeviation) {
  for (const TransformerConfig& config : {kSmallGpt, kSmallLlama}) {
    TinyGpt model(config, 7);
    for (const ParameterStore::Entry* entry : model.store.entries()) {
      if (entry->shape().rank() == 2) {
        const double expected = entry->path.ends_with("c_proj.weight") ? 0.02 / std::sqrt(2.0 * 4) : 0.02;
        const double n = static_cast<double>(entry->size());
        const Moments m = moments_of(values_of(model.store, entry->path));
        EXPECT_NEAR(m.std, expected, 5 * expected / std::sqrt(2 * n)) << entry->path;
        EXPECT_NEAR(m.mean, 0, 5 * expected / std::sqrt(n)) << entry->path;
        EXPECT_NEAR(m.kurtosis, 3, 5 * std::sqrt(24 / n)) << entry->path;
      }
    }
  }
}

TEST(InitialValues, AreOneForNormsAndZeroForBiases) {
  for (const TransformerConfig& config : {kSmallGpt, kSmallLlama}) {
    TinyGpt model(config, 7);
    int norms_of_heads = 0;
    for (const ParameterStore::Entry* entry : model.store.entries()) {
      if (entry->shape().rank() == 1) {
        const float expected = entry->path.ends_with("weight") ? 1.0F : 0.0F;
        EXPECT_EQ(values_of(model.store, entry->path), std::vector<float>(static_cast<std::size_t>(entry->size()), expected))
            << entry->path;
        norms_of_heads += entry->path.ends_with("q_norm.weight") || entry->path.ends_with("k_norm.weight") ? 1 : 0;
      }
    }
    EXPECT_EQ(norms_of_heads, config.qk_norm ? 2 * 4 : 0);
  }
}

/// Logits of some tokens.
std::vector<float> logits_of(const TransformerConfig& config) {
  return TinyGpt(config, 7).logits(some_tokens(2 * 20, config.vocab_size), 2);
}

// A block that begins with projections of 0 copies its input, so models of all depths are equal, and the head reads only its norm.
TEST(InitialValues, OfZeroProjectionsMakeABlockCopyItsInput) {
  for (const NormPosition where : {NormPosition::pre, NormPosition::post}) {
    TransformerConfig config = kSmallLlama;
    config.norm_position = where;
    config.zero_init_projections = true;
    TransformerConfig shallow = config;
    shallow.n_layer = 1;
    TinyGpt model(config, 7);
    for (const ParameterStore::Entry* entry : model.store.entries()) {
      const std::vector<float> values = values_of(model.store, entry->path);
      const bool is_zero = std::all_of(values.begin(), values.end(), [](float value) { return value == 0; });
      EXPECT_EQ(is_zero, entry->path.ends_with("c_proj.weight") || entry->path.ends_with("bias")) << entry->path;
    }
    EXPECT_EQ(where == NormPosition::pre, logits_of(config) == logits_of(shallow)) << "a norm after a norm has its eps";
  }
}

TEST(InitialValues, OfAZeroHeadKnowNothingExactly) {
  TransformerConfig config = kSmallGpt;
  config.tie_embeddings = false;
  EXPECT_NE(logits_of(config), std::vector<float>(40 * 200));
  config.zero_head = true;
  EXPECT_EQ(logits_of(config), std::vector<float>(40 * 200));
  config.tie_embeddings = true;
  EXPECT_TRUE(names(testing::error_of([&] { TinyGpt model(config); }), {"gpt", "zero_head", "tie_embeddings = false"}));
}

// With scalars at 1 and 0 a model begins as the one without them; gates begin at 1, so values begin with their tokens' rows.
TEST(InitialValues, OfScalarsChangeNothingAndGatesAreOne) {
  TransformerConfig config = kSmallLlama;
  config.residual_scalars = true;
  EXPECT_EQ(logits_of(config), logits_of(kSmallLlama));
  config.value_embeddings = ValueEmbeddings::all;
  EXPECT_NE(logits_of(config), logits_of(kSmallLlama));
  TinyGpt model(config, 7);
  EXPECT_EQ(values_of(model.store, "h.2.resid_lambda"), std::vector<float>{1});
  EXPECT_EQ(values_of(model.store, "h.2.x0_lambda"), std::vector<float>{0});
  EXPECT_EQ(values_of(model.store, "h.2.attn.value_gate.weight"), std::vector<float>(2 * 12));
  const Moments m = moments_of(values_of(model.store, "h.2.attn.value_embedding.weight"));
  EXPECT_NEAR(m.std, 0.02, 0.001);
}

// gate and up are rows of one matrix, but have different random numbers: equal halves would stay equal.
TEST(InitialValues, OfGateAndUpDiffer) {
  TinyGpt model(kSmallLlama, 7);
  const std::vector<float> both = values_of(model.store, "h.0.mlp.c_fc.weight");
  const auto half = both.begin() + std::ssize(both) / 2;
  EXPECT_NE(std::vector<float>(both.begin(), half), std::vector<float>(half, both.end()));
}

TEST(InitialValues, DependOnSeedAndPathAndNotOnTheOrderOfConstruction) {
  const auto fill = [](ParameterStore& store, const std::vector<std::string>& paths, std::uint64_t seed) {
    for (const std::string& path : paths) {
      store.add(path, {30, 7}, Init::normal(1), Decay::yes, Role::hidden);
    }
    store.allocate(seed);
  };
  ParameterStore forward, backward, alone, other;
  fill(forward, {"a", "b", "c"}, 3);
  fill(backward, {"c", "b", "a"}, 3);
  fill(alone, {"b"}, 3);
  fill(other, {"a", "b", "c"}, 4);
  for (const char* path : {"a", "b", "c"}) {
    EXPECT_EQ(values_of(forward, path), values_of(backward, path)) << path;
    EXPECT_NE(values_of(forward, path), values_of(other, path)) << path;
  }
  EXPECT_EQ(values_of(forward, "b"), values_of(alone, "b"));
  EXPECT_NE(values_of(forward, "a"), values_of(forward, "b"));
}

// Depth and head do not change the parameters that both models have.
TEST(InitialValues, OfAParameterDoNotDependOnTheModelAroundIt) {
  TransformerConfig deeper = kSmallGpt;
  deeper.tie_embeddings = false;
  deeper.n_layer = 6;
  TinyGpt model(kSmallGpt), other(deeper);
  for (const char* path : {"wte.weight", "wpe.weight", "h.3.attn.c_attn.weight", "h.3.mlp.c_fc.weight"}) {
    EXPECT_EQ(values_of(model.store, path), values_of(other.store, path)) << path;
  }
}

TEST(InitialValues, AreTheSameOnAnyNumberOfThreads) {
  const auto all = [](int threads) {
    const WithThreads with(threads, Work{0});
    TinyGpt model(kSmallGpt, 7);
    return std::vector<float>(model.store.weights<float>(), model.store.weights<float>() + model.store.slab_size());
  };
  const std::vector<float> one = all(1);
  EXPECT_EQ(one, all(2));
  EXPECT_EQ(one, all(4));
}

TEST(InitialValues, OfF32AreThoseOfF64Rounded) {
  TinyGpt single(kSmallGpt, 7), twice(kSmallGpt, 7, DType::f64);
  const std::vector<double> wide = values_of<double>(twice.store, "wte.weight");
  std::vector<float> rounded(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    rounded[i] = static_cast<float>(wide[i]);
  }
  EXPECT_EQ(values_of(single.store, "wte.weight"), rounded);
}

}  // namespace
}  // namespace dikkat
