#include "tests/train/config/support.h"

namespace dikkat {
namespace {

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
  resolve(config);
  const std::string text = to_toml(config);
  std::size_t at = 0;
  for (const schema::Key& key : schema::keys()) {
    at = text.find(concat('\n', key.name, " = "), at);
    ASSERT_NE(at, std::string::npos) << key.path() << " is missing or out of order in\n" << text;
  }
  EXPECT_TRUE(text.starts_with("[model]\nkind = \"gpt\"\nn_layer = 4\n"));
  EXPECT_NE(text.find("\n\n[optim]\nlearning_rate = 0.001\nmin_lr = 1e-4\n"), std::string::npos) << text;
}

TEST(ToToml, ShowsAnOpenKeyAsAComment) { EXPECT_NE(to_toml(Config{}).find("\n# min_lr: learning_rate / 10\n"), std::string::npos); }

TEST(HelpForKeys, TellsTypeDefaultRangeAndPurpose) {
  const std::string help = help_for_keys();
  for (const schema::Key& key : schema::keys()) {
    expect_words(help, {concat("\n  ", key.name, " ("), std::string(key.help)});
  }
  expect_words(help, {"[model]\n", "\n[train]\n", "  n_layer (an integer from 1 to 1000; default: 4; fixed when the run starts)\n",
                      "  min_lr (a number from 0 to 1; default: learning_rate / 10)\n",
                      "  schedule (one of \"constant\", \"linear\", \"cosine\", \"inverse_sqrt\"; default: \"cosine\")\n",
                      "  corpus (a list of strings; default: [])\n", "current directory", "beside the configuration file"});
}

}  // namespace
}  // namespace dikkat
