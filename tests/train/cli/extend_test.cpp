#include "tests/train/cli/workspace.h"

// `dikkat tokenizer extend` and `compare`: a model for another language, its training and its exports.
namespace dikkat::testing {
namespace {

/// Words whose endings are frequent, in an order that seems random.
std::string suffixed(int count, unsigned state = 5) {
  constexpr const char* kStems[] = {"ev", "göl", "kitap", "çocuk", "şehir", "yol"};
  constexpr const char* kEndings[] = {" ", "ler ", "lerden ", "lerimiz ", "in ", "de\n", "lık "};
  std::string text;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    text += kStems[(state >> 16) % 6];
    text += kEndings[(state >> 20) % 7];
  }
  return text;
}

struct Extend : ::testing::Test {
  Extend() {
    here.write("new.txt", suffixed(800));
    here.write("new-held-out.txt", suffixed(300, 9));
    here.write("old-held-out.txt", tiny_text(300).substr(7));
    here.train("base", {"tokenizer.kind=bpe", "tokenizer.vocab_size=280", "model.tie_embeddings=false", "train.max_steps=4"});
  }
  Outcome extend(const std::string& out, const Words& more = {}) const {
    Words words = {"tokenizer", "extend", "base", "--corpus", "new.txt", "--add", "40", "--out", out, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return here.run(words);
  }
  Json inspected(const std::string& run) const { return json_of(here.run({"inspect", run, "--json"})); }
  std::string ids(const std::string& model, const std::string& text) const {
    return here.run({"tokenizer", "encode", model, "--text", text}).out;
  }
  /// The rows of a matrix in a run's only safetensors file, as bytes.
  std::vector<std::string> rows(const std::string& folder, const std::string& name) const {
    const std::string file = contents(here / folder / "model.safetensors");
    std::uint64_t size = 0;
    std::memcpy(&size, file.data(), sizeof size);
    const Json tensor = Json::parse(file.substr(8, size))[name];
    const std::size_t count = tensor["shape"][0], begin = tensor["data_offsets"][0], end = tensor["data_offsets"][1];
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(file.substr(8 + size + begin + i * (end - begin) / count, (end - begin) / count));
    }
    return all;
  }

  Workspace here;
};

TEST_F(Extend, MakesAModelThatIsTrainedExportedAndCompared) {
  const Json made = json_of(extend("wide", {"--old-text", "old-held-out.txt"}));
  EXPECT_EQ(made["tokens"], 320);
  EXPECT_EQ(made["first_new_token"], 280);
  EXPECT_EQ(made["rows"], 320);
  EXPECT_LT(made["corpus"]["tokens_per_word_after"].get<double>(), 0.7 * made["corpus"]["tokens_per_word_before"].get<double>());
  const auto number = [&](const char* text, const char* key) { return made[text][key].get<int>(); };
  EXPECT_EQ(number("corpus", "replaced_tokens"),
            number("corpus", "tokens_before") - number("corpus", "tokens_after") + number("corpus", "new_tokens"));
  EXPECT_EQ(number("old_text", "tokens_before"), number("old_text", "tokens_after")) << "no new token is in it";
  EXPECT_EQ(number("old_text", "replaced_tokens"), 0);
  EXPECT_EQ(inspected("wide")["state"]["first_new_token"], 280);
  EXPECT_EQ(inspected("base")["state"]["first_new_token"], -1);

  // Train it, and stop and resume: the record of new rows stays.
  ASSERT_EQ(here.run({"finetune", "wide", "--data", "new.txt", "--replay", "text.txt", "--full", "--out", "tuned", "--set",
                      "train.max_steps=4", "optim.learning_rate=1e-2", "optim.new_rows_lr_scale=3"})
                .code,
            0);
  ASSERT_EQ(here.run({"resume", "tuned", "--set", "train.max_steps=6"}).code, 0);
  EXPECT_EQ(inspected("tuned")["state"]["first_new_token"], 280);

  // Other programs' files have the same tokens.
  ASSERT_EQ(here.run({"export", "tuned", "--out", "hf"}).code, 0);
  ASSERT_EQ(here.run({"export", "tuned", "--out", "tuned.gguf"}).code, 0);
  for (const std::string& text : {suffixed(60, 3), tiny_text(60), std::string("the evlerden <|endoftext|> 12")}) {
    EXPECT_EQ(ids("hf", text), ids("tuned", text));
    EXPECT_EQ(ids("tuned.gguf", text), ids("tuned", text));
  }
  EXPECT_EQ(ids("tuned", tiny_text(60)), ids("base", tiny_text(60)));

  // Compare both models on held-out text.
  const Json compared = json_of(here.run({"tokenizer", "compare", "base", "tuned", "--corpus", "new-held-out.txt", "--json"}));
  EXPECT_EQ(compared["words"], 300);
  EXPECT_LT(compared["b"]["tokens"].get<int>(), compared["a"]["tokens"].get<int>());
  for (const char* const side : {"a", "b"}) {
    const Json eval = json_of(here.run({"eval", side[0] == 'a' ? "base" : "tuned", "--corpus", "new-held-out.txt", "--json"}));
    EXPECT_EQ(compared[side]["bits_per_byte"], eval["bits_per_byte"]);
  }
  const Json files = json_of(here.run({"tokenizer", "compare", "base", "hf/tokenizer.json", "--corpus", "new-held-out.txt", "--json"}));
  EXPECT_TRUE(files["b"]["bits_per_byte"].is_null());
  EXPECT_EQ(files["b"]["tokens"], compared["b"]["tokens"]);
  EXPECT_TRUE(files["a"]["note"].is_null() && files["b"]["bits_per_byte"].is_null());
  expect_named(files["b"]["note"], {"hf/tokenizer.json"});
  here.train("words", {"tokenizer.kind=word", "train.max_steps=1"});
  const Outcome table = here.run({"tokenizer", "compare", "base", "words", "--corpus", "text.txt"});
  EXPECT_EQ(lines_with(table.err, "words: ").size(), 1U) << table.err;
}

TEST_F(Extend, AdaptersTrainOnlyTheNewRows) {
  json_of(extend("wide"));
  ASSERT_EQ(
      here.run({"finetune", "wide", "--data", "new.txt", "--out", "tuned", "--set", "train.max_steps=3", "optim.warmup_steps=0"}).code, 0);
  ASSERT_EQ(here.run({"merge", "tuned", "--out", "merged"}).code, 0);
  EXPECT_EQ(inspected("merged")["state"]["first_new_token"], 280);
  ASSERT_EQ(here.run({"export", "wide", "--out", "wide-hf"}).code, 0);
  ASSERT_EQ(here.run({"export", "merged", "--out", "merged-hf"}).code, 0);
  for (const char* const table : {"transformer.wte.weight", "lm_head.weight"}) {
    const auto before = rows("wide-hf", table), after = rows("merged-hf", table);
    ASSERT_EQ(before.size(), 320U);
    for (std::size_t row = 0; row < before.size(); ++row) {
      if (row < 280) {
        EXPECT_EQ(before[row], after[row]) << table << ' ' << row;
      }
    }
    EXPECT_FALSE(std::equal(before.begin() + 280, before.end(), after.begin() + 280)) << table << " has learned nothing";
  }
  EXPECT_EQ(contents(here / "wide-hf/tokenizer.json"), contents(here / "merged-hf/tokenizer.json"));
}

TEST_F(Extend, HasTheSameBytesOnAnyNumberOfThreads) {
  for (const char* const threads : {"1", "2"}) {
    const Words words = {"tokenizer", "extend", "base", "--corpus", "new.txt", "text.txt", "--add", "30", "--out", threads};
    ASSERT_EQ(here.run(words, {.environment = {{"OMP_NUM_THREADS", threads}, {"DIKKAT_THREADS", threads}}}).code, 0);
  }
  EXPECT_EQ(here.checkpoint("1", 0), here.checkpoint("2", 0));
}

TEST_F(Extend, RefusesWhatAddsNothingAndWritesNothing) {
  const auto refused = [&](Words more, const Words& names) {
    more.insert(more.begin(), {"tokenizer", "extend"});
    expect_refused(here, more, names);
  };
  here.write("once.txt", "xq wz");
  here.write("blank.txt", " \n");
  here.write("broken.txt", "ev\xFF");
  refused({"base", "--corpus", "once.txt", "--add", "5", "--out", "wide"}, {"no token"});
  refused({"base", "--corpus", "text.txt", "--add", "0", "--out", "wide"}, {"--add"});
  refused({"base", "--corpus", "nowhere.txt", "--add", "5", "--out", "wide"}, {"nowhere.txt"});
  refused({"base", "--corpus", "broken.txt", "--add", "5", "--out", "wide"}, {"broken.txt", "byte 2"});
  refused({"base", "--corpus", "new.txt", "--old-text", "blank.txt", "--add", "5", "--out", "wide"}, {"blank.txt"});
  refused({"base", "--corpus", "new.txt", "--add", "5", "--out", "base"}, {"base"});
  refused({"nowhere", "--corpus", "new.txt", "--add", "5", "--out", "wide"}, {"nowhere"});
  here.train("letters", {"tokenizer.kind=char", "train.max_steps=1"});
  refused({"letters", "--corpus", "new.txt", "--add", "5", "--out", "wide"}, {"\"char\""});
  // All pairs of a text that an earlier extension has used up are joined.
  ASSERT_EQ(here.run({"tokenizer", "extend", "base", "--corpus", "new.txt", "--add", "100000", "--out", "all"}).code, 0);
  refused({"all", "--corpus", "new.txt", "--add", "5", "--out", "wide"}, {"no token"});
  expect_refused(here, {"tokenizer", "compare", "base", "nowhere", "--corpus", "new.txt"}, {"nowhere"});
  expect_refused(here, {"tokenizer", "compare", "letters", "base", "--corpus", "new.txt"}, {"new.txt", "byte"});
}

}  // namespace
}  // namespace dikkat::testing
