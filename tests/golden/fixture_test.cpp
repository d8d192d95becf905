#include "tests/golden/fixture.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dikkat::fixture_test {
namespace {

index count_of(const std::vector<index>& extents) { return std::accumulate(extents.begin(), extents.end(), index{1}, std::multiplies<>()); }

index parameter_count(const Fixture& fixture, const std::string& group) {
  index count = 0;
  for (const std::string& name : fixture.names(group)) {
    count += count_of(fixture.shape(group + "/" + name));
  }
  return count;
}

double sum_of_squares(const std::vector<double>& values) { return std::inner_product(values.begin(), values.end(), values.begin(), 0.0); }

/// Parameters of a GPT by arithmetic, from the attributes of the group `at` ("" or "untied/").
index expected_parameters(const Fixture& fixture, const std::string& at) {
  const auto key = [&](const char* name) { return static_cast<index>(fixture.attribute(at + name)); };
  const index C = key("n_embd"), bias = key("bias");
  const index block = 2 * (1 + bias) * C + (3 * C * C + key("qkv_bias") * 3 * C) + (C * C + bias * C) + (8 * C * C + bias * 5 * C);
  const index heads = key("tie_embeddings") == 1 ? 1 : 2;
  return heads * key("vocab_size") * C + key("block_size") * C + key("n_layer") * block + (1 + bias) * C;
}

TEST(GptFixture, HoldsEveryParameterOfItsModels) {
  const Fixture gpt(golden("gpt.h5"));
  EXPECT_EQ(parameter_count(gpt, "weights"), 28064);
  for (const std::string at : {"", "untied/", "unbiased/"}) {
    EXPECT_EQ(parameter_count(gpt, at + "weights"), expected_parameters(gpt, at)) << at;
    EXPECT_EQ(gpt.names(at + "gradients"), gpt.names(at + "weights")) << at;
    for (const std::string& name : gpt.names(at + "weights")) {
      EXPECT_EQ(gpt.shape(at + "gradients/" + name), gpt.shape(at + "weights/" + name)) << at << name;
    }
  }
  EXPECT_EQ(gpt.names("adamw/weights"), gpt.names("weights"));
}

TEST(GptFixture, UsesTheNamesAndLayoutsOfGpt2) {
  const Fixture gpt(golden("gpt.h5"));
  using Extents = std::vector<index>;
  EXPECT_EQ(gpt.shape("weights/wte.weight"), (Extents{65, 32}));
  EXPECT_EQ(gpt.shape("weights/wpe.weight"), (Extents{16, 32}));
  EXPECT_EQ(gpt.shape("weights/h.0.ln_1.bias"), (Extents{32}));
  EXPECT_EQ(gpt.shape("weights/h.1.attn.c_attn.weight"), (Extents{96, 32}));
  EXPECT_EQ(gpt.shape("weights/h.1.attn.c_attn.bias"), (Extents{96}));
  EXPECT_EQ(gpt.shape("weights/h.1.mlp.c_fc.weight"), (Extents{128, 32}));
  EXPECT_EQ(gpt.shape("weights/h.1.mlp.c_proj.weight"), (Extents{32, 128}));
  EXPECT_EQ(gpt.shape("untied/weights/lm_head.weight"), (Extents{50, 18}));
  EXPECT_EQ(gpt.shape("tokens"), (Extents{10, 3, 16}));
  EXPECT_EQ(gpt.shape("targets"), (Extents{10, 3, 16}));
  EXPECT_EQ(gpt.shape("logits"), (Extents{3, 16, 65}));
  EXPECT_EQ(gpt.shape("loss"), Extents{});
}

TEST(GptFixture, WeightsAndTargetWeightsAreExactInFloat32) {
  const Fixture gpt(golden("gpt.h5"));
  for (const std::string at : {"", "untied/", "unbiased/"}) {
    std::vector<std::string> exact{at + "weighted/target_weights"};
    for (const std::string& name : gpt.names(at + "weights")) {
      exact.push_back(at + "weights/" + name);
    }
    for (const std::string& name : exact) {
      for (const double value : gpt.read(name)) {
        ASSERT_EQ(value, static_cast<double>(static_cast<float>(value))) << name;
      }
    }
  }
}

// Checks logits, targets and both losses against one another by the formula, without PyTorch.
TEST(GptFixture, LossesFollowFromLogits) {
  const Fixture gpt(golden("gpt.h5"));
  for (const std::string at : {"", "untied/", "unbiased/"}) {
    const auto vocabulary = static_cast<std::size_t>(gpt.attribute(at + "vocab_size"));
    const std::vector<double> logits = gpt.read(at + "logits");
    const std::vector<std::int32_t> targets = gpt.read_ints(at + "targets");
    const std::vector<double> weights = gpt.read(at + "weighted/target_weights");
    double sum = 0, weighted = 0;
    for (std::size_t row = 0; row < weights.size(); ++row) {
      const double* z = logits.data() + row * vocabulary;
      double denominator = 0;
      for (std::size_t id = 0; id < vocabulary; ++id) {
        denominator += std::exp(z[id]);
      }
      const double loss = std::log(denominator) - z[targets[row]];
      sum += loss;
      weighted += weights[row] * loss;
    }
    EXPECT_NEAR(sum / static_cast<double>(weights.size()), gpt.read(at + "loss")[0], 1e-12) << at;
    EXPECT_NEAR(weighted / gpt.attribute(at + "weighted/normaliser"), gpt.read(at + "weighted/loss")[0], 1e-12) << at;
  }
}

TEST(GptFixture, TrainingBeginsWithTheFirstGradientsAndClipsSomeSteps) {
  const Fixture gpt(golden("gpt.h5"));
  double squares = 0;
  for (const std::string& name : gpt.names("gradients")) {
    squares += sum_of_squares(gpt.read("gradients/" + name));
  }
  const std::vector<double> norms = gpt.read("adamw/grad_norms");
  ASSERT_EQ(norms.size(), 10U);
  EXPECT_NEAR(norms[0], std::sqrt(squares), 1e-12);
  EXPECT_NEAR(gpt.read("adamw/losses").at(0), gpt.read("loss").at(0), 1e-12);
  const double max_norm = gpt.attribute("adamw/max_norm");
  const auto clipped = std::count_if(norms.begin(), norms.end(), [&](double norm) { return norm > max_norm; });
  EXPECT_EQ(clipped, 8);
  const std::vector<double> rates = gpt.read("adamw/learning_rates");
  EXPECT_EQ(rates.size(), 10U);
  EXPECT_DOUBLE_EQ(rates.at(0), gpt.attribute("adamw/lr_max") / 4);
  EXPECT_DOUBLE_EQ(rates.at(3), gpt.attribute("adamw/lr_max"));
  EXPECT_NE(gpt.read("adamw/weights/wte.weight"), gpt.read("weights/wte.weight"));
}

/// Parameters of a model of llama.h5 by arithmetic, from the attributes of its group.
index expected_llama_parameters(const Fixture& fixture, const std::string& at) {
  const auto key = [&](const char* name) { return static_cast<index>(fixture.attribute(at + name)); };
  const index C = key("n_embd"), D = key("head_size"), F = key("n_hidden"), bias = key("bias");
  const index qkv = (key("n_head") + 2 * key("n_kv_head")) * D, up = (key("gated") + 1) * F;
  const index norm = (fixture.text(at + "norm") == "layer_norm" ? 1 + bias : 1) * C;
  const index normed_heads = fixture.text(at + "qk_norm_over") == "row" ? key("n_head") + key("n_kv_head") : 2;
  const index attention = qkv * (C + key("qkv_bias")) + key("qk_norm") * normed_heads * D + C * (key("n_head") * D + bias);
  const index norms = fixture.text(at + "norm_position") == "sandwich" ? 4 : 2;
  const index block = norms * norm + attention + up * (C + bias) + C * (F + bias) + key("residual_scalars") * 2;
  const std::string valued = fixture.text(at + "value_embeddings");
  const index valued_layers = valued == "all" ? key("n_layer") : valued == "alternate" ? (key("n_layer") + 1) / 2 : 0;
  const index values = key("n_kv_head") * (D * key("vocab_size") + std::min<index>(C, 12));
  const index rows =
      (key("tie_embeddings") == 1 ? 1 : 2) * key("vocab_size") + (fixture.text(at + "positions") == "learned" ? key("block_size") : 0);
  return rows * C + key("n_layer") * block + valued_layers * values + (1 + key("embedding_norm")) * norm;
}

TEST(LlamaFixture, HoldsEveryParameterOfItsModels) {
  const Fixture llama(golden("llama.h5"));
  EXPECT_EQ(llama.names("/"), (std::vector<std::string>{"gemma3",   "gemma_like", "granite", "llama", "llama31", "long",  "mistral",
                                                        "nanochat", "normed",     "odd",     "olmo2", "phi4",    "qwen2", "qwen3",
                                                        "relu2",    "sandwich",   "scaled",  "sines", "smollm3", "valued"}));
  for (const std::string& at : llama.names("/")) {
    EXPECT_EQ(parameter_count(llama, at + "/weights"), expected_llama_parameters(llama, at + "/")) << at;
    EXPECT_EQ(llama.names(at + "/gradients"), llama.names(at + "/weights")) << at;
    for (const std::string& name : llama.names(at + "/weights")) {
      EXPECT_EQ(llama.shape(at + "/gradients/" + name), llama.shape(at + "/weights/" + name)) << at << ' ' << name;
      for (const double value : llama.read(at + "/weights/" + name)) {
        ASSERT_EQ(value, static_cast<double>(static_cast<float>(value))) << at << ' ' << name;
      }
    }
  }
}

// With llama3's scaling some frequencies are kept, some are between and some are divided, or a test would miss a band.
TEST(LlamaFixture, HasFrequenciesInEveryBandOfLlama3) {
  const Fixture llama(golden("llama.h5"));
  const auto key = [&](const std::string& name) { return llama.attribute("llama31/" + name); };
  ASSERT_EQ(llama.text("llama31/rope_scaling"), "llama3");
  int kept = 0, between = 0, divided = 0;
  for (int i = 0; i < static_cast<int>(key("head_size")) / 2; ++i) {
    const double wavelength = 2 * 3.14159265358979 * std::pow(key("rope_theta"), 2 * i / key("head_size"));
    const double turns = key("rope_original_context") / wavelength;
    ++(turns > key("rope_high_freq_factor") ? kept : turns < key("rope_low_freq_factor") ? divided : between);
  }
  EXPECT_EQ(kept, 1);
  EXPECT_EQ(between, 2);
  EXPECT_EQ(divided, 5);
}

TEST(LlamaFixture, LossesFollowFromLogits) {
  const Fixture llama(golden("llama.h5"));
  for (const std::string& at : llama.names("/")) {
    const auto vocabulary = static_cast<std::size_t>(llama.attribute(at + "/vocab_size"));
    const std::vector<double> logits = llama.read(at + "/logits");
    const std::vector<std::int32_t> targets = llama.read_ints(at + "/targets");
    double sum = 0;
    for (std::size_t row = 0; row < targets.size(); ++row) {
      const double* z = logits.data() + row * vocabulary;
      const double denominator = std::accumulate(z, z + vocabulary, 0.0, [](double total, double x) { return total + std::exp(x); });
      sum += std::log(denominator) - z[targets[row]];
    }
    EXPECT_NEAR(sum / static_cast<double>(targets.size()), llama.read(at + "/loss")[0], 1e-12) << at;
  }
}

// Checks AdamW's first step by its formula.
TEST(LlamaFixture, StepsFollowFromGradients) {
  const Fixture llama(golden("llama.h5"));
  for (const std::string at : {"llama/", "odd/", "qwen3/", "relu2/"}) {
    const double rate = llama.attribute(at + "adamw/learning_rate"), eps = llama.attribute(at + "adamw/eps");
    const double weight_decay = llama.attribute(at + "adamw/weight_decay");
    EXPECT_EQ(llama.names(at + "adamw/weights"), llama.names(at + "weights")) << at;
    for (const std::string& name : llama.names(at + "weights")) {
      const std::vector<double> before = llama.read(at + "weights/" + name);
      const std::vector<double> gradient = llama.read(at + "gradients/" + name);
      const std::vector<double> after = llama.read(at + "adamw/weights/" + name);
      const double decay = llama.shape(at + "weights/" + name).size() >= 2 ? weight_decay : 0;
      for (std::size_t i = 0; i < before.size(); ++i) {
        const double step = decay * before[i] + gradient[i] / (std::abs(gradient[i]) + eps);
        ASSERT_NEAR(after[i], before[i] - rate * step, 1e-14) << at << name << ' ' << i;
      }
    }
  }
}

TEST(FixtureReader, ReadsStringsWithoutTheirPadding) {
  const Fixture llama(golden("llama.h5"));
  EXPECT_EQ(llama.text("llama31/norm"), "rms_norm");
  EXPECT_EQ(llama.text("odd/activation"), "relu");
}

TEST(FixtureReader, NamesMissingObjects) {
  const Fixture gpt(golden("gpt.h5"));
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message_of([&] { gpt.read("weights/nothing"); }).find("gpt.h5: cannot read weights/nothing"), std::string::npos);
  EXPECT_NE(message_of([&] { gpt.shape("weights"); }).find("cannot read weights"), std::string::npos);
  EXPECT_NE(message_of([&] { gpt.names("nowhere"); }).find("cannot read nowhere"), std::string::npos);
  EXPECT_NE(message_of([&] { gpt.attribute("adamw/nothing"); }).find("cannot read adamw/nothing"), std::string::npos);
  const Fixture llama(golden("llama.h5"));
  EXPECT_NE(message_of([&] { llama.text("odd/n_head"); }).find("llama.h5: cannot read odd/n_head"), std::string::npos);
  EXPECT_NE(message_of([&] { llama.attribute("odd/norm"); }).find("llama.h5: cannot read odd/norm"), std::string::npos);
  EXPECT_NE(message_of([] { Fixture(golden("absent.h5")); }).find("absent.h5"), std::string::npos);
  EXPECT_NE(message_of([] { Fixture(golden("README.md")); }).find("README.md"), std::string::npos);  // not an HDF5 file
}

}  // namespace
}  // namespace dikkat::fixture_test
