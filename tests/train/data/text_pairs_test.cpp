#include "train/data/examples/text_pairs.h"

#include <algorithm>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/data/examples/text_pair_samples.h"
#include "train/text/byte_tokenizer.h"

// Pairs of texts: how files are read, and how pairs become rows.
namespace dikkat {
namespace {

using testing::names;

class TextPairs : public ::testing::Test {
 protected:
  TextPairCorpus read(const std::string& name, const std::string& text, const FieldNames& fields = {}) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    const std::string path = (folder / name).string();
    return read_text_pairs({&path, 1}, fields);
  }
  std::string refusal(const std::string& name, const std::string& text) const {
    return input_error_of([&] { read(name, text); });
  }

  TemporaryFolder folder;
};

TEST_F(TextPairs, AreReadByTheirUsualNames) {
  const TextPairCorpus lines = read("pairs.jsonl", R"({"anchor": "a", "positive": "b"})"
                                                   "\n"
                                                   R"({"query": "c", "passage": "d", "negatives": ["e", "f"], "id": 7})"
                                                   "\n"
                                                   R"({"question": "g", "answer": "h", "hard_negatives": "i"})"
                                                   "\n"
                                                   R"({"sentence1": "j", "sentence2": "k", "negative": null})"
                                                   "\n"
                                                   R"({"anchor": "l", "document": "m"})"
                                                   "\n");
  std::vector<std::vector<std::string>> found;
  for (const TextPair& pair : lines.examples) {
    found.push_back({pair.anchor, pair.positive});
    found.back().insert(found.back().end(), pair.negatives.begin(), pair.negatives.end());
  }
  EXPECT_EQ(found, (std::vector<std::vector<std::string>>{{"a", "b"}, {"c", "d", "e", "f"}, {"g", "h", "i"}, {"j", "k"}, {"l", "m"}}));
  const TextPairCorpus list = read("pairs.json", R"([{"query": "a", "document": "b"}])");
  EXPECT_EQ(list.examples.front().positive, "b");
}

TEST_F(TextPairs, AreReadFromTables) {
  const TextPairCorpus table = read("faq.csv", "Id,Question,Answer,Negative\n1,a,b,c\n2,d,\"e, f\",\n");
  ASSERT_EQ(table.examples.size(), 2U);
  EXPECT_EQ(table.examples[0].negatives, std::vector<std::string>{"c"});
  EXPECT_EQ(table.examples[1].positive, "e, f");
  EXPECT_TRUE(table.examples[1].negatives.empty()) << "an empty cell";
  const TextPairCorpus own = read("own.tsv", "Frage\tAntwort\nx\ty\n", {.columns = {"anchor=Frage", "positive=Antwort"}});
  EXPECT_EQ(own.examples.front().anchor + own.examples.front().positive, "xy");
  EXPECT_TRUE(names(refusal("other.csv", "Frage,Antwort\nx,y\n"), {"other.csv", "--columns", "Frage"}));
}

TEST_F(TextPairs, AreRefusedWithTheirPlace) {
  const std::string good = R"({"anchor": "a", "positive": "b"})"
                           "\n";
  EXPECT_TRUE(names(refusal("a.jsonl", good + R"({"anchor": "a"})"), {"a.jsonl: line 2", "\"positive\"", "--columns"}));
  EXPECT_TRUE(names(refusal("a.jsonl", good + R"({"anchor": 7, "positive": "b"})"), {"line 2", "\"anchor\"", "7"}));
  EXPECT_TRUE(names(refusal("a.jsonl", good + R"({"anchor": " \n", "positive": "b"})"), {"line 2", "\"anchor\"", "empty"}));
  EXPECT_TRUE(
      names(refusal("a.jsonl", good + R"({"query": "a", "question": "c", "positive": "b"})"), {"line 2", "\"query\"", "\"question\""}));
  EXPECT_TRUE(names(refusal("a.jsonl", good + R"({"anchor": "a", "positive": "b", "negatives": ["c", ""]})"), {"line 2", "\"negatives\""}));
  EXPECT_TRUE(names(refusal("a.jsonl", good + "[1]"), {"line 2", "object"}));
  EXPECT_TRUE(names(refusal("a.csv", "query,passage\na,b\nc,\n"), {"a.csv: row 3", "\"positive\""}));
  EXPECT_TRUE(names(refusal("a.txt", "only text\n"), {"a.txt"}));
  EXPECT_TRUE(names(refusal("a.jsonl", ""), {"a.jsonl"}));
}

TEST_F(TextPairs, AreCutAndLeftOutIfTheirSidesAreEqual) {
  const TextPairCorpus corpus = read("pairs.jsonl", R"({"anchor": "abcd", "positive": "efghij", "negatives": ["kl"]})"
                                                    "\n"
                                                    R"({"anchor": "same", "positive": "same"})"
                                                    "\n"
                                                    R"({"anchor": "abcde1", "positive": "abcde2"})"
                                                    "\n"
                                                    R"({"anchor": "m", "positive": "n"})"
                                                    "\n");
  const ByteTokenizer tokenizer;
  const TextPairStore store(corpus, 0, 4, tokenizer, 5);
  EXPECT_EQ(store.pairs(), 2);
  EXPECT_EQ(store.count(), 5);
  EXPECT_EQ(store.equal(), 2) << "one of them after the cut";
  EXPECT_TRUE(names(store.first_equal(), {"line 2"}));
  EXPECT_EQ(store.cut(), 1);
  EXPECT_EQ(store.tokens(), 4 + 5 + 2 + 1 + 1);
  EXPECT_EQ(tokenizer.decode(store.text(1)), "efghi");
  EXPECT_EQ(store.first_text(1), 3);
  EXPECT_EQ(store.tokens_of(0), 11);
}

/// Pairs of the lengths 1 to `count`, each with as many negatives as its length modulo 3.
TextPairStore store_of_pairs(index count, index window = 1000) {
  TextPairCorpus corpus;
  for (index i = 1; i <= count; ++i) {
    TextPair pair{.anchor = std::string(static_cast<std::size_t>(i), 'a'), .positive = std::string(static_cast<std::size_t>(i), 'b')};
    for (index negative = 0; negative < i % 3; ++negative) {
      pair.negatives.emplace_back("no");
    }
    corpus.examples.push_back(pair);
    corpus.places.emplace_back("here");
  }
  return {corpus, 0, count, ByteTokenizer(), window};
}

TEST_F(TextPairs, AreDealtEvenlyToRows) {
  const TextPairStore store = store_of_pairs(61);
  const TextPairSamples samples(store, 8);
  EXPECT_EQ(samples.count(), 8);
  EXPECT_LT(samples.padding(), 0.1);
  std::set<index> seen;
  double tokens = 0;
  Batch batch;
  for (index row = 0; row < samples.count(); ++row) {
    EXPECT_GE(samples.units(row), 7);
    EXPECT_LE(samples.units(row), 8);
    batch.reshape(1, samples.lengths(row));
    samples.fill(0, row, 0, batch);
    EXPECT_EQ(batch.units, samples.units(row));
    EXPECT_EQ(std::ssize(batch.texts), samples.lengths(row).texts);
    tokens += batch.target_weight;
    index begin = 0, place = -1;
    for (const ReadText& text : batch.texts) {
      EXPECT_EQ(text.begin, begin);
      EXPECT_EQ(text.place, text.place == 0 ? 0 : place + 1);
      const std::span<const Token> expected = store.text(text.number);
      ASSERT_EQ(text.length, std::ssize(expected));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), batch.inputs.begin() + text.begin));
      EXPECT_EQ(std::count(batch.starts.begin(), batch.starts.end(), text.begin), text.length) << "it sees only itself";
      EXPECT_TRUE(seen.insert(text.number).second);
      begin += text.length;
      place = text.place;
    }
  }
  EXPECT_EQ(std::ssize(seen), store.count());
  EXPECT_EQ(tokens, static_cast<double>(store.tokens()));
  EXPECT_EQ(TextPairSamples(store, 100).count(), 1);
  EXPECT_THROW(TextPairSamples(store_of_pairs(0), 8), InputError);
}

}  // namespace
}  // namespace dikkat
