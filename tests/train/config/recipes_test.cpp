#include <cmath>
#include <filesystem>

#include "tests/train/config/support.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

Config recipe(const std::string& name) {
  Config config = load_config(fs::path(DIKKAT_SOURCE_DIR) / "configs" / name);
  resolve(config);
  validate(config);
  return config;
}

TEST(Recipes, AllParseAndAgreeWithThemselves) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(DIKKAT_SOURCE_DIR) / "configs")) {
    SCOPED_TRACE(entry.path());
    EXPECT_EQ(entry.path().extension(), ".toml");
    const Config config = recipe(entry.path().filename());
    EXPECT_EQ(parse_config(to_toml(config), "resolved"), config);
    ++count;
  }
  EXPECT_GE(count, 4);
}

TEST(Recipes, QuickstartFindsItsTextFromAnywhere) {
  const std::vector<std::string> corpus = recipe("quickstart.toml").data.corpus;
  ASSERT_EQ(corpus.size(), 1U);
  EXPECT_TRUE(fs::is_regular_file(corpus.front())) << corpus.front();
}

TEST(Recipes, ShakespeareIsNanoGptsCpuRecipe) {
  const Config config = recipe("shakespeare-char.toml");
  Config expected;
  resolve(expected);
  expected.model.bias = false;
  expected.optim.beta2 = 0.99;
  expected.optim.min_lr = 1e-4;
  expected.optim.decay_steps = 2000;
  expected.model.qkv_bias = false;
  expected.train.seed = config.train.seed;  // not part of the recipe
  EXPECT_EQ(config, expected);
}

TEST(Recipes, TransformerBaseIsThePapers) {
  const Config config = recipe("transformer-base.toml");
  EXPECT_EQ(config.model.n_encoder_layer, 6);
  EXPECT_EQ(config.model.norm, "post");
  EXPECT_EQ(config.model.final_norm, false);
  EXPECT_EQ(config.model.activation, "relu");
  EXPECT_EQ(config.model.positions, "sinusoidal");
  EXPECT_EQ(config.model.scale_embeddings, true);
  EXPECT_DOUBLE_EQ(config.optim.learning_rate, 1 / std::sqrt(512.0 * 4000));
}

TEST(Recipes, Gpt2HasItsShape) {
  const ModelConfig model = recipe("gpt2-124m.toml").model;
  const ModelConfig expected = {.kind = "gpt",
                                .n_layer = 12,
                                .n_encoder_layer = 12,
                                .n_head = 12,
                                .n_embd = 768,
                                .n_hidden = 3072,
                                .block_size = 1024,
                                .bias = true,
                                .qkv_bias = true,
                                .tie_embeddings = true,
                                .scale_embeddings = false,
                                .positions = "learned",
                                .norm = "pre",
                                .final_norm = true,
                                .activation = "gelu",
                                .vocab_size = 50257};
  EXPECT_EQ(model, expected);
  ModelConfig untied = recipe("gpt-124m-untied.toml").model;
  EXPECT_FALSE(untied.tie_embeddings);
  EXPECT_EQ(untied.qkv_bias, false);
  untied.tie_embeddings = true;
  untied.qkv_bias = true;
  untied.dropout = 0.0;
  EXPECT_EQ(untied, expected);
}

}  // namespace
}  // namespace dikkat
