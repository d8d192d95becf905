#include <cmath>
#include <cstring>
#include <filesystem>

#include "autograd/base/error.h"
#include "tests/train/cli/workspace.h"

// Vectors of texts: finetune --objective embedding, eval, embed and export.
namespace dikkat::testing {
namespace {

class Vectors : public ::testing::Test {
 protected:
  Vectors() {
    std::string pairs;
    for (int i = 0; i < 40; ++i) {
      pairs += Json{{"question", concat("where is ", i % 8, ' ', i / 8)}, {"answer", concat(i / 8, " lies by the ", i % 8)}}.dump() + "\n";
    }
    here.write("pairs.jsonl", pairs);
    here.train("base", {"tokenizer.kind=bpe", "tokenizer.vocab_size=300", "model.n_embd=32", "model.block_size=48", "train.max_steps=2"});
  }
  Words tune(const Words& more) const {
    Words words = {"finetune",
                   "base",
                   "--objective",
                   "embedding",
                   "--full",
                   "--out",
                   "tuned",
                   "--data",
                   "pairs.jsonl",
                   "--set",
                   "data.val_fraction=0.25",
                   "optim.learning_rate=1e-2",
                   "optim.warmup_steps=0",
                   "embedding.batch=16"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// Returns the rows of a .npy file of f32.
  std::vector<std::vector<float>> rows(const char* file, std::size_t width) const {
    const std::string data = contents(here / file);
    const std::size_t begin = 10 + static_cast<unsigned char>(data[8]);
    EXPECT_EQ(begin % 64, 0U);
    std::vector<std::vector<float>> all((data.size() - begin) / 4 / width, std::vector<float>(width));
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::memcpy(all[i].data(), data.data() + begin + 4 * width * i, 4 * width);
    }
    return all;
  }

  Workspace here;
};

TEST_F(Vectors, AreTrainedMeasuredAndExported) {
  const Outcome tuned = here.run(tune({"train.max_steps=12", "train.eval_interval=6"}));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  expect_named(tuned.err, {"30 pairs", "10 pairs", "recall@1", "MRR", "dikkat embed tuned"});
  EXPECT_TRUE(contains(lines_with(tuned.err, "data.val_fraction").at(0), "10 pairs")) << tuned.err;
  const auto metrics = here.metrics("tuned");
  EXPECT_EQ(metrics.back()["decided_by"], "mrr");
  EXPECT_EQ(metrics.back()["candidates"], 10);
  const Outcome measured = here.run({"eval", "tuned", "--newest", "--json"});
  ASSERT_EQ(measured.code, 0) << measured.err;
  const Json found = Json::parse(measured.out);
  EXPECT_EQ(found["loss"], metrics.back()["val_loss"]) << "what the run has measured";
  EXPECT_EQ(found["mrr"], metrics.back()["mrr"]);
  EXPECT_EQ(found["pairs"], 10);
  EXPECT_FALSE(found.contains("perplexity"));
  // The base before its training, on the pairs that are held out.
  const std::string pairs = contents(here / "pairs.jsonl");
  here.write("held-out.jsonl", pairs.substr(pairs.find(R"({"answer":"3 lies by the 6")")));
  const Json base = json_of(here.run({"eval", "base", "--corpus", "held-out.jsonl", "--objective", "embedding", "--json"}));
  EXPECT_EQ(base["pairs"], 10);
  const auto first = std::ranges::find(metrics, "eval", [](const Json& line) { return line["event"]; });
  EXPECT_EQ(base["mrr"], (*first)["mrr"]);
  EXPECT_NEAR(base["loss"].get<double>(), (*first)["val_loss"].get<double>(), 1e-6);
  const auto mrr_of = [&](const Words& words) { return json_of(here.run(with(words, {"--corpus", "pairs.jsonl", "--json"})))["mrr"]; };
  EXPECT_EQ(here.run({"resume", "tuned", "--set", "train.max_steps=14"}).code, 0);
  EXPECT_EQ(here.run({"report", "tuned"}).code, 0);
  // Vectors of lines, in both forms, and of the exported folder.
  here.write("texts.txt", "where is 1 2\n5 lies by the 3\n");
  ASSERT_EQ(here.run({"embed", "tuned", "texts.txt", "--out", "texts.npy"}).code, 0);
  const auto vectors = rows("texts.npy", 32);
  ASSERT_EQ(vectors.size(), 2U);
  const Outcome piped = here.run({"embed", "tuned", "-"}, {.input = "5 lies by the 3\n"});
  ASSERT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(Json::parse(piped.out)["embedding"].get<std::vector<float>>(), vectors[1]) << "the same bits without the other text";
  ASSERT_EQ(here.run({"export", "tuned", "--out", "hf"}).code, 0);
  const Json modules = Json::parse(contents(here / "hf/modules.json"));
  ASSERT_EQ(modules.size(), 3U);
  EXPECT_EQ(modules[1]["type"], "sentence_transformers.models.Pooling");
  const Json pooling = Json::parse(contents(here / "hf/1_Pooling/config.json"));
  EXPECT_EQ(pooling["word_embedding_dimension"], 32);
  EXPECT_EQ(pooling["pooling_mode_mean_tokens"], true);
  EXPECT_EQ(pooling["pooling_mode_lasttoken"], false);
  EXPECT_EQ(Json::parse(contents(here / "hf/sentence_bert_config.json"))["max_seq_length"], 48);
  EXPECT_EQ(Json::parse(contents(here / "hf/tokenizer_config.json"))["pad_token"], "<|endoftext|>");
  ASSERT_EQ(here.run({"embed", "hf", "texts.txt", "--out", "hf.npy"}).code, 0);
  const auto exported = rows("hf.npy", 32);
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_NEAR(exported[0][i], vectors[0][i], 1e-6);
  }
  EXPECT_EQ(mrr_of({"eval", "hf", "--objective", "embedding"}), mrr_of({"eval", "tuned"}));
}

TEST_F(Vectors, PoolAsTheFolderSays) {
  ASSERT_EQ(here.run(tune({"train.max_steps=2", "embedding.pooling=last"})).code, 0);
  ASSERT_EQ(here.run({"export", "tuned", "--out", "hf"}).code, 0);
  here.write("texts.txt", "where is 1 2\n");
  const auto vector = [&](const Words& more) {
    Words words = {"embed", "hf", "texts.txt"};
    words.insert(words.end(), more.begin(), more.end());
    return here.run(words).out;
  };
  EXPECT_EQ(vector({}), vector({"--pooling", "last"}));
  EXPECT_NE(vector({}), vector({"--pooling", "mean"}));
  here.write("hf/1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
  const Outcome noted = here.run({"embed", "hf", "texts.txt"});
  expect_named(noted.err, {"1_Pooling/config.json", "pooling_mode_mean_tokens"});
  EXPECT_EQ(noted.out, vector({"--pooling", "mean"}));
  here.write("hf/1_Pooling/config.json", "{");
  expect_refused(here, {"embed", "hf", "texts.txt"}, {"1_Pooling/config.json"});
}

TEST_F(Vectors, OfTablesAndObjects) {
  here.write("faq.csv", "Id,Answer\n1,one\n2,\"two, three\"\n");
  here.write("faq.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two, three\"}\n");
  here.write("lines.txt", "one\ntwo, three\n");
  const Outcome table = here.run({"embed", "base", "faq.csv", "--column", "Answer"});
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(table.out, here.run({"embed", "base", "faq.jsonl"}).out);
  EXPECT_EQ(table.out, here.run({"embed", "base", "lines.txt"}).out);
  expect_refused(here, {"embed", "base", "faq.csv"}, {"faq.csv", "\"text\"", "Answer"});
  expect_refused(here, {"embed", "base", "faq.jsonl", "--column", "body"}, {"faq.jsonl: line 1", "body"});
  expect_refused(here, {"embed", "base", "lines.txt", "--column", "body"}, {"lines.txt", "--column"});
  // Standard input has lines or objects, and a byte-order mark is not part of a text.
  for (const std::string mark : {"", "\xEF\xBB\xBF"}) {
    for (const char* file : {"faq.csv", "faq.jsonl", "lines.txt"}) {
      here.write(concat("marked-", file), mark + contents(here / file));
      const bool is_table = std::string_view(file) == "faq.csv";
      EXPECT_EQ(table.out,
                here.run(with({"embed", "base", concat("marked-", file)}, is_table ? Words{"--column", "Answer"} : Words())).out);
      if (!is_table) {
        EXPECT_EQ(table.out, here.run({"embed", "base", "-"}, {.input = mark + contents(here / file)}).out) << file;
      }
    }
  }
  EXPECT_EQ(table.out, here.run({"embed", "base", "-", "--column", "body"}, {.input = R"([{"body": "one"}, {"body": "two, three"}])"}).out);
}

TEST_F(Vectors, AreOfEachRowOfOneFile) {
  // An empty row would shift the vectors, but an empty line is not a row of several columns.
  const auto refused = [&](const std::string& name, const std::string& text, const Words& fragments) {
    here.write(name, text);
    expect_refused(here, {"embed", "base", name}, fragments);
  };
  refused("empty.csv", "text,id\na,1\n,\nb,3\n", {"empty.csv", "row 3", "empty"});
  refused("last.csv", "text;id\na;1\n;\n", {"last.csv", "row 3", "empty"});
  refused("cell.csv", "text,id\na,1\n,2\n", {"cell.csv", "row 3", "empty"});
  refused("single.csv", "text\na\n\nb\n", {"single.csv", "row 3", "empty"});
  here.write("lines.csv", "text,id\na,1\n\nb,3\n");
  EXPECT_EQ(lines_with(here.run({"embed", "base", "lines.csv"}).out, "embedding").size(), 2U);
  // JSON without texts is not a text.
  refused("array.json", R"([{"a": "b"}])", {"array.json", "\"text\"", "--column"});
  refused("nested.json", R"({"data": [{"text": "b"}]})", {"nested.json", "\"text\"", "--column"});
  here.write("json.txt", R"([{"a": "b"}])");
  EXPECT_EQ(here.run({"embed", "base", "json.txt"}).code, 0);
  for (const char* input : {R"({"a": "b"})", R"([{"a": "b"}])", "{\"text\": \"a\"}\n{\"a\": \"b\"}\n", "{\"text\": \"a\"}\nb\n"}) {
    const Outcome outcome = here.run({"embed", "base", "-"}, {.input = input});
    EXPECT_EQ(outcome.code, 2) << input << outcome.out;
    expect_named(outcome.err, {"standard input"});
  }
  EXPECT_EQ(here.run({"embed", "base", "-"}, {.input = "{a} and [b]\n"}).code, 0);
  // Only one file is read.
  here.write("two/a.txt", "one\n");
  here.write("two/b.txt", "two\n");
  here.write("mixed/a.txt", "one\n");
  here.write("mixed/b.csv", "text\ntwo\n");
  for (const char* several : {"two", "two/*", "two/*.txt", "mixed", "mixed/*"}) {
    expect_refused(here, {"embed", "base", several}, {"one file"});
  }
}

TEST_F(Vectors, RefuseBadInputAndWriteNothing) {
  here.write("gap.txt", "one\n\ntwo\n");
  here.write("long.txt", "one\n" + std::string(400, 'z') + "\n");
  expect_refused(here, {"embed", "base", "gap.txt", "--out", "no.npy"}, {"gap.txt: line 2", "empty"});
  expect_refused(here, {"embed", "base", "long.txt", "--out", "no.npy"}, {"long.txt: line 2", "48", "--cut"});
  EXPECT_EQ(here.run({"embed", "base", "long.txt", "--cut"}).code, 0);
  expect_refused(here, {"embed", "base", "text.txt", "--out", "no.txt"}, {"no.txt", ".npy"});
  expect_refused(here, {"embed", "base", "text.txt", "--out", "no.npy", "--pooling", "max"}, {"--pooling", "max", "mean"});
  expect_refused(here, {"embed", "base", "missing.txt"}, {"missing.txt"});
  here.write("there.npy", "x");
  expect_refused(here, {"embed", "base", "text.txt", "--out", "there.npy"}, {"there.npy"});
  EXPECT_FALSE(std::filesystem::exists(here / "no.npy"));
  // Pairs with nothing to learn.
  here.write("equal.jsonl", R"({"anchor": "a", "positive": "a"})"
                            "\n"
                            R"({"anchor": "b", "positive": "b"})"
                            "\n");
  here.write("once.csv", "query,document\na,b\na,b\na,b\n");
  here.write("anchor.csv", "query,document\na,b\na,c\na,d\n");
  for (const auto& [file, parts] :
       {std::pair("equal.jsonl", Words{"equal.jsonl: line 1"}), std::pair("once.csv", Words{"once.csv", "3 pairs"}),
        std::pair("anchor.csv", Words{"anchor.csv", "3 pairs", "one anchor"})}) {
    expect_refused(here, {"finetune", "base", "--objective", "embedding", "--data", file, "--out", "no", "--set", "data.val_fraction=0"},
                   parts);
  }
  expect_refused(here, {"finetune", "base", "--objective", "embedding", "--data", "text.txt", "--out", "no"}, {"text.txt"});
  expect_refused(here, tune({"embedding.batch=15", "train.gradient_accumulation_steps=2"}), {"embedding.batch", "15", "2"});
  expect_refused(here, tune({"embedding.batch=0"}), {"--objective embedding", "embedding.batch=0"});
  expect_refused(here, tune({"embedding.batch=1048576"}), {"embedding.batch"});
  expect_refused(here, tune({"train.sample_prompts=[\"the\"]"}), {"embedding.batch", "train.sample_prompts"});
  expect_refused(here,
                 with({"finetune", "base", "--objective", "embedding", "--data", "pairs.jsonl", "--out", "no"},
                      {"--columns", "anchor=question,positive=answer,negativ=no"}),
                 {"--columns", "negativ"});
  expect_refused(here, {"finetune", "base", "--data", "pairs.jsonl", "--out", "no"}, {"pairs.jsonl: line 1", "--objective embedding"});
  expect_refused(here, {"finetune", "base", "--data", "once.csv", "--out", "no"}, {"once.csv", "--objective embedding"});
  expect_refused(here, {"eval", "base", "--corpus", "pairs.jsonl", "--objective", "vectors"}, {"--objective", "vectors", "embedding"});
  expect_refused(here, {"eval", "base", "--objective", "embedding"}, {"--objective", "--corpus"});
  expect_refused(here, {"finetune", "base", "--objective", "vectors", "--data", "pairs.jsonl"}, {"--objective", "vectors", "embedding"});
  expect_refused(here, {"finetune", "base", "--objective", "embedding", "--data", "pairs.jsonl", "--replay", "text.txt", "--out", "no"},
                 {"embedding.batch", "--replay"});
  EXPECT_FALSE(std::filesystem::exists(here / "no"));
}

}  // namespace
}  // namespace dikkat::testing
