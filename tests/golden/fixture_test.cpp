#include "tests/golden/fixture.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dikkat {
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

// Ties logits, targets and both losses to one another by the formula, with no PyTorch in between.
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

TEST(OpsFixture, HoldsEveryOperation) {
  const Fixture ops(golden("ops.h5"));
  EXPECT_EQ(ops.names("/"), (std::vector<std::string>{"causal_attention", "cross_entropy", "embedding", "gelu", "interval_attention",
                                                      "layer_norm", "smoothed_cross_entropy", "softmax"}));
  using Extents = std::vector<index>;
  EXPECT_EQ(ops.shape("layer_norm/x"), (Extents{7, 33}));
  EXPECT_EQ(ops.shape("causal_attention/qkv"), (Extents{2, 19, 45}));
  EXPECT_EQ(ops.shape("causal_attention/log_sum_exp"), (Extents{2, 3, 19}));
  EXPECT_EQ(ops.shape("interval_attention/lo"), (Extents{2, 7}));
  EXPECT_EQ(ops.shape("interval_attention/k"), (Extents{2, 13, 15}));
  for (const std::string& op : ops.names("/")) {
    for (const std::string& name : ops.names(op)) {
      if (name.front() == 'd' && name != "dy") {  // every gradient has the shape of what it is the gradient of
        EXPECT_EQ(ops.shape(op + "/" + name), ops.shape(op + "/" + name.substr(1))) << op;
      }
    }
  }
  EXPECT_DOUBLE_EQ(ops.attribute("causal_attention/scale"), 1 / std::sqrt(5.0));
}

TEST(FixtureReader, NamesWhatIsMissing) {
  const Fixture ops(golden("ops.h5"));
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message_of([&] { ops.read("gelu/nothing"); }).find("ops.h5: cannot read gelu/nothing"), std::string::npos);
  EXPECT_NE(message_of([&] { ops.shape("gelu"); }).find("cannot read gelu"), std::string::npos);
  EXPECT_NE(message_of([&] { ops.names("nowhere"); }).find("cannot read nowhere"), std::string::npos);
  EXPECT_NE(message_of([&] { ops.attribute("softmax/eps"); }).find("cannot read softmax/eps"), std::string::npos);
  EXPECT_NE(message_of([] { Fixture(golden("absent.h5")); }).find("absent.h5"), std::string::npos);
  EXPECT_NE(message_of([] { Fixture(golden("README.md")); }).find("README.md"), std::string::npos);  // not an HDF5 file
}

}  // namespace
}  // namespace dikkat
