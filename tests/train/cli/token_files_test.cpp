#include "tests/train/cli/workspace.h"

// Token files of other programs: the width of their ids, and runs whose files change.
namespace dikkat::testing {
namespace {

/// train.bin and val.bin of a text, with a tokenizer of characters for them (meta.json).
class TokenFiles : public ::testing::Test {
 protected:
  TokenFiles() {
    characters_ = text_;
    std::sort(characters_.begin(), characters_.end());
    characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
    Json ids = Json::object();
    for (std::size_t id = 0; id < characters_.size(); ++id) {
      ids[std::string(1, characters_[id])] = id;
    }
    here.write("meta.json", Json{{"vocab_size", ids.size()}, {"stoi", ids}}.dump());
    write<std::uint16_t>("train.bin", text_);
    write<std::uint16_t>("val.bin", text_.substr(0, text_.size() / 10));
  }

  template <class Id>
  void write(const char* name, const std::string& text) const {
    std::string bytes;
    for (const char c : text) {
      const Id id = static_cast<Id>(characters_.find(c));
      bytes.append(reinterpret_cast<const char*>(&id), sizeof id);
    }
    here.write(name, bytes);
  }

  Words train(const std::string& out, const std::string& corpus, int steps, const Words& more = {}) const {
    Words words = {"train",
                   "--config",
                   "tiny.toml",
                   "--corpus",
                   corpus,
                   "--out",
                   out,
                   "--set",
                   "tokenizer.kind=char",
                   "tokenizer.path=meta.json",
                   "data.validation=val.bin",
                   "optim.schedule=constant",
                   "train.max_steps=" + std::to_string(steps)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  /// The losses of the first `steps` steps.
  std::vector<Json> losses(const std::string& run, std::size_t steps) const {
    std::vector<Json> all;
    for (const Json& line : here.metrics(run)) {
      if (line["event"] == "step" && all.size() < steps) {
        all.push_back(line["loss"]);
      }
    }
    return all;
  }

  Workspace here;
  std::string text_ = tiny_text(20000);  // its tokens are several pages of CheckedFile
  std::string characters_;
};

TEST_F(TokenFiles, WithoutAHeaderAreReadInTheWidthOfTheirIds) {
  ASSERT_EQ(here.run(train("ids16", "train.bin", 4)).code, 0);
  write<std::uint32_t>("wide.bin", text_);
  write<std::int64_t>("wider.bin", text_);
  for (const auto& [file, bits] : {std::pair("wide.bin", "32 bits"), std::pair("wider.bin", "64 bits")}) {
    const std::string run = std::string("run of ") + file;
    const Outcome trained = here.run(train(run, file, 4));
    ASSERT_EQ(trained.code, 0) << trained.err;
    expect_named(trained.err, {bits});
    EXPECT_EQ(losses(run, 4), losses("ids16", 4)) << file;
  }
  write<double>("floats.bin", text_);
  expect_refused(here, train("floats", "floats.bin", 4), {"/floats.bin", "floating-point"});
}

TEST_F(TokenFiles, AChangeDuringARunIsNeverLearned) {
  const std::string bytes = contents(here / "train.bin");
  {
    Program program(here.here(train("run", "train.bin", 1'000'000)));
    ASSERT_TRUE(program.until([&] { return here.metric_lines("run") >= 10; }));
    const std::string other(bytes.rbegin(), bytes.rend());
    std::string valid;  // ids of two bytes, in another order
    for (std::size_t i = 0; i + 1 < other.size(); i += 2) {
      valid += {other[i + 1], other[i]};
    }
    std::fstream(here / "train.bin", std::ios::binary | std::ios::in | std::ios::out) << valid;  // in place
    const Outcome ended = program.wait();
    EXPECT_EQ(ended.code, 2);
    expect_named(ended.err, {"dikkat: ", "/train.bin"});
  }
  EXPECT_EQ(here.run({"verify", "run"}).code, 0);
  expect_refused(here, {"resume", "run"}, {"/train.bin", "sha256"});

  here.write("train.bin", bytes);
  const std::size_t done = static_cast<std::size_t>(Json::parse(here.run({"inspect", "run", "--json"}).out)["step"]);
  const Outcome resumed = here.run({"resume", "run", "--set", "train.max_steps=" + std::to_string(done + 8)});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  ASSERT_EQ(here.run(train("whole", "train.bin", static_cast<int>(done) + 8)).code, 0);
  EXPECT_EQ(losses("run", done + 8), losses("whole", done + 8));
}

TEST_F(TokenFiles, TheCacheOfTokensToo) {
  here.write("text.txt", text_);
  Program program(here.here({"train", "--config", "tiny.toml", "--out", "run", "--set", "data.cache=cache", "train.max_steps=1000000"}));
  ASSERT_TRUE(program.until([&] { return here.metric_lines("run") >= 10; }));
  const auto file = std::filesystem::directory_iterator(here / "cache")->path();
  std::string bytes = contents(file);
  std::fill(bytes.begin() + 256, bytes.end(), '\0');  // valid tokens, behind the header
  std::fstream(file, std::ios::binary | std::ios::in | std::ios::out) << bytes;
  const Outcome ended = program.wait();
  EXPECT_EQ(ended.code, 2);
  expect_named(ended.err, {"dikkat: ", ".tokens"});
}

TEST_F(TokenFiles, ATouchedOrReplacedFileChangesNothing) {
  Program program(here.here(train("run", "train.bin", 60)));
  ASSERT_TRUE(program.until([&] { return here.metric_lines("run") >= 10; }));
  std::filesystem::last_write_time(here / "train.bin", std::filesystem::file_time_type::clock::now());
  const std::string bytes = contents(here / "train.bin");
  std::fstream(here / "train.bin", std::ios::binary | std::ios::in | std::ios::out) << bytes;  // in place, the same
  here.write("other.bin", "xx");
  std::filesystem::rename(here / "other.bin", here / "train.bin");  // the run keeps the file that it opened
  EXPECT_EQ(program.wait().code, 0) << program.err();
  here.write("train.bin", bytes);
  ASSERT_EQ(here.run(train("whole", "train.bin", 60)).code, 0);
  EXPECT_EQ(here.checkpoint("run", 60), here.checkpoint("whole", 60));
}

}  // namespace
}  // namespace dikkat::testing
