#include "train/config/render.h"

#include "tests/train/config/support.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"

namespace dikkat {
namespace {

using testing::names;

TEST(ToToml, ReadsBackToTheSameConfiguration) {
  Dice dice(7);
  for (int i = 0; i < 500; ++i) {
    Config config = random_config(dice);
    const std::string open = to_toml(config);
    ASSERT_EQ(parse_config(open, "open"), config) << open;
    resolve(config);
    const std::string resolved = to_toml(config);
    ASSERT_EQ(parse_config(resolved, "resolved"), config) << resolved;
    ASSERT_EQ(to_toml(parse_config(resolved, "resolved")), resolved);
  }
}

TEST(ToToml, HasEveryKeyOfAResolvedConfiguration) {
  Config config;
  config.model.vocab_size.derive(88);
  resolve(config);
  const std::string text = to_toml(config);
  std::size_t at = 0;
  for (const schema::Key& key : schema::keys()) {
    at = text.find(concat('\n', key.name, " = "), at);
    ASSERT_NE(at, std::string::npos) << key.path() << " is missing or out of order in\n" << text;
  }
  EXPECT_NE(text.find("\n\n[model]\nkind = \"gpt\"\nn_layer = 4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\n[optim]\nkind = \"adamw\"\nlearning_rate = 0.001\nmin_lr = 1e-4\n"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("derived = [\"model.n_encoder_layer\", \"model.n_kv_head\", \"model.head_size\", ")) << text;
}

TEST(ToToml, ShowsAnOpenKeyAsAComment) {
  EXPECT_NE(to_toml(Config{}).find("\n# min_lr  (learning_rate * min_lr_share)\n"), std::string::npos);
}

TEST(ToRecipe, PinsNothingThatFollowsFromOtherKeys) {
  Config config;
  config.model.vocab_size.derive(88);
  resolve(config);
  const std::string text = to_recipe(config);
  EXPECT_TRUE(names(text, {"\n# vocab_size = 88  (", "\n# min_lr = 1e-4  (", "\n# decay_steps = 2000  ("}));
  EXPECT_EQ(parse_config(text, "recipe"), Config{});
}

TEST(ToRecipe, LeavesOutKeysWithoutEffect) {
  Config config;
  resolve(config);
  for (const char* name : {"n_encoder_layer", "share_embeddings", "min_count"}) {
    EXPECT_EQ(to_recipe(config).find(name), std::string::npos) << name;
  }
  EXPECT_EQ(to_recipe(config).find("\nvocab_size = 8192"), std::string::npos);
  config.tokenizer.kind = "bpe";
  EXPECT_NE(to_recipe(config).find("\nvocab_size = 8192"), std::string::npos);
  config.tokenizer.path = "gpt2";
  EXPECT_EQ(to_recipe(config).find("\nvocab_size = 8192"), std::string::npos);
  config.tokenizer.vocab_size = 300;
  EXPECT_NE(to_recipe(config).find("\nvocab_size = 300"), std::string::npos) << "the user's own value stays";
}

TEST(ToRecipe, ReadsBackToTheKeysThatWereSet) {
  Dice dice(8);
  for (int i = 0; i < 200; ++i) {
    const Config config = random_config(dice);
    Config resolved = config;
    resolve(resolved);
    ASSERT_EQ(parse_config(to_recipe(resolved), "recipe"), config) << to_recipe(resolved);
  }
}

TEST(ToTomlOfChanges, HasOnlyKeysThatDifferFromTheDefaults) {
  EXPECT_EQ(to_toml_of_changes(Config{}), "");
  Config config;
  config.model.n_layer = 6;
  config.optim.min_lr = 1e-5;
  config.train.seed = 1337;
  resolve(config);
  EXPECT_EQ(to_toml_of_changes(config), "[model]\nn_layer = 6\n\n[optim]\nmin_lr = 1e-5\n");
}

TEST(ToCommentedToml, HasTypeDefaultRangeAndPurposeAndIsToml) {
  const std::string help = to_commented_toml(Config{});
  EXPECT_EQ(parse_config(help, "help"), Config{});
  for (const schema::Key& key : schema::keys()) {
    EXPECT_TRUE(names(help, {concat("\n# ", key.name, ": ", key.expected()), std::string(key.help)}));
  }
  const auto expected = [](const char* section, const char* name) { return schema::find_key(section, name)->expected(); };
  EXPECT_TRUE(names(help, {"[model]\n", "\n[train]\n", concat("# n_layer: ", expected("model", "n_layer"), "; fixed"), "\nn_layer = 4\n",
                           concat("# min_lr: ", expected("optim", "min_lr"), "; default: learning_rate * min_lr_share\n"),
                           "\n# min_lr  (learning_rate * min_lr_share)\n", "\"inverse_sqrt\", \"wsd\"\nschedule = \"cosine\"\n",
                           concat("# corpus: ", expected("data", "corpus"), "\ncorpus = []\n")}));
}

}  // namespace
}  // namespace dikkat
