#include <cmath>
#include <filesystem>

#include "tests/train/config/support.h"
#include "train/config/key_effect.h"
#include "train/config/parse.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/config/schema.h"

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

TEST(Recipes, HaveNoKeyWithoutEffect) {
  const Config defaults;
  for (const auto& entry : fs::directory_iterator(fs::path(DIKKAT_SOURCE_DIR) / "configs")) {
    std::vector<std::string> written;
    Config config = load_config(entry.path(), {}, &written);
    resolve(config);
    EXPECT_FALSE(written.empty());
    const PlannedRun run{.config = config};
    for (const std::string& key : keys_without_effect(std::span(&run, 1), written)) {
      const schema::Key& row = *schema::find_key(key.substr(0, key.find('.')), key.substr(key.find('.') + 1));
      EXPECT_EQ(row.get(config), row.get(defaults)) << entry.path() << ": " << key << " has no effect";
    }
  }
}

TEST(Recipes, QuickstartFindsItsTextFromAnywhere) {
  const std::vector<std::string> corpus = recipe("quickstart.toml").data.corpus;
  ASSERT_EQ(corpus.size(), 1U);
  EXPECT_TRUE(fs::is_regular_file(corpus.front())) << corpus.front();
}

TEST(Recipes, ShakespeareIsNanoGptsCpuRecipe) {
  const Config config = recipe("shakespeare-char.toml");
  Config expected;
  expected.model.bias = false;
  expected.optim.beta2 = 0.99;
  expected.optim.min_lr = 1e-4;
  expected.optim.decay_steps = 2000;
  expected.train.eval_tokens = 0;
  expected.train.seed = config.train.seed;  // not part of the recipe
  resolve(expected);
  EXPECT_EQ(config, expected);
}

TEST(Recipes, TransformerBaseIsThePapers) {
  const Config config = recipe("transformer-base.toml");
  EXPECT_EQ(config.model.n_encoder_layer, 6);
  EXPECT_EQ(config.model.norm_position, NormPosition::post);
  EXPECT_EQ(config.model.final_norm, false);
  EXPECT_EQ(config.model.activation, Activation::relu);
  EXPECT_EQ(config.model.positions, Positions::sinusoidal);
  EXPECT_EQ(config.model.scale_embeddings, true);
  EXPECT_DOUBLE_EQ(config.optim.learning_rate, 1 / std::sqrt(512.0 * 4000));
}

TEST(Recipes, Gpt2HasItsShape) {
  const TransformerConfig model = recipe("gpt2-124m.toml").model;
  EXPECT_EQ(model.kind, ModelKind::gpt);
  EXPECT_EQ(model.n_layer, 12);
  EXPECT_EQ(model.n_head, 12);
  EXPECT_EQ(model.n_embd, 768);
  EXPECT_EQ(model.n_hidden, 3072);
  EXPECT_EQ(model.block_size, 1024);
  EXPECT_EQ(model.vocab_size, 50257);
  EXPECT_EQ(model.dropout, 0.0);
  EXPECT_TRUE(model.bias);
  EXPECT_EQ(model.qkv_bias, true);
  EXPECT_TRUE(model.tie_embeddings);
  EXPECT_EQ(model.scale_embeddings, false);
  EXPECT_EQ(model.positions, Positions::learned);
  EXPECT_EQ(model.norm_position, NormPosition::pre);
  EXPECT_EQ(model.final_norm, true);
  EXPECT_EQ(model.activation, Activation::gelu);

  TransformerConfig untied = recipe("gpt-124m-untied.toml").model;
  EXPECT_FALSE(untied.tie_embeddings);
  EXPECT_EQ(untied.qkv_bias, false);
  EXPECT_EQ(untied.dropout, 0.1);
  untied.tie_embeddings = true;
  untied.qkv_bias = model.qkv_bias;
  untied.dropout = 0.0;
  EXPECT_EQ(untied, model);
}

}  // namespace
}  // namespace dikkat
