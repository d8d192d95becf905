#include "tests/train/config/support.h"

namespace dikkat {
namespace {

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
}

TEST(Override, OfEveryKeyReadsWhatToTomlWrites) {
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
    {"", {"expected section.key=value"}},
    {"train.max_steps", {"expected section.key=value"}},
    {"=3", {"expected section.key=value"}},
    {"train.max_steps=", {"train.max_steps is \"\", expected an integer"}},
    {"train.max_steps=ten", {"train.max_steps is \"ten\", expected an integer from 1 to 999999999"}},
    {"train.max_steps=1e3", {"expected an integer", "write 1000"}},
    {"train.max_steps=2000.0", {"expected an integer", "write 2000"}},
    {"train.max_steps=1.5", {"expected an integer"}},
    {"train.max_steps=0", {"train.max_steps is 0, expected an integer from 1"}},
    {"train.max_steps=99999999999999999999", {"expected an integer"}},
    {"train.max_steps=12abc", {"expected an integer"}},
    {"train.max_steps=+-3", {"expected an integer"}},
    {"optim.learning_rate=nan", {"optim.learning_rate is \"nan\", expected a number"}},
    {"optim.learning_rate=-nan", {"expected a number"}},
    {"optim.learning_rate=inf", {"expected a number"}},
    {"optim.grad_clip=infinity", {"expected a number"}},
    {"optim.learning_rate=1e400", {"expected a number", "cannot be held"}},
    {"optim.learning_rate=1e-400", {"expected a number", "cannot be held"}},
    {"optim.learning_rate=0", {"optim.learning_rate is 0.0, expected a number above 0"}},
    {"optim.learning_rate=1e-3x", {"expected a number"}},
    {"model.bias=yes", {"model.bias is \"yes\", expected true or false"}},
    {"model.bias=1", {"expected true or false"}},
    {"optim.schedule=cosin", {"optim.schedule is \"cosin\"", "did you mean \"cosine\"?"}},
    {"optim.schedule=\"cosine", {"expected one of", "not a TOML value"}},
    {"data.corpus=", {"data.corpus holds an empty string"}},
    {"data.corpus=a,,b", {"data.corpus holds an empty string"}},
    {"data.corpus=[a.txt]", {"data.corpus", "not a TOML value"}},
    {"data.corpus=[1]", {"data.corpus holds 1"}},
    {"data.corpus=[\"a\"]\n[train]\nseed=3", {"data.corpus", "on one line"}},
    {"data.corpus=\xFF.txt", {"data.corpus", "not valid UTF-8"}},
    {"seed=3", {"seed belongs in [train]"}},
    {"optim.seed=3", {"seed belongs in [train], not in [optim]"}},
    {"train.on_end=make a noise", {"train.on_end is no longer a key", "COMMAND"}},
    {"train.sed=3", {"unknown key train.sed", "did you mean train.seed?"}},
    {"max_iters=3", {"nanoGPT's", "train.max_steps"}},
    {"train.max_iters=3", {"nanoGPT's", "train.max_steps"}},
    {"model.emb_dim=3", {"Raschka's", "model.n_embd"}},
    {"optimizer.learning_rate=1e-3", {"learning_rate belongs in [optim], not in [optimizer]"}},
    {"model.n_layer.x=3", {"unknown key", "did you mean model.n_layer?"}},
};

TEST(Override, ThatIsBadIsAnsweredAndChangesNothing) {
  for (const BadOverride& bad : kBadOverrides) {
    SCOPED_TRACE(bad.assignment);
    Config config;
    const std::string message = input_error([&] { apply_override(config, bad.assignment); });
    expect_words(message, bad.words);
    EXPECT_TRUE(message.starts_with("--set ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(schema::is_utf8(message));
    EXPECT_EQ(config, Config{});
  }
}

TEST(Override, OfARunThatGoesOnRefusesEveryKeyOfTheModelExceptDropout) {
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
    const auto change = [&] { apply_override(config, concat(key.path(), '=', schema::to_toml(other)), RunStage::goes_on); };
    if (key.name == "dropout") {
      EXPECT_NO_THROW(change());
    } else {
      EXPECT_NE(input_error(change).find("a run keeps its "), std::string::npos) << key.path();
    }
  }
}

TEST(Override, OfARunThatGoesOnKeepsWhatIsFixed) {
  Config config;
  resolve(config);
  apply_override(config, "train.max_steps=4000", RunStage::goes_on);
  apply_override(config, "model.dropout=0.2", RunStage::goes_on);
  apply_override(config, "model.n_layer=4", RunStage::goes_on);  // as it is
  EXPECT_EQ(config.train.max_steps, 4000);
  EXPECT_EQ(config.optim.decay_steps, 2000);
  for (const char* fixed : {"model.n_layer=5", "model.qkv_bias=false", "tokenizer.kind=byte", "data.val_fraction=0.2", "train.seed=1"}) {
    const std::string message = input_error([&] { apply_override(config, fixed, RunStage::goes_on); });
    expect_words(message, {"--set ", "a run keeps its ", "start a new run"});
  }
  EXPECT_EQ(config.model.n_layer, 4);
}

}  // namespace
}  // namespace dikkat
