#include <cmath>
#include <cstdlib>
#include <regex>

#include <sys/stat.h>

#include "tests/train/cli/workspace.h"

// From any text to tokens: tokenizers, corpora of every kind, and their use in training and evaluation.
namespace dikkat::testing {
namespace {

Words train(const std::string& out, const Words& more) {
  return with({"train", "--config", "tiny.toml", "--out", out, "--set", "train.max_steps=4"}, more);
}

std::string mixed_text() { return tiny_text() + "\u0130stanbul'da \u0131\u015F\u0131k, \u3053\u3053\u308D \xF0\x9F\x98\x80!\n"; }

TEST(TokenizerCommand, TrainsOneThatEncodesAndDecodes) {
  const Workspace here;
  here.write("mixed.txt", mixed_text());
  const Outcome trained = here.run({"tokenizer", "train", "--corpus", "mixed.txt", "--vocab-size", "280", "--out", "tk"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.out, "tk/tokenizer.json\ntk/vocab.bpe\ntk/encoder.json\n");
  const Outcome ids = here.run({"tokenizer", "encode", "tk", "--corpus", "mixed.txt"});
  EXPECT_EQ(ids.code, 0) << ids.err;
  for (const char* file : {"tk", "tk/tokenizer.json", "tk/vocab.bpe", "tk/encoder.json"}) {
    EXPECT_EQ(here.run({"tokenizer", "encode", file}, {.input = mixed_text()}).out, ids.out) << file;
  }
  EXPECT_EQ(here.run({"tokenizer", "decode", "tk"}, {.input = ids.out}).out, mixed_text());
  const Json array = json_of(here.run({"tokenizer", "encode", "tk", "--text", "the lamp", "--json"}));
  EXPECT_EQ(here.run({"tokenizer", "decode", "tk"}, {.input = array.dump()}).out, "the lamp");

  const Json about = json_of(here.run({"tokenizer", "inspect", "tk", "--text", "the lamp", "--json"}));
  EXPECT_EQ(about["kind"], "bpe");
  EXPECT_EQ(about["vocab_size"], 280);
  EXPECT_EQ(about["separator"], 279);
  EXPECT_EQ(about["tokens"].size(), array.size());
  EXPECT_TRUE(std::regex_search(here.run({"tokenizer", "inspect", "tk"}).out, std::regex("Unicode [0-9]+\\.[0-9]+\\.[0-9]+")));

  EXPECT_EQ(here.run({"tokenizer", "train", "--corpus", "mixed.txt", "--kind", "word", "--out", "words.json"}).code, 0);
  EXPECT_EQ(json_of(here.run({"tokenizer", "inspect", "words.json", "--json"}))["kind"], "word");
}

TEST(TokenizerCommand, RendersConversations) {
  const Workspace here;
  here.write("mixed.txt", mixed_text());
  ASSERT_EQ(here.run({"tokenizer", "train", "--corpus", "mixed.txt", "--vocab-size", "280", "--out", "tk.json"}).code, 0);
  here.write(
      "talk.json",
      R"({"messages": [{"role": "user", "content": "<|endoftext|>"}], "date": "2026-03-09", "add_generation_prompt": true, "x": [1, null]})");
  EXPECT_EQ(here.run({"tokenizer", "render", "tk.json", "--messages", "talk.json"}).out, "User:\n<|endoftext|><|endoftext|>\nAssistant:\n");
  here.write("own.jinja", "{{ strftime_now('%d %b %Y') }}{{ eos_token }}{{ x }}{% for m in messages %}{{ m.content }}{% endfor %}");
  const Json own = json_of(here.run({"tokenizer", "render", "tk.json", "--messages", "talk.json", "--template", "own.jinja", "--json"}));
  EXPECT_EQ(own["text"], "09 Mar 2026<|endoftext|>[1, None]<|endoftext|>");
  EXPECT_EQ(std::count(own["ids"].begin(), own["ids"].end(), 279), 1) << "a message never becomes a special token";
  here.write("bad.jinja", "\n{% include 'x' %}");
  expect_refused(here, {"tokenizer", "render", "tk.json", "--messages", "talk.json", "--template", "bad.jinja"},
                 {"bad.jinja", "line 2", "include"});
  here.write("strict.jinja", "{{ raise_exception('Too short.') }}");
  expect_refused(here, {"tokenizer", "render", "tk.json", "--messages", "talk.json", "--template", "strict.jinja"},
                 {"strict.jinja", "Too short."});
}

TEST(TokenizerCommand, ReportsThatATextHasTooFewPairsToMerge) {
  const Workspace here;
  here.write("few.txt", "abc abc");
  for (const char* wanted : {"400", "258"}) {
    const std::string file = std::string(wanted) + ".json";
    const Outcome trained = here.run({"tokenizer", "train", "--corpus", "few.txt", "--vocab-size", wanted, "--out", file});
    EXPECT_EQ(trained.code, 0);
    EXPECT_EQ(contains(trained.err, " 400"), std::string(wanted) == "400") << trained.err;
  }
  for (const char* wanted : {"9000", "280"}) {
    const std::string size = std::string("tokenizer.vocab_size=") + wanted;
    const Outcome trained = here.train(std::string("run") + wanted, {"tokenizer.kind=bpe", size, "train.max_steps=1"});
    EXPECT_EQ(contains(trained.err, " 9,000"), std::string(wanted) == "9000") << trained.err;
  }
  EXPECT_TRUE(contains(contents(here / "run9000/config.toml"), "vocab_size = 9000\n")) << "what was asked for, for other texts";
}

TEST(TokenizerCommand, ReadsTheTokenizerOfARun) {
  const Workspace here;
  ASSERT_EQ(here.run(train("run", {"tokenizer.kind=bpe", "tokenizer.vocab_size=280"})).code, 0);
  EXPECT_EQ(here.run({"tokenizer", "decode", "run"}, {.input = here.run({"tokenizer", "encode", "run", "--text", "a lamp"}).out}).out,
            "a lamp");
  EXPECT_EQ(json_of(here.run({"tokenizer", "inspect", "run/checkpoints/step-000000004.h5", "--json"}))["vocab_size"], 280);
}

TEST(TokenizerCommand, SplittersAreThoseOfTodaysModels) {
  const Workspace here;
  here.write("mixed.txt", mixed_text());
  for (const char* splitter : {"smollm", "llama3", "qwen2"}) {
    const std::string file = std::string(splitter) + ".json";
    EXPECT_EQ(here.run({"tokenizer", "train", "--corpus", "mixed.txt", "--vocab-size", "280", "--splitter", splitter, "--out", file}).code,
              0);
    EXPECT_EQ(json_of(here.run({"tokenizer", "inspect", file, "--json"}))["splitter"], splitter);
    EXPECT_TRUE(contains(here.run({"tokenizer", "inspect", file}).out, std::string("the rule of ") + splitter));
    const Outcome trained =
        here.run({"tokenizer", "train", "--corpus", "mixed.txt", "--vocab-size", "280", "--splitter", splitter, "--out", splitter});
    EXPECT_EQ(trained.out, std::string(splitter) + "/tokenizer.json\n") << "GPT-2's files cannot name the splitter";

    ASSERT_EQ(here.run(train(std::string("run-") + splitter,
                             {"tokenizer.kind=bpe", "tokenizer.vocab_size=280", std::string("tokenizer.splitter=") + splitter}))
                  .code,
              0);
    EXPECT_EQ(json_of(here.run({"tokenizer", "inspect", std::string("run-") + splitter, "--json"}))["splitter"], splitter);
  }
  EXPECT_EQ(here.run({"tokenizer", "decode", "qwen2"}, {.input = here.run({"tokenizer", "encode", "qwen2", "--text", "e\u0301"}).out}).out,
            "\u00E9");
  EXPECT_EQ(here.run({"tokenizer", "encode", "qwen2", "--text", "!<|endoftext|>", "--special"}).out, "0 279\n");
  EXPECT_NE(here.run({"tokenizer", "encode", "qwen2", "--text", "!<|endoftext|>"}).out, "0 279\n");
}

TEST(CorpusCommand, CountsTheTokensOfARunsTokenizer) {
  const Workspace here;
  ASSERT_EQ(here.run(train("run", {"tokenizer.kind=bpe", "tokenizer.vocab_size=280"})).code, 0);
  EXPECT_EQ(json_of(here.run({"corpus", "inspect", "text.txt", "--tokenizer", "run", "--json"}))["tokenizer"]["vocab_size"], 280);
  const Outcome again = here.run(train("again", {"tokenizer.path=run"}));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(here.run({"tokenizer", "encode", "again", "--text", "a lamp"}).out,
            here.run({"tokenizer", "encode", "run", "--text", "a lamp"}).out);
  EXPECT_TRUE(contains(contents(here / "again/config.toml"), "kind = \"bpe\""));
  EXPECT_EQ(here.run({"resume", "again", "--set", "train.max_steps=5"}).code, 0);
}

TEST(Corpus, FilesThatAreNotTextAreSkippedAndReported) {
  const Workspace here;
  here.write("docs/a.txt", tiny_text());
  here.write("docs/b.log.gz", "?");
  here.write("docs/c.log.gz", "?");
  const Json about = json_of(here.run({"corpus", "inspect", "docs", "--json"}));
  EXPECT_EQ(about["files"], 1);
  EXPECT_EQ(about["skipped"], (Json::array({{{"files", 2}, {"what", "that end in .log.gz"}, {"example", (here / "docs/b.log.gz")}}})));
  const Words fragments = {"2 ", ".log.gz", "/docs/b.log.gz"};
  expect_named(here.run({"corpus", "inspect", "docs"}).out, fragments);
  expect_named(here.run(with(train("run", {}), {"--corpus", "docs"})).err, fragments);
  expect_named(here.run({"tokenizer", "train", "--kind", "char", "--corpus", "docs", "--out", "char.json"}).err, fragments);
}

TEST(Corpus, BytesOfAnyFileAreForTheByteTokenizer) {
  const Workspace here;
  here.write("a.dat", std::string("\0\xFF\x7F\x45\0", 5) + tiny_text());
  here.write("nul.jsonl", R"({"text":"a\u0000b"})"
                          "\n");
  const Words set = {"--set", "train.max_steps=4", "tokenizer.kind=byte"};
  EXPECT_EQ(here.run(with({"train", "--config", "tiny.toml", "--corpus", "a.dat", "--out", "run"}, set)).code, 0);
  EXPECT_EQ(here.run({"eval", "run", "--corpus", "a.dat"}).code, 0);
  EXPECT_TRUE(here.run({"tokenizer", "encode", "run", "--corpus", "a.dat"}).out.starts_with("0 255 127 69 0 "));
  EXPECT_EQ(here.run({"tokenizer", "train", "--kind", "byte", "--corpus", "a.dat", "--out", "byte.json"}).code, 0);
  const Outcome shown = here.run({"corpus", "inspect", "nul.jsonl", "--kind", "byte"});
  EXPECT_TRUE(shown.out.ends_with("\na\\u0000b\n")) << shown.out;
}

TEST(CacheCommand, ListsAndClears) {
  const Workspace here;
  std::string large;
  while (large.size() < (9U << 20)) {
    large += tiny_text(60000);
  }
  here.write("large.txt", large);
  const Start start{.environment = {{"XDG_CACHE_HOME", here.path()}, {"DIKKAT_CACHE_GB", "1"}}};
  const Words arguments = {"train",          "--config", "tiny.toml", "--corpus",          "large.txt",
                           "--out",          "run",      "--set",     "train.max_steps=4", "data.val_fraction=0.0005",
                           "data.cache=auto"};
  const Outcome trained = here.run(arguments, start);
  EXPECT_EQ(trained.code, 0) << trained.err;
  expect_named(trained.err, {here.path() + "/dikkat/", "1,000 MB", "DIKKAT_CACHE_GB"});
  const Outcome listed = here.run({"cache", "list"}, start);
  EXPECT_TRUE(contains(listed.out, ".tokens\n")) << listed.out;
  EXPECT_EQ(std::count(listed.out.begin(), listed.out.end(), '\n'), 1) << listed.out;
  const Outcome cleared = here.run({"cache", "clear"}, start);
  EXPECT_EQ(cleared.code, 0);
  expect_named(cleared.err, {" 1 "});
  EXPECT_EQ(here.run({"cache", "list"}, start).out, "");
}

TEST(CorpusCommand, ReportsTheContentsOfACorpus) {
  const Workspace here;
  here.write("d.jsonl", "{\"text\":\"one two\"}\n{\"text\":\"\u3053\u3053\u308D\"}\n");
  const Json json = json_of(here.run({"corpus", "inspect", "d.jsonl", "text.txt", "--val-fraction", "0.25", "--json"}));
  const auto text_bytes = tiny_text().size();
  EXPECT_EQ(json["files"], 2);
  EXPECT_EQ(json["documents"], 3);
  EXPECT_EQ(json["bytes"], text_bytes + 16);
  EXPECT_EQ(json["train"]["bytes"].get<std::size_t>() + json["validation"]["bytes"].get<std::size_t>(), text_bytes + 16);
  // The lines give their last 4 bytes, and the cut moves back to the start of its character, which is byte 10. The text gives the rest.
  const auto of_text = static_cast<std::size_t>(std::llround(0.25 * static_cast<double>(text_bytes + 16))) - 4;
  EXPECT_EQ(json["train"]["bytes"], 10 + text_bytes - of_text);
  EXPECT_EQ(json["tokens"], text_bytes + 10) << "characters";
  EXPECT_EQ(json["sample"], "one two");
  here.write("latin.txt", "caf\xe9 latin");
  const Outcome latin = here.run({"corpus", "inspect", "latin.txt"});
  EXPECT_EQ(latin.code, 0);
  expect_named(latin.out, {"byte 3", "0xE9"});
}

TEST(CorpusCommand, ReportsLengthsCopiesScriptsAndLongLines) {
  const Workspace here;
  here.write("d.jsonl",
             "{\"text\":\"one two\"}\n{\"text\":\"\u3053\u3053\u308D\u3053\u3053\u308D\u3053\u3053\"}\n{\"text\":\"one two\"}\n");
  const Json json = json_of(here.run({"corpus", "inspect", "d.jsonl", "--json"}));
  EXPECT_EQ(json["lengths"]["median"], 7);
  EXPECT_EQ(json["lengths"]["longest"], 24);
  EXPECT_EQ(json["lengths"]["histogram"], (Json::array({{{"from", 5}, {"below", 10}, {"documents", 2}, {"bytes", 14}},
                                                        {{"from", 10}, {"below", 20}, {"documents", 0}, {"bytes", 0}},
                                                        {{"from", 20}, {"below", 50}, {"documents", 1}, {"bytes", 24}}})));
  EXPECT_EQ(json["duplicates"]["documents"], 1);
  EXPECT_EQ(json["duplicates"]["most"][0]["second"], (Json{{"file", here / "d.jsonl"}, {"line", 3}}));
  EXPECT_EQ(json["scripts"][0], (Json{{"script", "Latin"}, {"characters", 12}}));
  EXPECT_EQ(json["longest_lines"][0]["line"], 2);
  const std::string text = here.run({"corpus", "inspect", "d.jsonl"}).out;
  const std::string file = (here / "d.jsonl").string();
  expect_named(text, {file + ":1", "Latin 54.5 %, Hiragana 36.4 %, Common 9.09 %", "24 bytes", file + ":2"});
}

TEST(CorpusCommand, WritesAPageAndReplacesIt) {
  const Workspace here;
  EXPECT_EQ(here.run({"corpus", "inspect", "text.txt", "--html", "c.html"}).code, 0);
  EXPECT_TRUE(contents(here / "c.html").starts_with("<!doctype html>"));
  EXPECT_EQ(here.run({"corpus", "inspect", "text.txt", "--html", "c.html"}).code, 0);
}

/// The losses of the steps, which are equal if tokens, split and order are equal.
std::vector<Json> losses(const Workspace& here, const std::string& run) {
  std::vector<Json> found;
  for (const Json& line : here.metrics(run)) {
    found.push_back(line["event"] == "step" ? line["loss"] : line["val_loss"]);
  }
  return found;
}

TEST(Data, TheSameTextIsTheSameRunHoweverItComes) {
  const Workspace here;
  ASSERT_EQ(here.run(train("plain", {})).code, 0);
  ASSERT_EQ(std::system(("cd " + here.path() + " && gzip -k text.txt && zstd -q text.txt").c_str()), 0);
  here.write("d.jsonl", Json{{"text", tiny_text()}}.dump() + "\n");
  int number = 0;
  for (const char* file : {"text.txt.gz", "text.txt.zst", "d.jsonl", "t*t.txt"}) {
    const std::string run = "run " + std::to_string(++number);
    const Outcome trained = here.run(train(run, {"--corpus", file}));
    ASSERT_EQ(trained.code, 0) << trained.err;
    EXPECT_EQ(losses(here, run), losses(here, "plain")) << file;
  }
  const Words from_input = train("input", {"--corpus", "-"});
  ASSERT_EQ(here.run(from_input, {.input = tiny_text()}).code, 0);
  EXPECT_EQ(losses(here, "input"), losses(here, "plain"));
  const Outcome resumed = here.run({"resume", "input", "--set", "train.max_steps=6"}, {.input = tiny_text()});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const Outcome changed = here.run({"resume", "input", "--set", "train.max_steps=8"}, {.input = "something else"});
  EXPECT_EQ(changed.code, 2);
  expect_named(changed.err, {"sha256"});
}

TEST(Data, TokensOfNanoGptTrainTheSameModel) {
  const Workspace here;
  ASSERT_EQ(here.run(train("chars", {"tokenizer.kind=char"})).code, 0);
  std::string characters = tiny_text();
  std::sort(characters.begin(), characters.end());
  characters.erase(std::unique(characters.begin(), characters.end()), characters.end());
  Json ids = Json::object();
  for (std::size_t id = 0; id < characters.size(); ++id) {
    ids[std::string(1, characters[id])] = id;
  }
  here.write("meta.json", Json{{"vocab_size", ids.size()}, {"stoi", ids}}.dump());
  const std::string text = tiny_text();
  const std::size_t split = text.size() * 9 / 10;
  const auto write_bin = [&](const char* name, std::string_view part) {
    std::string bytes;
    for (const char c : part) {
      bytes += static_cast<char>(characters.find(c));
      bytes += '\0';
    }
    here.write(name, bytes);
  };
  write_bin("train.bin", std::string_view(text).substr(0, split));
  write_bin("val.bin", std::string_view(text).substr(split));
  const Words settings = {"tokenizer.kind=char", "tokenizer.path=meta.json", "data.validation=val.bin"};
  const Outcome trained = here.run(with(train("bins", settings), {"--corpus", "train.bin"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(losses(here, "bins"), losses(here, "chars"));
  const Json of_bins = json_of(here.run({"eval", "bins", "--json"}));
  const Json of_chars = json_of(here.run({"eval", "chars", "--json"}));
  EXPECT_EQ(of_bins["bits_per_byte"], of_chars["bits_per_byte"]);
  EXPECT_EQ(json_of(here.run({"eval", "chars", "--corpus", "val.bin", "--json"}))["loss"], of_chars["loss"]);
}

TEST(Data, TokensAreKeptAndFoundAgain) {
  const Workspace here;
  ASSERT_EQ(here.run(train("a", {"data.cache=kept"})).code, 0);
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(here / "kept")) {
      names.push_back(entry.path().string());
    }
    return names;
  };
  ASSERT_EQ(files().size(), 1U);
  const auto inode = [&] {
    struct stat status{};
    EXPECT_EQ(::stat(files().front().c_str(), &status), 0);
    return status.st_ino;
  };
  const auto written = inode();
  ASSERT_EQ(here.run(train("b", {"data.cache=kept"})).code, 0);
  ASSERT_EQ(files().size(), 1U);
  EXPECT_EQ(inode(), written) << "it was made again";
  EXPECT_EQ(losses(here, "a"), losses(here, "b"));
  here.write("text.txt", tiny_text() + "and more\n");
  ASSERT_EQ(here.run(train("c", {"data.cache=kept"})).code, 0);
  EXPECT_EQ(files().size(), 2U) << "another text, another file";
  ASSERT_EQ(here.run(train("d", {})).code, 0);
  EXPECT_EQ(losses(here, "c"), losses(here, "d")) << "as without it";
  std::filesystem::remove_all(here / "kept");
  EXPECT_EQ(here.run({"eval", "c"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(here / "kept")) << "a checkpoint, which may be a stranger's, had a folder made";
}

TEST(Data, AFolderThatOnlyLooksLikeARunIsText) {
  const Workspace here;
  std::filesystem::create_directories(here / "texts/project/checkpoints");
  here.write("texts/project/config.toml", "name = \"mine\"\n");
  here.write("texts/project/readme.txt", tiny_text());
  const Outcome outcome = here.run({"train", "--config", "tiny.toml", "--corpus", "texts", "--out", "run"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(Data, ARunInAFolderOfTextsIsNotText) {
  const Workspace here;
  std::filesystem::create_directories(here / "texts");
  here.write("texts/a.txt", tiny_text());
  const Words arguments = {"train", "--config", "tiny.toml", "--corpus", "texts", "--out", "texts/run", "--set", "train.max_steps=4"};
  ASSERT_EQ(here.run(arguments).code, 0);
  const Outcome resumed = here.run({"resume", "texts/run", "--set", "train.max_steps=6"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(here.run({"eval", "texts/run"}).code, 0);
}

TEST(Data, ATextForValidationMayBeMovedAndNotChanged) {
  const Workspace here;
  here.write("held.txt", tiny_text(300));
  ASSERT_EQ(here.run(train("run", {"data.validation=held.txt", "train.max_steps=4"})).code, 0);
  std::filesystem::rename(here / "held.txt", here / "moved.txt");
  const Words resume = {"resume", "run", "--set", "train.max_steps=6", "data.validation=moved.txt"};
  EXPECT_EQ(here.run(resume).code, 0);
  here.write("moved.txt", tiny_text(301));
  expect_refused(here, {"resume", "run", "--set", "train.max_steps=7", "data.validation=moved.txt"}, {"sha256"});
}

TEST(Data, DocumentsAreNotMixedWhenAsked) {
  const Workspace here;
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    lines += Json{{"text", tiny_text().substr(static_cast<std::size_t>(i) * 50, 30 + static_cast<std::size_t>(i))}}.dump() + "\n";
  }
  here.write("d.jsonl", lines);
  const Words settings = {"data.pack=document", "tokenizer.kind=bpe", "tokenizer.vocab_size=270", "--corpus", "d.jsonl"};
  ASSERT_EQ(here.run(train("run", settings)).code, 0);
  EXPECT_EQ(here.run({"resume", "run", "--set", "train.max_steps=6"}).code, 0);
  expect_refused(here, {"eval", "run", "--stride", "4"}, {"stride", "data.pack"});
}

TEST(Eval, IsTrainingsOwnFigureWithItsError) {
  const Workspace here;
  ASSERT_EQ(here.run(train("run", {})).code, 0);
  const Json last = here.metrics("run").back();
  const Json found = json_of(here.run({"eval", "run", "--json"}));
  EXPECT_EQ(found["loss"], last["val_loss"]);
  EXPECT_EQ(found["standard_error"], last["val_standard_error"]);
  EXPECT_GT(found["standard_error"].get<double>(), 0);
  EXPECT_LT(found["standard_error"].get<double>(), 0.2);
  EXPECT_EQ(json_of(here.run({"--threads", "1", "eval", "run", "--json"}))["loss"], found["loss"]);

  const Json whole = json_of(here.run({"eval", "run", "--stride", "24", "--json"}));
  EXPECT_EQ(whole["loss"], found["loss"]) << "a stride as long as a window";
  const Json strided = json_of(here.run({"eval", "run", "--stride", "3", "--json"}));
  EXPECT_EQ(strided["tokens"], found["tokens"]);
  EXPECT_NE(strided["loss"], found["loss"]);
}

TEST(Data, ARunThatEndedBeforeItsFirstCheckpointIsNotReplaced) {
  const Workspace here;
  std::filesystem::create_directories(here / "run/checkpoints");
  here.write("run/config.toml", "");
  const std::string message = expect_refused(here, train("run", {}), {"run "});
  EXPECT_FALSE(contains(message, "dikkat resume")) << "there is nothing to resume: " << message;
}

TEST(Eval, WordsHaveNoBitsPerByte) {
  const Workspace here;
  const Outcome trained = here.run(train("run", {"tokenizer.kind=word", "tokenizer.min_count=3"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_named(trained.err, {"word", "exported", "tokenizer.kind"});
  expect_named(here.run({"sample", "run", "--prompt", "the zz9 e4", "--max-new-tokens", "2"}).err, {"zz9", "e4", "<unk>"});
  EXPECT_FALSE(contains(here.run({"sample", "run", "--prompt", "the lamp", "--max-new-tokens", "2"}).err, "<unk>"));
  EXPECT_TRUE(json_of(here.run({"eval", "run", "--json"}))["bits_per_byte"].is_null());
}

/// 30 examples in a form that people publish, as one JSON array. "#" in an item becomes its number.
std::string array_of(const std::string& item) {
  std::string all = "[";
  for (int i = 0; i < 30; ++i) {
    std::string one = item;
    for (std::size_t at = one.find('#'); at != std::string::npos; at = one.find('#', at)) {
      one.replace(at, 1, std::to_string(i));
    }
    all += (i == 0 ? "\n  " : ",\n  ") + one;
  }
  return all + "\n]\n";
}

TEST(DataKind, EveryCommandReadsArraysOfExamples) {
  const Workspace here;
  ASSERT_EQ(here.run(train("base", {"tokenizer.kind=bpe", "tokenizer.vocab_size=300", "model.block_size=64"})).code, 0);
  const struct {
    const char *file, *item;
  } forms[] = {
      {"alpaca.json", R"({"instruction": "the lamp", "input": "#", "output": "turns #"})"},
      {"sharegpt.json", R"({"id": "#", "conversations": [{"from": "human", "value": "the lamp"}, {"from": "gpt", "value": "turns #"}]})"},
      {"messages.json", R"({"messages": [{"role": "user", "content": "the lamp"}, {"role": "assistant", "content": "turns #"}]})"}};
  for (const auto& [file, item] : forms) {
    here.write(file, array_of(item));
    const std::string run = std::string(file) + "-run";
    const Outcome tuned = here.run({"finetune", "base", "--data", file, "--out", run, "--set", "train.max_steps=2"});
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    expect_named(tuned.err, {"27 examples", "3 examples"});
    const Json seen = json_of(here.run({"corpus", "inspect", file, "--chat", "--tokenizer", "base", "--json"}));
    EXPECT_EQ(seen["count"], 30);
    EXPECT_TRUE(contains(seen["examples"][1]["place"].get<std::string>(), "object 2"));
    EXPECT_EQ(here.run({"eval", run, "--corpus", file}).code, 0);
    EXPECT_EQ(here.run({"teach", "base", "--data", file, "--out", std::string(file) + "-taught"}).code, 0);
    expect_refused(here, {"corpus", "inspect", file}, {file, "object 1", "--chat"});
    expect_refused(here, {"assistant", "--corpus", file, "--time", "9s", "--plan"}, {file, "object 1", "--chats"});
    expect_refused(here, train("no", {"--corpus", file}), {file, "conversation"});
  }
  here.write("dpo.json", array_of(R"({"prompt": "the lamp", "chosen": "turns #", "rejected": "falls #"})"));
  const Outcome preferred = here.run({"finetune", "base", "--data", "dpo.json", "--out", "dpo", "--set", "train.max_steps=1"});
  ASSERT_EQ(preferred.code, 0) << preferred.err;
  expect_named(preferred.err, {"dpo", "27 pairs"});
  expect_refused(here, {"eval", "base", "--corpus", "dpo.json"}, {"dpo.json", "object 1", "corpus inspect"});
  expect_refused(here, {"teach", "base", "--data", "dpo.json", "--out", "no"}, {"dpo.json", "object 1"});
  expect_refused(here, {"corpus", "inspect", "dpo.json"}, {"dpo.json", "object 1", "--chat"});
  const Json pairs = json_of(here.run({"corpus", "inspect", "dpo.json", "--chat", "--tokenizer", "base", "--examples", "1", "--json"}));
  ASSERT_EQ(pairs["examples"].size(), 2U) << "both answers of a pair";
  EXPECT_EQ(pairs["count"], 30);
  EXPECT_TRUE(contains(pairs["examples"][1]["text"].get<std::string>(), "falls 0"));
}

TEST(DataKind, OtherFormsAreRefusedOrReported) {
  const Workspace here;
  ASSERT_EQ(here.run(train("base", {"tokenizer.kind=byte"})).code, 0);
  here.write("faq.json", array_of(R"({"question": "the lamp", "reply": "turns"})"));
  here.write("faq.csv", "topic,remark\n" + tiny_text());
  here.write("classes.jsonl", "{\"text\": \"the lamp\", \"label\": 1}\n{\"text\": \"ships\", \"label\": 0}\n");
  for (const auto& [file, advice] : {std::pair("faq.json", "python3"), {"faq.csv", "--columns"}}) {
    expect_refused(here, {"finetune", "base", "--data", file, "--out", "no"}, {file, advice});
    expect_refused(here, {"teach", "base", "--data", file, "--out", "no"}, {file, advice});
    const Outcome trained = here.run(train(std::string("of ") + file, {"--corpus", file}));
    EXPECT_EQ(trained.code, 0) << trained.err;
    expect_named(trained.err, {file, advice});
  }
  for (const Words& words :
       {Words{"finetune", "base", "--data", "classes.jsonl", "--out", "no"}, Words{"eval", "base", "--corpus", "classes.jsonl"},
        Words{"teach", "base", "--data", "classes.jsonl", "--out", "no"}, Words{"corpus", "inspect", "classes.jsonl"},
        Words{"assistant", "--from", "base", "--chats", "classes.jsonl", "--time", "9s", "--plan"},
        train("no", {"--corpus", "classes.jsonl"})}) {
    expect_refused(here, words, {"classes.jsonl", "line 1", "label"});
  }
  const std::string lines = R"({"messages": [{"role": "user", "content": "the lamp"}, {"role": "assistant", "content": "turns"}]})";
  const Outcome piped = here.run(train("piped", {"--corpus", "-"}), {.input = lines});
  EXPECT_EQ(piped.code, 2);
  expect_named(piped.err, {"standard input", "conversation"});
}

TEST(Split, OfAFolderIsSpreadAndNamesItsFiles) {
  const Workspace here;
  for (const char* name : {"texts/a.txt", "texts/b.txt", "texts/c.txt"}) {
    here.write(name, std::string(name) + tiny_text());
  }
  const Outcome trained = here.run(train("run", {"--corpus", "texts"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_named(trained.err, {"for validation", "all 3 files"});
  const Json inspected = json_of(here.run({"corpus", "inspect", "texts", "--json"}));
  ASSERT_EQ(inspected["validation"]["files"].size(), 3U);
  const Outcome at_end = here.run(train("end", {"data.split=end", "--corpus", "texts"}));
  ASSERT_EQ(at_end.code, 0) << at_end.err;
  expect_named(at_end.err, {"for validation", "/c.txt"});
  EXPECT_NE(losses(here, "end"), losses(here, "run"));

  // A run of an older program, whose configuration lacks the key, keeps its split.
  std::string config = contents(here / "end/config.toml");
  EXPECT_TRUE(contains(config, "split = \"end\""));
  EXPECT_EQ(json_of(here.run({"eval", "end", "--json"}))["loss"], here.metrics("end").back()["val_loss"]);
  EXPECT_EQ(json_of(here.run({"eval", "run", "--json"}))["loss"], here.metrics("run").back()["val_loss"]);
}

// Conversations, preferences and the texts of a source are split as texts are; pairs have a test of their own in pairs_test.cpp.
TEST(Split, OfOtherKindsOfFilesIsSpreadToo) {
  const Workspace here;
  std::string sources;
  for (const char* const letter : {"a", "b", "c"}) {
    const std::string name(letter);
    std::string chats, pairs;
    for (int i = 0; i < 10; ++i) {
      const std::string lamp = name + std::to_string(i);
      chats += Json{{"prompt", lamp + "?"}, {"completion", "A ship."}}.dump() + '\n';
      pairs += Json{{"prompt", lamp + "?"}, {"chosen", "A ship."}, {"rejected", "No."}}.dump() + '\n';
    }
    here.write("chats/" + name + ".jsonl", chats);
    here.write("pairs/" + name + ".jsonl", pairs);
    here.write("texts/" + name + ".txt", name + tiny_text());
    if (name != "c") {
      sources += "[[data.sources]]\nname = \"" + name + "\"\ncorpus = [\"texts/" + name + ".txt\", \"texts/c.txt\"]\n";
    }
  }
  std::string mixed = kTinyConfig;
  mixed.erase(mixed.find("[data]\n"), std::string("[data]\ncorpus = [\"text.txt\"]\n").size());
  here.write("mixed.toml", mixed + sources);
  here.train("base", {"tokenizer.kind=bpe", "tokenizer.vocab_size=280", "train.max_steps=1", "train.eval_tokens=64"});
  const Words common = {"train.max_steps=1", "train.eval_tokens=64", "optim.warmup_steps=0"};
  const auto notes = [&](const Words& command, const char* place) {
    Words words = command;
    words.insert(words.end(), {"--set", std::string("data.split=") + place});
    words.insert(words.end(), common.begin(), common.end());
    const Outcome outcome = here.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return lines_with(outcome.err, "for validation: ");
  };
  const auto expect_split = [&](const std::string& name, Words command, const std::string& spread, std::size_t count) {
    SCOPED_TRACE(name);
    command.insert(command.end(), {"--out", name});
    const Words found = notes(command, "spread");
    ASSERT_EQ(found.size(), count);
    for (const std::string& line : found) {
      expect_named(line, {spread});
    }
    command.back() += "-end";
    const Words ends = notes(command, "end");
    ASSERT_EQ(ends.size(), count);
    for (const std::string& line : ends) {
      expect_named(line, {"/c."});
      EXPECT_FALSE(contains(line, "/a.") || contains(line, "/b.") || contains(line, spread)) << line;
    }
  };
  expect_split("of-chats", {"finetune", "base", "--data", "chats"}, "all 3 files", 1);
  expect_split("of-pairs", {"finetune", "base", "--data", "pairs"}, "all 3 files", 1);
  expect_split("of-sources", {"train", "--config", "mixed.toml"}, "all 2 files", 2);
}

TEST(Data, AValidationPartOfAFewTokensIsReported) {
  const Workspace here;
  here.write("short.txt", tiny_text(60));
  const auto said = [&](const char* out, Words more) {
    more.insert(more.end(), {"--corpus", "short.txt"});
    const Outcome trained = here.run(train(out, more));
    EXPECT_EQ(trained.code, 0) << trained.err;
    return trained.err;
  };
  expect_named(said("few", {"data.val_fraction=0.1"}), {" 28 ", "data.val_fraction"});
  EXPECT_FALSE(contains(said("enough", {"data.val_fraction=0.5"}), "data.val_fraction"));
  for (const std::string& line : lines_with(said("none", {"data.val_fraction=0"}), "data.val_fraction")) {
    EXPECT_TRUE(contains(line, "train.eval_interval")) << "another remark: " << line;
  }
  here.write("held.txt", "the lamp");
  expect_named(said("own", {"data.validation=[\"held.txt\"]"}), {" 7 ", "data.validation"});
}

TEST(Tokens, ThatAreCutShortWhileTheyAreReadEndTheRun) {
  const Workspace here;
  here.write("meta.json", R"({"itos": ["a", "b"], "stoi": {"a": 0, "b": 1}})");
  here.write("tokens.bin", std::string(std::size_t{1} << 20, '\0'));
  Program program(here.here({"train", "--config", "tiny.toml", "--out", "run", "--corpus", "tokens.bin", "--set", "tokenizer.kind=char",
                             "tokenizer.path=meta.json", "train.max_steps=1000000", "train.eval_interval=999999"}));
  ASSERT_TRUE(program.until([&] { return here.metric_lines("run") >= 12; }));
  std::filesystem::resize_file(here / "tokens.bin", 4096);
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.code, 2);
  expect_named(outcome.err, {"dikkat: ", "tokens.bin"});
  EXPECT_EQ(here.run({"verify", "run"}).code, 0);
}

}  // namespace
}  // namespace dikkat::testing
