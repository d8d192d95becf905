#include "train/config/parse.h"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "tests/train/config/support.h"

namespace dikkat {
namespace {

using testing::names;

namespace fs = std::filesystem;

/// A folder of this process that the test removes; the current directory during the test is its subfolder "here".
class ConfigFile : public ::testing::Test {
 protected:
  ConfigFile() {
    fs::create_directories(root_ / "here");
    fs::create_directories(root_ / "recipes");
    fs::current_path(root_ / "here");
  }
  ~ConfigFile() override {
    fs::current_path(before_);
    fs::remove_all(root_);
  }

  fs::path write(const fs::path& name, std::string_view text) {
    std::ofstream(root_ / name, std::ios::binary) << text;
    return root_ / name;
  }

  const fs::path before_ = fs::current_path();
  const fs::path root_ = fs::canonical(fs::temp_directory_path()) / concat("dikkat-config-", ::getpid());
};

TEST(ParseConfig, AnEmptyFileIsTheDefaults) {
  const Config config = parse_config("", "empty.toml");
  EXPECT_EQ(config, Config{});
  EXPECT_EQ(config.model.kind, ModelKind::gpt);
  EXPECT_EQ(config.model.n_layer, 4);
  EXPECT_EQ(config.model.n_head, 4);
  EXPECT_EQ(config.model.n_embd, 128);
  EXPECT_EQ(config.model.block_size, 64);
  EXPECT_EQ(config.model.dropout, 0.0);
  EXPECT_TRUE(config.model.bias);
  EXPECT_TRUE(config.model.tie_embeddings);
  EXPECT_TRUE(config.model.vocab_size.is_open());
  EXPECT_EQ(config.tokenizer.kind, "char");
  EXPECT_TRUE(config.data.corpus.empty());
  EXPECT_EQ(config.data.val_fraction, 0.1);
  EXPECT_EQ(config.optim.learning_rate, 1e-3);
  EXPECT_EQ(config.optim.schedule, Schedule::Kind::cosine);
  EXPECT_EQ(config.optim.warmup_steps, 100);
  EXPECT_EQ(config.optim.weight_decay, 0.1);
  EXPECT_EQ(config.optim.beta1, 0.9);
  EXPECT_EQ(config.optim.beta2, 0.95);
  EXPECT_EQ(config.optim.eps, 1e-8);
  EXPECT_EQ(config.optim.grad_clip, 1.0);
  EXPECT_EQ(config.train.batch_size, 12);
  EXPECT_EQ(config.train.gradient_accumulation_steps, 1);
  EXPECT_EQ(config.train.max_steps, 2000);
  EXPECT_EQ(config.train.eval_interval, 250);
  EXPECT_EQ(config.train.eval_tokens, 32768);
  EXPECT_EQ(config.train.checkpoint_interval, 250);
  EXPECT_EQ(config.train.keep_last, 3);
  EXPECT_EQ(config.train.log_interval, 10);
  EXPECT_EQ(config.train.seed, 1337);
}

TEST(ParseConfig, TheFileGoesOverTheDefaults) {
  const Config config = parse_config(R"(
[model]
n_layer = 6
bias = false
[tokenizer]
kind = 'byte'
[data]
corpus = ["a.txt", 'b c']
[optim]
learning_rate = 3e-4
grad_clip = 2        # an integer will do for a number
)",
                                     "file.toml");
  Config expected;
  expected.model.n_layer = 6;
  expected.model.bias = false;
  expected.tokenizer.kind = "byte";
  expected.data.corpus = {"a.txt", "b c"};
  expected.optim.learning_rate = 3e-4;
  expected.optim.grad_clip = 2.0;
  EXPECT_EQ(config, expected);
}

TEST(ParseConfig, ReadsEveryWayThatTomlWritesASection) {
  const Config expected = parse_config("[train]\nmax_steps = 5\nseed = 7\n", "a");
  EXPECT_EQ(parse_config("train.max_steps = 5\ntrain.seed = 7\n", "b"), expected);
  EXPECT_EQ(parse_config("train = {max_steps = 5, seed = 7}\n", "c"), expected);
  EXPECT_EQ(parse_config("\xEF\xBB\xBF[train]\r\nmax_steps = 5\r\n\"seed\" = 0x07\r\n", "d"), expected);
}

TEST(ParseConfig, ReportsAllProblemsOfAFileInItsOrder) {
  const std::string message =
      input_error_of([] { parse_config("[train]\nseed = -1\n[model]\nn_layr = 2\nbias = 1\n[fun]\n", "many.toml"); });
  const std::size_t first = message.find("many.toml:2:1: ");
  const std::size_t second = message.find("many.toml:4:1: ");
  const std::size_t third = message.find("many.toml:5:1: ");
  const std::size_t fourth = message.find("many.toml:6:2: ");
  EXPECT_TRUE(names(message, {"train.seed", "-1", "model.n_layr", "model.bias", "[fun]"}));
  EXPECT_TRUE(first < second && second < third && third < fourth && fourth != std::string::npos) << message;
  EXPECT_EQ(std::ranges::count(message, '\n'), 3);
}

TEST(ParseConfig, ReportsAtMostTenProblems) {
  std::string text = "[model]\n";
  for (int i = 0; i < 25; ++i) {
    text += concat("zzz", i, " = 1\n");
  }
  const std::string message = input_error_of([&] { parse_config(text, "x"); });
  EXPECT_EQ(std::ranges::count(message, '\n'), 10);
  EXPECT_TRUE(names(message, {"x:2:1", "x:11:1", "15"}));
}

TEST(ParseConfig, RefusesARetiredKeyThatHasAValue) {
  const std::string empty = "[train]\non_end = \"\"\nseed = 7\n";
  EXPECT_EQ(parse_config(empty, "old.toml").train.seed, 7) << "earlier versions wrote it into every configuration";
  const std::string used = "[train]\non_end = \"make a noise\"\nseed = 7\n";
  EXPECT_TRUE(names(input_error_of([&] { parse_config(used, "old.toml"); }), {"old.toml:2:1: ", "train.on_end", "COMMAND"}));
}

TEST(ParseConfig, IgnoresARetiredKeyInARunsConfiguration) {
  std::vector<std::string> remarks;
  EXPECT_EQ(parse_config_of_run("[train]\non_end = \"\"\nseed = 7\n", "run", &remarks).train.seed, 7);
  EXPECT_TRUE(remarks.empty());
  const std::string used = "[train]\non_end = \"make a noise\"\nseed = 7\n";
  EXPECT_EQ(parse_config_of_run(used, "run", &remarks).train.seed, 7);
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_TRUE(names(remarks.front(), {"ignored", "train.on_end"}));
  EXPECT_EQ(parse_config_of_run(used, "run").train.seed, 7);
  EXPECT_TRUE(names(input_error_of([&] { parse_config_of_run("[train]\non_and = 1\n", "run"); }), {"unknown", "train.on_and"}));
}

TEST(ParseConfig, GivesAnOlderRunWhatItHad) {
  const std::string older = "[train]\nprecision = \"bf16\"\n";
  EXPECT_EQ(parse_config_of_run(older, "run").optim.muon_precision, Precision::f32);
  EXPECT_FALSE(parse_config_of_run(older, "run").lora.decay);
  EXPECT_EQ(parse_config_of_run(older, "run").chat.content_parts, ContentParts::glued);
  EXPECT_EQ(parse_config(older, "a new run").chat.content_parts, ContentParts::by_template);
  EXPECT_EQ(parse_config_of_run(older, "run").data.split, SplitPlace::end) << "the split that older runs have";
  EXPECT_EQ(parse_config(older, "a new run").optim.muon_precision, Precision::auto_);
  EXPECT_TRUE(parse_config(older, "a new run").lora.decay);
}

TEST_F(ConfigFile, IsLoaded) {
  const fs::path path = write("recipes/a.toml", "train.seed = 3\n");
  EXPECT_EQ(load_config(path).train.seed, 3);
  EXPECT_TRUE(
      names(input_error_of([&] { load_config(write("recipes/bad.toml", "\nseed = 3\n")); }), {"recipes/bad.toml:2:1: ", "train.seed"}));
}

TEST_F(ConfigFile, ThatCannotBeReadIsNamed) {
  EXPECT_TRUE(names(input_error_of([&] { load_config("missing.toml"); }), {"missing.toml", "quickstart"}));
  EXPECT_TRUE(names(input_error_of([&] { load_config(root_ / "recipes"); }), {"recipes", "folder"}));
  EXPECT_TRUE(
      names(input_error_of([&] { load_config(write("big.toml", std::string(2 << 20, '#'))); }), {"big.toml", "1048576", "--corpus"}));
  EXPECT_TRUE(names(input_error_of([&] { load_config("/dev/zero"); }), {"/dev/zero", "1048576"}));
  EXPECT_TRUE(names(input_error_of([&] { load_config(write("bin.toml", std::string_view("\x89PNG\r\n\x1a\n\0\0", 10))); }),
                    {"bin.toml:1:1", "utf-8"}));
}

TEST_F(ConfigFile, CorpusIsSoughtHereThenBesideTheFile) {
  write("here/both.txt", "here");
  write("recipes/both.txt", "beside");
  write("recipes/beside.txt", "beside");
  write("up.txt", "up");
  const fs::path path =
      write("recipes/c.toml", R"(data.corpus = ["both.txt", "beside.txt", "../recipes/../up.txt", "nowhere.txt", "/abs.txt"])");
  const std::vector<std::string> expected = {"both.txt", (root_ / "recipes/beside.txt").string(), "../recipes/../up.txt", "nowhere.txt",
                                             "/abs.txt"};
  EXPECT_EQ(load_config(path).data.corpus, expected);
}

TEST_F(ConfigFile, CorpusIsFoundWhenTheFileItselfIsNamedRelatively) {
  write("here/text.txt", "text");
  write("here/d.toml", R"(data.corpus = ["text.txt", "gone.txt"])");
  EXPECT_EQ(load_config("d.toml").data.corpus, (std::vector<std::string>{"text.txt", "gone.txt"}));
}

}  // namespace
}  // namespace dikkat
