#include <regex>
#include <set>

#include "tests/train/cli/workspace.h"

// Chess moves and other sequences of named symbols: from a list or a meta.pkl to a trained model and its exports.
namespace dikkat::testing {
namespace {

using namespace std::string_literals;

constexpr const char* kMoves = "e4\ne5\nNf3\nNc6\nBb5\na6\n";

std::string games(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += i % 3 == 0 ? "e4 e5 Nf3 Nc6 Bb5 a6\n" : "e4 e5 Nf3 Nc6\n";
  }
  return text;
}

Words train_on_games(const std::string& out, const Words& settings) {
  Words words = {"train", "--config", "tiny.toml", "--corpus", "games.txt", "--out", out, "--set", "train.max_steps=4"};
  words.insert(words.end(), settings.begin(), settings.end());
  return words;
}

TEST(Symbols, AreTrainedOnSampledAndExported) {
  const Workspace here;
  here.write("moves.txt", kMoves);
  here.write("games.txt", games(60));
  ASSERT_EQ(here.run({"tokenizer", "make", "--symbols", "moves.txt", "--out", "chess"}).code, 0);
  EXPECT_EQ(here.run({"tokenizer", "encode", "chess", "--text", "e4 e5\nNc6"}).out, "0 1 6 3\n");
  EXPECT_EQ(here.run({"tokenizer", "decode", "chess", "0", "1", "6", "3"}).out, "e4 e5\nNc6");
  const Json inspected = json_of(here.run({"tokenizer", "inspect", "chess", "--json"}));
  EXPECT_EQ(inspected["kind"], "symbols");
  EXPECT_EQ(inspected["vocab_size"], 8);
  expect_refused(here, {"tokenizer", "make", "--symbols", "moves.txt", "--out", "chess"}, {"chess"});

  const Outcome trained = here.run(train_on_games("run", {"tokenizer.path=chess", "train.max_steps=100", "optim.learning_rate=0.02"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Json sample = json_of(here.run({"sample", "run", "--prompt", "e4 e5", "--max-new-tokens", "2", "--temperature", "0", "--json"}));
  EXPECT_EQ(sample["samples"][0]["text"], " Nf3 Nc6");
  EXPECT_EQ(here.run({"resume", "run", "--set", "train.max_steps=104"}).code, 0);
  EXPECT_EQ(here.run(train_on_games("tuned", {"train.init_from=run"})).code, 0);
  EXPECT_TRUE(json_of(here.run({"eval", "run", "--json"}))["bits_per_byte"].is_null());

  ASSERT_EQ(here.run({"export", "run", "--out", "run-hf"}).code, 0);
  EXPECT_EQ(Json::parse(contents(here / "run-hf/tokenizer.json"))["model"]["type"], "WordLevel");
  EXPECT_EQ(
      json_of(here.run({"sample", "run-hf", "--prompt", "e4 e5", "--max-new-tokens", "2", "--temperature", "0", "--json"}))["samples"],
      json_of(here.run({"sample", "run", "--prompt", "e4 e5", "--max-new-tokens", "2", "--temperature", "0", "--json"}))["samples"]);
  expect_refused(here, {"export", "run", "--out", "run.gguf"}, {"GGUF", "symbols", "--split longest"});
  expect_refused(here, {"sample", "run", "--prompt", "e4 Qxf7"}, {"\"Qxf7\""});
  here.write("games.txt", games(3) + "e4 e5 Ke2 Nc6\n" + games(3));
  expect_refused(here, train_on_games("other", {"tokenizer.path=chess"}), {"games.txt: line 4, byte ", "\"Ke2\""});
}

TEST(Symbols, AreSampledInAForm) {
  const Workspace here;
  here.write("moves.txt", kMoves);
  here.write("games.txt", games(60));
  ASSERT_EQ(here.run({"tokenizer", "make", "--symbols", "moves.txt", "--out", "chess"}).code, 0);
  ASSERT_EQ(here.run(train_on_games("run", {"tokenizer.path=chess"})).code, 0);
  const auto sampled = [&](const Words& form) {
    Words words = {"sample", "run", "--prompt", "e4 e5", "--max-new-tokens", "6", "--num-samples", "8", "--temperature", "9", "--json"};
    words.insert(words.end(), form.begin(), form.end());
    const Outcome outcome = here.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    Words texts;
    const Json found = Json::parse(outcome.out, nullptr, false);
    for (const Json& sample : found["samples"]) {
      EXPECT_EQ(sample["ended"], "end");
      texts.push_back(sample["text"]);
    }
    return texts;
  };
  for (const std::string& text : sampled({"--regex", "[NB][a-h]?[a-h][1-8]( [a-h][1-8]){2}\n(Nf3 e5|e4 d5)"})) {
    EXPECT_TRUE(std::regex_match(text, std::regex("(Nf3|Nc6|Bb5)( (e4|e5|a6)){2}\nNf3 e5"))) << text << ": there is no d5";
  }
  std::set<std::string> chosen;
  for (const std::string& text : sampled({"--choice", "e4,Nf3 Nc6,Ke2,e4 d5"})) {
    chosen.insert(text);
  }
  EXPECT_EQ(chosen, (std::set<std::string>{"e4", "Nf3 Nc6"}));
  EXPECT_EQ(here.run({"sample", "run", "--prompt", "e4 e5", "--choice", "a6"}).out, "e4 e5 a6\n") << "a space separates it";
  here.write("questions.jsonl", "{\"prompt\": \"e4 e5\"}\n{\"prompt\": \"e4\\n\"}\n");
  const Outcome answered = here.run({"sample", "run", "--messages", "questions.jsonl", "--choice", "Nf3 e5"});
  EXPECT_EQ(lines_with(answered.out, "\"answer\":\"Nf3 e5\"").size(), 2U) << answered.out << answered.err;
  expect_refused(here, {"sample", "run", "--regex", "e4 d[45]"}, {"--regex", "byte 2", "\"e4\""});
  expect_refused(here, {"sample", "run", "--choice", "d4,Ke2"}, {"--choice", "byte 0"});
}

TEST(Symbols, WithoutSpacesAreExportedToGguf) {
  const Workspace here;
  here.write("codons.txt", "A\nC\nG\nT\nATG\nTAA\n");
  here.write("games.txt", std::string(40, 'A') + "ATGCGTAA\nATGTAA\n" + std::string(40, 'C'));
  ASSERT_EQ(here.run({"tokenizer", "make", "--symbols", "codons.txt", "--split", "longest", "--out", "dna.json"}).code, 0);
  ASSERT_EQ(here.run(train_on_games("run", {"tokenizer.path=dna.json", "data.val_fraction=0.4", "model.block_size=8"})).code, 0);
  ASSERT_EQ(here.run({"export", "run", "--out", "run.gguf"}).code, 0);
  const Words sample = {"sample", "", "--prompt", "ATG", "--max-new-tokens", "4", "--temperature", "0", "--json"};
  Words of_run = sample, of_file = sample;
  of_run[1] = "run", of_file[1] = "run.gguf";
  EXPECT_EQ(json_of(here.run(of_file))["samples"], json_of(here.run(of_run))["samples"]);
  EXPECT_FALSE(json_of(here.run({"eval", "run", "--json"}))["bits_per_byte"].is_null());
}

TEST(Symbols, OfACorpusNeedNoList) {
  const Workspace here;
  here.write("games.txt", games(60));
  ASSERT_EQ(here.run(train_on_games("run", {"tokenizer.kind=symbols"})).code, 0);
  EXPECT_EQ(json_of(here.run({"tokenizer", "inspect", "run", "--json"}))["vocab_size"], 8);
}

TEST(Symbols, AreNotCutByTheSplit) {
  const Workspace here;
  here.write("moves.txt", kMoves);
  const std::string text = games(60) + "Bb5\nBb5\n";
  ASSERT_EQ(text.substr(text.size() * 9 / 10 - 1, 3), "Nf3") << "90 % of the bytes end within a move";
  here.write("games.txt", text);
  here.write("more/a.txt", text);
  here.write("more/b.txt", text);
  ASSERT_EQ(here.run({"tokenizer", "make", "--symbols", "moves.txt", "--out", "chess"}).code, 0);
  const Outcome trained = here.run(train_on_games("run", {"tokenizer.path=chess"}));
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(here.run(train_on_games("documents", {"tokenizer.kind=symbols", "data.pack=document"})).code, 0);
  for (const auto& [corpus, files] : {std::pair("games.txt", 1), std::pair("more", 2)}) {
    const Outcome found = here.run({"corpus", "inspect", corpus, "--tokenizer", "chess", "--json"});
    ASSERT_EQ(found.code, 0) << found.err;
    EXPECT_EQ(Json::parse(found.out)["tokens"], files * (20 * 7 + 40 * 5 + 4) + (files - 1) * 2) << "and <|endoftext|> in both parts";
  }
}

TEST(Words, AreNotCutByTheSplit) {
  const Workspace here;
  here.write("tale.txt", tiny_text(100) + "an-uncommonly-long-word-that-is-at-the-split\n");
  ASSERT_EQ(here.run({"train", "--config", "tiny.toml", "--corpus", "tale.txt", "--out", "run", "--set", "tokenizer.kind=word",
                      "train.max_steps=1"})
                .code,
            0);
  const Json start = here.log("run").front();
  const std::string text = contents(here / "tale.txt");
  const auto words = 101 + std::ranges::count(text, '\n');
  EXPECT_EQ(start["train_tokens"].get<int>() + start["val_tokens"].get<int>(), words) << start;
}

TEST(Symbols, OfNanoGptsTokenFilesComeFromMetaPickle) {
  const Workspace here;
  // pickle.dumps({"stoi": {"a": 0, "b": 1}, "itos": {0: "a", 1: "b"}}, 2), without its memo
  const std::string pickle = "\x80\2}(X\4\0\0\0stoi}(X\1\0\0\0aK\0X\1\0\0\0bK\1uX\4\0\0\0itos}(K\0X\1\0\0\0aK\1X\1\0\0\0buu."s;
  std::string ids;
  for (int i = 0; i < 400; ++i) {
    ids += {static_cast<char>(i / 3 % 2), '\0'};
  }
  here.write("data/meta.pkl", pickle);
  here.write("data/train.bin", ids);
  here.write("data/val.bin", ids.substr(0, 200));
  const auto run_of = [](const std::string& out, const std::string& file) {
    return Words{"train", "--config", "tiny.toml", "--corpus",          file,
                 "--out", out,        "--set",     "train.max_steps=4", "data.validation=[\"data/val.bin\"]"};
  };
  const Outcome trained = here.run(run_of("run", "data/train.bin"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_named(trained.err, {"data/meta.pkl"});
  const Outcome sampled = here.run({"sample", "run", "--prompt", "ab", "--max-new-tokens", "8"});
  EXPECT_EQ(sampled.code, 0) << sampled.err;
  EXPECT_EQ(sampled.out.find_first_not_of("ab\n"), std::string::npos) << sampled.out;
  EXPECT_GE(sampled.out.size(), 10U);

  here.write("other/train.bin", ids);
  Words both = run_of("both", "data/train.bin");
  both.insert(both.begin() + 4, "other/train.bin");
  expect_refused(here, both, {"meta.pkl", "tokenizer.path"});
  here.write("data/meta.pkl", "\x80\2cos\nsystem\n(X\2\0\0\0lstR."s);
  expect_refused(here, run_of("bad", "data/train.bin"), {"data/meta.pkl", "os.system"});
  // The same with "vocab_size": 2 is read, and with another number refused.
  const auto sized = [&](char size) { return pickle.substr(0, pickle.size() - 2) + "X\12\0\0\0vocab_sizeK"s + size + "u."; };
  here.write("data/meta.pkl", sized(2));
  EXPECT_EQ(here.run(run_of("sized", "data/train.bin")).code, 0);
  here.write("data/meta.pkl", sized(3));
  expect_refused(here, run_of("bad", "data/train.bin"), {"data/meta.pkl", "vocab_size", "2"});
  here.write("data/meta.pkl", "\x80\2K\1."s);
  expect_refused(here, run_of("bad", "data/train.bin"), {"data/meta.pkl", "dict"});
  expect_refused(here, {"tokenizer", "make", "--symbols", "data/meta.pkl", "--out", "made"}, {"data/meta.pkl", "dict"});
}

TEST(Symbols, AWrongListMakesNoTokenizer) {
  const Workspace here;
  here.write("twice.txt", "e4\ne5\ne4\n");
  expect_refused(here, {"tokenizer", "make", "--symbols", "twice.txt", "--out", "chess"}, {"twice.txt", "row 3", "row 1", "\"e4\""});
  here.write("space.txt", "e4\nO O\n");
  expect_refused(here, {"tokenizer", "make", "--symbols", "space.txt", "--out", "chess"}, {"space.txt", "row 2"});
  expect_refused(here, {"tokenizer", "make", "--symbols", "space.txt", "--split", "words", "--out", "chess"},
                 {"--split", "words", "spaces"});
  expect_refused(here, {"tokenizer", "make", "--symbols", "none.txt", "--out", "chess"}, {"none.txt"});
  here.write("empty.txt", "");
  expect_refused(here, {"tokenizer", "make", "--symbols", "empty.txt", "--out", "chess"}, {"empty.txt"});
}

TEST(Symbols, CannotBeChattedIn) {
  const Workspace here;
  here.write("moves.txt", kMoves);
  here.write("games.txt", games(20));
  here.write("chats.jsonl", "{\"prompt\":\"e4\",\"completion\":\"e5\"}\n");
  ASSERT_EQ(here.run({"tokenizer", "make", "--symbols", "moves.txt", "--out", "chess"}).code, 0);
  ASSERT_EQ(here.run(train_on_games("run", {"tokenizer.path=chess"})).code, 0);
  expect_refused(here, {"finetune", "run", "--data", "chats.jsonl", "--out", "tuned", "--set", "data.val_fraction=0"}, {"symbols", "User"});
}

}  // namespace
}  // namespace dikkat::testing
