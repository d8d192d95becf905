#include "train/data/examples/pair_store.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace dikkat {
namespace {

using testing::names;

PairCorpus corpus_of(std::string text) {
  const TemporaryFolder folder;
  const std::string path = folder.write("p.tsv", text);
  return read_pairs(std::span(&path, 1));
}

std::vector<Token> source_of(const PairStore& store, index pair) {
  std::vector<Token> tokens(static_cast<std::size_t>(store.source_length(pair)));
  store.read_source(pair, tokens.data());
  return tokens;
}
std::vector<Token> target_of(const PairStore& store, index pair) {
  std::vector<Token> tokens(static_cast<std::size_t>(store.target_length(pair) - 1));
  store.read_target(pair, tokens.data());
  return tokens;
}

/// Knows the digits only; its special tokens are 10, 11 and 12.
class Digits : public Tokenizer {
 public:
  std::string_view kind() const override { return "digits"; }
  index vocab_size() const override { return 13; }
  std::vector<Token> encode(std::string_view text) const override {
    std::vector<Token> tokens;
    for (const char c : text) {
      if (c < '0' || c > '9') {
        throw EncodeError(static_cast<index>(tokens.size()), "no digit");
      }
      tokens.push_back(c - '0');
    }
    return tokens;
  }
  std::string decode(std::span<const Token>) const override { return ""; }
  std::string to_json() const override { return "{}"; }
  std::optional<SequenceTokens> sequence_tokens() const override { return SequenceTokens{.pad = 10, .start = 11, .end = 12}; }
};

TEST(PairStore, EndsSourcesAndKeepsTargetsWithoutMarks) {
  const PairCorpus corpus = corpus_of("12\t3\n4\t567\n");
  const PairStore store(Digits(), corpus.pairs);
  EXPECT_EQ(store.special_tokens(), (SequenceTokens{.pad = 10, .start = 11, .end = 12}));
  EXPECT_EQ(store.count(), 2);
  EXPECT_EQ(source_of(store, 0), (std::vector<Token>{1, 2, 12}));
  EXPECT_EQ(source_of(store, 1), (std::vector<Token>{4, 12}));
  EXPECT_EQ(target_of(store, 0), (std::vector<Token>{3}));
  EXPECT_EQ(target_of(store, 1), (std::vector<Token>{5, 6, 7}));
  EXPECT_EQ(store.target_length(1), 4) << "with its end";
  EXPECT_EQ(store.longest_source(), 3);
  EXPECT_EQ(store.longest_target(), 4);
  EXPECT_EQ(store.target_bytes(), 4);
  for (const index bad : {index{-1}, index{2}}) {
    Token out[8];
    EXPECT_THROW(store.source_length(bad), Error);
    EXPECT_THROW(store.target_length(bad), Error);
    EXPECT_THROW(store.read_source(bad, out), Error);
    EXPECT_THROW(store.read_target(bad, out), Error);
  }
}

TEST(PairStore, MayBeEmpty) {
  const PairStore store(Digits(), {});
  EXPECT_EQ(store.count(), 0);
  EXPECT_EQ(store.longest_source(), 0);
  EXPECT_EQ(store.longest_target(), 0);
  EXPECT_EQ(store.target_bytes(), 0);
  EXPECT_NO_THROW(require_fits(store, {}, 1));
  EXPECT_THROW(store.source_length(0), Error);
}

TEST(PairStore, TheVocabularyIsOfAllSourcesAndTargets) {
  const PairCorpus corpus = corpus_of("When you play game of thrones\tyou win or you die\nlive\tand learn\n");
  const auto tokenizer = make_tokenizer({.kind = "word"}, corpus);
  EXPECT_EQ(tokenizer->vocab_size(), 4 + 12);
  const PairStore store(*tokenizer, corpus.pairs);
  EXPECT_EQ(source_of(store, 1).back(), 3);
  EXPECT_EQ(tokenizer->decode(source_of(store, 0)), "When you play game of thrones <end>");
  EXPECT_EQ(tokenizer->decode(target_of(store, 0)), "you win or you die");
  EXPECT_EQ(tokenizer->decode(target_of(store, 1)), "and learn");
  EXPECT_EQ(store.target_bytes(), 18 + 9);
}

TEST(PairStore, HoldsManyPairsInOrder) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += concat(i * i, '\t', 7 * i, '\n');
  }
  const PairCorpus corpus = corpus_of(text);
  const Digits digits;
  const PairStore store(digits, corpus.pairs);
  ASSERT_EQ(store.count(), 1000);
  for (index i = 0; i < 1000; ++i) {
    std::vector<Token> source = digits.encode(concat(i * i));
    source.push_back(12);
    ASSERT_EQ(source_of(store, i), source) << i;
    ASSERT_EQ(target_of(store, i), digits.encode(concat(7 * i))) << i;
  }
}

TEST(PairStore, RefusesATokenizerWithoutMarks) {
  const PairCorpus corpus = corpus_of("a\tb\n");
  for (const char* kind : {"char", "byte"}) {
    const auto tokenizer = make_tokenizer({.kind = kind}, corpus);
    EXPECT_TRUE(
        names(input_error_of([&] { PairStore(*tokenizer, corpus.pairs); }), {"tokenizer.kind", concat('"', kind, '"'), "\"word\""}));
  }
}

TEST(PairStore, NamesTheFirstLineThatCannotBeEncodedAndTheByteInTheFile) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += i == 300 ? "12\t3x\n" : i > 300 && i % 100 == 0 ? "1x\t34\n" : "12\t34\n";
  }
  const PairCorpus in_target = corpus_of(text);
  for (int run = 0; run < 20; ++run) {
    const std::string error = input_error_of([&] { PairStore(Digits(), in_target.pairs); });
    ASSERT_TRUE(names(error, {in_target.documents[0].name, "line 301", "byte 1804", "no digit"}));
  }
  const PairCorpus in_source = corpus_of("12\t34\n5x\t6\n");
  EXPECT_TRUE(
      names(input_error_of([&] { PairStore(Digits(), in_source.pairs); }), {in_source.documents[0].name, "line 2", "byte 7", "no digit"}));
}

TEST(PairStore, TheVocabularysErrorsNameTheLineToo) {
  PairCorpus corpus;
  corpus.pairs = {{.name = "/p.tsv", .line = 1, .offset = 0, .source = "ab", .target = "c"},
                  {.name = "/p.tsv", .line = 2, .offset = 5, .source = "de", .target = "f \xFF"}};
  EXPECT_TRUE(names(input_error_of([&] { make_tokenizer({.kind = "word"}, corpus); }), {"/p.tsv", "line 2", "byte 10", "UTF-8", "0xFF"}));
}

TEST(RequireFits, NamesTheFirstLineThatTheModelCannotSeeAtOnce) {
  const PairCorpus corpus = corpus_of("12\t34\n123\t4\n1\t2345\n");
  const PairStore store(Digits(), corpus.pairs);
  const std::string& file = corpus.documents[0].name;
  EXPECT_NO_THROW(require_fits(store, corpus.pairs, 5));
  EXPECT_TRUE(
      names(input_error_of([&] { require_fits(store, corpus.pairs, 4); }), {file, "line 3", "target", "5", "4", "model.block_size"}));
  EXPECT_TRUE(
      names(input_error_of([&] { require_fits(store, corpus.pairs, 3); }), {file, "line 2", "source", "4", "3", "model.block_size"}));
  EXPECT_THROW(require_fits(store, std::span(corpus.pairs).first(2), 5), Error) << "other pairs";
}

}  // namespace
}  // namespace dikkat
