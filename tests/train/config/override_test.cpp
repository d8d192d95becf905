#include "train/config/override.h"

#include "tests/train/config/support.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"

namespace dikkat {
namespace {

using testing::names;

Config with(std::initializer_list<std::string_view> assignments) {
  Config config;
  for (const std::string_view assignment : assignments) {
    apply_override(config, assignment);
  }
  return config;
}

TEST(Override, GoesOverTheFile) {
  Config config = parse_config("[train]\nmax_steps = 5\nseed = 6\n", "f");
  apply_override(config, "train.max_steps=7");
  EXPECT_EQ(config.train.max_steps, 7);
  EXPECT_EQ(config.train.seed, 6);
  EXPECT_EQ(config.train.batch_size, 12);
}

TEST(Override, IgnoresARetiredKeyWithoutAValue) { EXPECT_EQ(with({"train.on_end= "}), Config{}); }

TEST(Override, ReadsByTheTypeOfTheKey) {
  EXPECT_EQ(with({"train.max_steps=+12"}).train.max_steps, 12);
  EXPECT_EQ(with({"train.max_steps = 12 "}).train.max_steps, 12);
  EXPECT_EQ(with({"optim.learning_rate=3e-4"}).optim.learning_rate, 3e-4);
  EXPECT_EQ(with({"optim.learning_rate=.001"}).optim.learning_rate, 1e-3);
  EXPECT_EQ(with({"optim.grad_clip=2"}).optim.grad_clip, 2.0);
  EXPECT_FALSE(with({"model.bias=false"}).model.bias);
  EXPECT_EQ(with({"model.qkv_bias=true"}).model.qkv_bias, true);
  EXPECT_EQ(with({"optim.schedule=linear"}).optim.schedule, Schedule::Kind::linear);
  EXPECT_EQ(with({"optim.schedule=\"linear\""}).optim.schedule, Schedule::Kind::linear);
  EXPECT_EQ(with({"optim.schedule='linear'"}).optim.schedule, Schedule::Kind::linear);
  EXPECT_EQ(with({"data.corpus=a.txt"}).data.corpus, (std::vector<std::string>{"a.txt"}));
  EXPECT_EQ(with({"data.corpus=a=b.txt, c d.txt"}).data.corpus, (std::vector<std::string>{"a=b.txt", "c d.txt"}));
  EXPECT_EQ(with({"data.corpus=[\"a,b\", 'c']"}).data.corpus, (std::vector<std::string>{"a,b", "c"}));
  EXPECT_TRUE(with({"data.corpus=a.txt", "data.corpus=[]"}).data.corpus.empty());
  EXPECT_EQ(with({"model.rope_short_factors=1, 2.5,3e2"}).model.rope_short_factors, (std::vector<double>{1, 2.5, 300}));
  EXPECT_EQ(with({"model.rope_short_factors=[1, 2.5]"}).model.rope_short_factors, (std::vector<double>{1, 2.5}));
  EXPECT_TRUE(with({"model.rope_short_factors=2", "model.rope_short_factors=[]"}).model.rope_short_factors.empty());
}

TEST(Override, OfEveryKeyReadsTheValuesThatToTomlWrites) {
  Dice dice(3);
  for (const schema::Key& key : schema::keys()) {
    for (int i = 0; i < 20; ++i) {
      const schema::Value value = random_value(key, dice);
      Config config;
      apply_override(config, concat(key.path(), '=', schema::to_toml(value)));
      EXPECT_EQ(key.get(config), value) << key.path();
    }
  }
}

struct BadOverride {
  std::string assignment;
  std::vector<std::string> words;
};

const BadOverride kBadOverrides[] = {
    {"", {"section.key=value"}},
    {"train.max_steps", {"\"train.max_steps\"", "section.key=value"}},
    {"=3", {"\"=3\"", "section.key=value"}},
    {"train.max_steps=", {"\"\"", "integer"}},
    {"train.max_steps=ten", {"\"ten\"", "integer", "1", "999999999"}},
    {"train.max_steps=1e3", {"\"1e3\"", "integer"}},
    {"train.max_steps=2000.0", {"\"2000.0\"", "integer"}},
    {"train.max_steps=1.5", {"\"1.5\"", "integer"}},
    {"train.max_steps=0", {"integer", "1", "999999999"}},
    {"train.max_steps=99999999999999999999", {"\"99999999999999999999\"", "integer"}},
    {"train.max_steps=12abc", {"\"12abc\"", "integer"}},
    {"train.max_steps=+-3", {"\"+-3\"", "integer"}},
    {"optim.learning_rate=nan", {"\"nan\"", "number"}},
    {"optim.learning_rate=-nan", {"\"-nan\"", "number"}},
    {"optim.learning_rate=inf", {"\"inf\"", "number"}},
    {"optim.grad_clip=infinity", {"\"infinity\"", "number"}},
    {"optim.learning_rate=1e400", {"\"1e400\"", "number"}},
    {"optim.learning_rate=1e-400", {"\"1e-400\"", "number"}},
    {"optim.learning_rate=0", {"0.0", "number", "1"}},
    {"optim.learning_rate=1e-3x", {"\"1e-3x\"", "number"}},
    {"model.bias=yes", {"\"yes\"", "true or false"}},
    {"model.bias=1", {"\"1\"", "true or false"}},
    {"optim.schedule=cosin", {"\"cosin\"", "\"cosine\""}},
    {"optim.schedule=\"cosine", {"\"constant\", \"linear\"", "TOML"}},
    {"data.corpus=", {"data.corpus", "empty"}},
    {"data.corpus=a,,b", {"data.corpus", "empty"}},
    {"data.corpus=[a.txt]", {"data.corpus", "TOML"}},
    {"data.corpus=[1]", {"data.corpus", "list", "strings"}},
    {"data.corpus=[\"a\"]\n[train]\nseed=3", {"data.corpus", "one line"}},
    {"model.rope_short_factors=", {"model.rope_short_factors", "list of numbers"}},
    {"model.rope_short_factors=1,x", {"model.rope_short_factors", "\"1,x\"", "list of numbers"}},
    {"model.rope_short_factors=1,0", {"model.rope_short_factors", "[1.0, 0.0]", "above 0"}},
    {"data.corpus=\xFF.txt", {"data.corpus", "UTF-8"}},
    {"seed=3", {"train.seed"}},
    {"optim.seed=3", {"optim.seed", "train.seed"}},
    {"train.on_end=make a noise", {"COMMAND"}},
    {"train.sed=3", {"unknown", "train.seed"}},
    {"optimizer.learning_rate=1e-3", {"optimizer.learning_rate", "optim.learning_rate"}},
    {"model.n_layer.x=3", {"unknown", "model.n_layer?"}},
};

TEST(Override, ThatIsBadIsRefusedAndChangesNothing) {
  for (const BadOverride& bad : kBadOverrides) {
    SCOPED_TRACE(bad.assignment);
    Config config;
    const std::string message = input_error_of([&] { apply_override(config, bad.assignment); });
    EXPECT_TRUE(names(message, bad.words));
    EXPECT_TRUE(message.starts_with("--set ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(schema::is_utf8(message));
    EXPECT_EQ(config, Config{});
  }
}

TEST(Override, OfAResumedRunRefusesEveryKeyOfTheModelExceptDropout) {
  Dice dice(5);
  for (const schema::Key& key : schema::keys()) {
    if (key.section != "model") {
      continue;
    }
    Config config;
    resolve(config);
    config.model.vocab_size = 65;
    schema::Value other = key.get(config);
    while (other == key.get(config)) {
      other = random_value(key, dice);
    }
    const auto change = [&] { apply_override(config, concat(key.path(), '=', schema::to_toml(other)), RunStage::continues); };
    if (key.name == "dropout") {
      EXPECT_NO_THROW(change());
    } else {
      EXPECT_TRUE(names(input_error_of(change), {key.path(), schema::to_toml(key.get(config)), "run"}));
    }
  }
}

TEST(Override, OfAResumedRunKeepsFixedKeys) {
  Config config;
  resolve(config);
  apply_override(config, "train.max_steps=4000", RunStage::continues);
  apply_override(config, "model.dropout=0.2", RunStage::continues);
  apply_override(config, "model.n_layer=4", RunStage::continues);  // unchanged
  EXPECT_EQ(config.train.max_steps, 4000);
  EXPECT_EQ(config.optim.decay_steps, 2000);
  const std::vector<std::pair<std::string, std::string>> fixed = {{"model.n_layer=5", "4"},
                                                                  {"model.qkv_bias=false", "true"},
                                                                  {"tokenizer.kind=byte", "\"char\""},
                                                                  {"data.val_fraction=0.2", "0.1"},
                                                                  {"train.seed=1", "1337"}};
  for (const auto& [assignment, kept] : fixed) {
    const std::string message = input_error_of([&, assignment = assignment] { apply_override(config, assignment, RunStage::continues); });
    EXPECT_TRUE(names(message, {"--set ", key_of_override(assignment), kept, "new run"}));
  }
  EXPECT_EQ(config.model.n_layer, 4);
}

}  // namespace
}  // namespace dikkat
