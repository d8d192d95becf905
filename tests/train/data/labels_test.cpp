#include "train/data/examples/labels.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/text/byte_tokenizer.h"

// Files of texts with labels: reading, the names of the labels, the split, and tokens.
namespace dikkat {
namespace {

using testing::names;

class Labels : public ::testing::Test {
 protected:
  Config config_of(const std::string& file, const std::string& field = "label") const {
    Config config;
    config.data.corpus = {folder.path(file)};
    config.classify.field = field;
    return config;
  }
  LabelCorpus read(const Config& config) const { return read_labels(config.data.corpus, config.data, config.classify); }
  /// Returns the error of the file's labels.
  std::string problem(const std::string& name, const std::string& text) const {
    folder.write(name, text);
    Config config = config_of(name);
    return input_error_of([&] { settle_labels(config); });
  }

  TemporaryFolder folder;
};

TEST_F(Labels, AreReadFromTablesAndObjects) {
  folder.write("a.csv", "id,text,label\n1,\"call now, free\",1\n2,see you,0\n3,win,1\n4,ok,true\n5,yes,true\n");
  const LabelCorpus table = read(config_of("a.csv"));
  ASSERT_EQ(table.examples.size(), 5U);
  EXPECT_EQ(table.examples[0].text, "call now, free");
  EXPECT_EQ(table.examples[0].labels, std::vector<std::string>{"1"}) << "a cell of a label is its name, and not true or false";
  EXPECT_EQ(table.examples[3].labels, std::vector<std::string>{"true"});

  folder.write("b.jsonl", R"({"text": "a", "label": ["x", "y"]}
{"text": "b", "label": []}
{"text": "c", "label": "x"}
{"text": "d", "label": 3}
)");
  const LabelCorpus lines = read(config_of("b.jsonl"));
  EXPECT_EQ(lines.examples[0].labels, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(lines.examples[1].labels.empty() && lines.examples[1].is_list);
  EXPECT_EQ(lines.examples[3].labels, std::vector<std::string>{"3"});

  folder.write("c.csv", "Message;Category\nhello;ham\nprize;spam\n");
  Config config = config_of("c.csv", "Category");
  config.data.columns = {"text=Message"};
  EXPECT_EQ(read(config).examples[1].labels, std::vector<std::string>{"spam"});
  config.classify.field = "label";
  config.data.columns = {"text=Message", "label=Category"};
  EXPECT_EQ(read(config).examples[1].text, "prize") << "--columns may name both";
}

TEST_F(Labels, GetTheirNamesFromTheText) {
  folder.write("a.csv", "text,label\na,b\nb,a\nc,b\nd,a\n");
  Config config = config_of("a.csv");
  settle_labels(config);
  EXPECT_EQ(config.classify.labels, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.model.classes, 2);
  EXPECT_FALSE(config.classify.several);
  folder.write("b.jsonl", R"({"text": "a", "label": ["x"]}
{"text": "b", "label": ["x"]}
{"text": "c", "label": []}
)");
  Config several = config_of("b.jsonl");
  settle_labels(several);
  EXPECT_TRUE(several.classify.several);
  EXPECT_EQ(several.model.classes, 1) << "a label that some texts do not have";
  several = config_of("b.jsonl");
  several.classify.several = false;
  EXPECT_TRUE(names(input_error_of([&] { settle_labels(several); }), {"b.jsonl", "line 1", "classify.several"}));
  several = config_of("b.jsonl");
  several.data.columns = {"text=text", "lable=label"};
  EXPECT_TRUE(names(input_error_of([&] { settle_labels(several); }), {"data.columns", "\"lable=label\""}));
}

TEST_F(Labels, AreRefusedWithTheirRow) {
  EXPECT_TRUE(names(problem("once.csv", "text,label\na,ham\nb,spam\nc,ham\n"), {"once.csv", "row 3", "spam", "once"}));
  EXPECT_TRUE(names(problem("one.csv", "text,label\na,ham\nb,ham\nc,ham\n"), {"one.csv", "row 2", "ham", "all rows"}));
  EXPECT_TRUE(names(problem("empty.csv", "text,label\na,ham\n  ,spam\nc,ham\n"), {"empty.csv", "row 3", "empty text"}));
  EXPECT_TRUE(names(problem("none.csv", "text,label\na,ham\nb,\nc,ham\n"), {"none.csv", "row 3", "empty label"}));
  EXPECT_TRUE(names(problem("column.csv", "text,kind\na,ham\n"), {"column.csv", "\"label\"", "kind"}));
  EXPECT_TRUE(names(problem("key.jsonl", "{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"a\"}\n"), {"key.jsonl", "line 2", "label"}));
  EXPECT_TRUE(names(problem("text.jsonl", "{\"text\": 7, \"label\": \"x\"}\n"), {"text.jsonl", "line 1", "text"}));
  EXPECT_TRUE(names(problem("nul.jsonl", R"({"text": "a\u0000", "label": "x"})"), {"nul.jsonl", "line 1", "\\u0000", "byte 11"}));
  EXPECT_FALSE(names(problem("escaped.jsonl", R"({"text": "a\\u0000", "label": "x"})"), {"NUL"})) << "a backslash and letters";
  EXPECT_TRUE(names(problem("twice.jsonl", "{\"text\": \"a\", \"label\": [\"x\", \"x\"]}\n"), {"twice.jsonl", "line 1", "twice"}));
  EXPECT_TRUE(names(problem("object.jsonl", "{\"text\": \"a\", \"label\": {}}\n"), {"object.jsonl", "line 1", "label"}));
}

TEST_F(Labels, AreSplitByShare) {
  std::string text = "text,label\n";
  for (int i = 0; i < 100; ++i) {
    text += concat("t", i, i < 80 ? ",ham\n" : i < 97 ? ",spam\n" : ",rare\n");
  }
  folder.write("a.csv", text);
  const auto held_out = [&](std::uint64_t seed) {
    LabelCorpus corpus = read(config_of("a.csv"));
    const index training = put_stratified_last(corpus, 0.1, seed);
    std::map<std::string, int> counts;
    std::set<std::string> texts;
    for (std::size_t i = static_cast<std::size_t>(training); i < corpus.examples.size(); ++i) {
      ++counts[corpus.examples[i].labels.front()];
      texts.insert(corpus.examples[i].text);
      EXPECT_TRUE(names(corpus.places[i], {concat("row ", std::stoi(corpus.examples[i].text.substr(1)) + 2, " ")})) << corpus.places[i];
    }
    EXPECT_EQ(counts, (std::map<std::string, int>{{"ham", 8}, {"spam", 2}, {"rare", 1}}));
    return texts;
  };
  EXPECT_EQ(held_out(1), held_out(1));
  EXPECT_NE(held_out(1), held_out(2));
  LabelCorpus whole = read(config_of("a.csv"));
  EXPECT_EQ(put_stratified_last(whole, 0, 1), 100);
}

TEST_F(Labels, AreStoredWithTokens) {
  folder.write("a.jsonl", R"({"text": "abc", "label": ["y", "x"]}
{"text": "abcdefgh", "label": []}
{"text": "b", "label": "y"}
)");
  Config config = config_of("a.jsonl");
  config.classify.labels = {"x", "y"};
  config.classify.several = true;
  const ByteTokenizer tokenizer;
  const LabelStore store(read(config), 0, 3, tokenizer, config.classify, 5);
  EXPECT_EQ(store.counts(), (std::vector<index>{1, 2}));
  EXPECT_EQ(store.texts().length(1), 5);
  EXPECT_EQ(store.cut(), 1);
  EXPECT_TRUE(names(store.first_cut(), {"line 2"}));
  const LabelSamples samples(store, 8);
  Batch batch;
  batch.reshape(1, samples.longest());
  samples.fill(0, 0, 0, batch);
  ASSERT_EQ(batch.texts.size(), 2U);
  EXPECT_EQ(batch.texts[0].number, 1) << "the longest text is first";
  EXPECT_EQ(batch.labels, (std::vector<float>{0, 0, 1, 1}));
  // The labels are what fingerprints read.
  Token inputs[5], targets[5];
  float weights[5];
  std::set<float> labels;
  for (index text = 0; text < 3; ++text) {
    store.read(text, inputs, targets, weights);
    labels.insert(weights[store.length(text) - 1]);
    EXPECT_EQ(targets[store.length(text) - 1], 0) << "a token that every tokenizer has";
  }
  EXPECT_EQ(labels.size(), 3U);
  // Unknown labels, and lists for a model that gives one label, are refused.
  config.classify.labels = {"x", "z"};
  EXPECT_TRUE(names(input_error_of([&] { LabelStore(read(config), 0, 3, tokenizer, config.classify, 5); }), {"line 1", "\"y\""}));
  config.classify.labels = {"x", "y"};
  config.classify.several = false;
  EXPECT_TRUE(
      names(input_error_of([&] { LabelStore(read(config), 0, 3, tokenizer, config.classify, 5); }), {"line 1", "classify.several"}));
}

}  // namespace
}  // namespace dikkat
