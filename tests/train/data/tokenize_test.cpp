#include "train/data/tokenize.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/data/split.h"

namespace dikkat {
namespace {

std::vector<Token> all_of(const TokenStore& store) {
  std::vector<Token> tokens(static_cast<std::size_t>(store.size()));
  store.read(0, store.size(), tokens.data());
  return tokens;
}

/// As the byte tokenizer, with a token between documents.
class Separating : public Tokenizer {
 public:
  std::string_view kind() const override { return "separating"; }
  index vocab_size() const override { return 257; }
  std::vector<Token> encode(std::string_view text) const override { return {text.begin(), text.end()}; }
  std::string decode(std::span<const Token> tokens) const override { return {tokens.begin(), tokens.end()}; }
  std::string to_json() const override { return "{}"; }
  std::optional<Token> separator() const override { return 256; }
};

TEST(TokenStore, HoldsEveryIdOfItsVocabulary) {
  for (const index vocab_size : {index{1}, index{256}, index{65536}, index{65537}, index{1} << 31}) {
    TokenStore store(vocab_size);
    const std::vector<Token> tokens = {0, static_cast<Token>(vocab_size - 1), static_cast<Token>(vocab_size / 2), 0};
    store.append(tokens);
    store.append(tokens);
    EXPECT_EQ(store.size(), 8);
    std::vector<Token> some(3, -1);
    store.read(3, 3, some.data());
    EXPECT_EQ(some, (std::vector<Token>{0, 0, tokens[1]})) << vocab_size;
  }
}

TEST(TokenStore, RefusesWhatIsOutside) {
  TokenStore store(65536);
  const Token negative[] = {-1};
  const Token large[] = {65536};
  EXPECT_THROW(store.append(negative), Error);
  EXPECT_THROW(store.append(large), Error);
  EXPECT_EQ(store.size(), 0);
  const Token tokens[] = {1, 2, 3};
  store.append(tokens);
  Token out[4];
  EXPECT_THROW(store.read(-1, 1, out), Error);
  EXPECT_THROW(store.read(0, 4, out), Error);
  EXPECT_THROW(store.read(4, 0, out), Error);
  EXPECT_THROW(store.read(1, -1, out), Error);
  EXPECT_NO_THROW(store.read(3, 0, out));
  EXPECT_THROW(TokenStore(0), Error);
  EXPECT_THROW(TokenStore((index{1} << 31) + 1), Error);
}

TEST(Tokenize, JoinsThePassagesInOrder) {
  const auto bytes = make_tokenizer({.kind = "byte"}, Corpus());
  std::string expected;
  Corpus corpus;
  for (int i = 0; i < 500; ++i) {
    corpus.documents.push_back({.name = concat("/", i), .text = concat("document ", i, ";")});
    expected += corpus.documents.back().text;
  }
  EXPECT_EQ(bytes->decode(all_of(tokenize(*bytes, corpus.passages()))), expected);
  EXPECT_EQ(tokenize(*bytes, {}).size(), 0);
}

TEST(Tokenize, PutsTheSeparatorBetweenDocumentsOnly) {
  Corpus corpus;
  corpus.documents = {{"/a", "ab"}, {"/b", "c"}, {"/c", "d"}};
  EXPECT_EQ(all_of(tokenize(Separating(), corpus.passages())), (std::vector<Token>{'a', 'b', 256, 'c', 256, 'd'}));
  corpus.documents.resize(1);
  EXPECT_EQ(all_of(tokenize(Separating(), corpus.passages())), (std::vector<Token>{'a', 'b'}));
}

TEST(Tokenize, NamesTheFileAndTheByteInIt) {
  Corpus corpus;
  corpus.documents = {{"/good.txt", "abcabcabc"}, {"/bad.txt", "abcabc\xE9"}};
  EXPECT_TRUE(input_error_of([&] {
                make_tokenizer({.kind = "char"}, corpus);
              }).starts_with("/bad.txt: byte 6: not UTF-8: 0xE9, a character that the end of the text cuts off; convert"));

  corpus.documents = {{"/known.txt", "abc"}};
  const auto tokenizer = make_tokenizer({.kind = "char"}, corpus);
  corpus.documents = {{"/a.txt", "abcabc"}, {"/b.txt", "aaaax"}};
  const Split parts = split(corpus, 0.3);  // 7 and 4 bytes: the seam is in b.txt, and the offset still counts from its start
  ASSERT_EQ(parts.validation[0].offset, 1);
  EXPECT_TRUE(input_error_of([&] {
                tokenize(*tokenizer, parts.validation);
              }).starts_with("/b.txt: byte 4: the character U+0078 'x' is not among the 3 characters"));
}

class SharedText : public testing::Test {
 protected:
  /// The corpus of one shared text, or an empty one where it is absent.
  static Corpus read(const std::string& name) {
    const std::string path = concat(DIKKAT_SHARED_DATA, "/", name);
    return std::filesystem::exists(path) ? read_corpus(std::span(&path, 1)) : Corpus();
  }
};

TEST_F(SharedText, TinyShakespeareHasNanoGptsCounts) {
  const Corpus corpus = read("tinyshakespeare.txt");
  if (corpus.documents.empty()) {
    GTEST_SKIP() << "tinyshakespeare.txt is not in ../shared/data";
  }
  const auto tokenizer = make_tokenizer({.kind = "char"}, corpus);
  const Split parts = split(corpus, 0.1);
  const TokenStore train = tokenize(*tokenizer, parts.train);
  const TokenStore validation = tokenize(*tokenizer, parts.validation);
  EXPECT_EQ(tokenizer->vocab_size(), 65);
  EXPECT_EQ(train.size(), 1003854);
  EXPECT_EQ(validation.size(), 111540);
  EXPECT_EQ(tokenizer->decode(all_of(train)) + tokenizer->decode(all_of(validation)), corpus.documents[0].text);
}

TEST_F(SharedText, JapaneseAndTurkishAreSplitBetweenCharacters) {
  for (const char* name : {"ja_kokoro.txt", "tr_anayasa.txt"}) {
    const Corpus corpus = read(name);
    if (corpus.documents.empty()) {
      GTEST_SKIP() << name << " is not in ../shared/data";
    }
    const auto tokenizer = make_tokenizer({.kind = "char"}, corpus);
    for (const double val_fraction : {0.1, 0.1001, 0.1002, 0.1003, 0.1004, 0.1005}) {
      const Split parts = split(corpus, val_fraction);
      const std::string joined =
          tokenizer->decode(all_of(tokenize(*tokenizer, parts.train))) + tokenizer->decode(all_of(tokenize(*tokenizer, parts.validation)));
      EXPECT_TRUE(joined == corpus.documents[0].text) << name << " " << val_fraction;
    }
  }
}

TEST_F(SharedText, RussianInWindows1251IsForTheByteTokenizerOnly) {
  const Corpus corpus = read("ru_onegin_cp1251.txt");
  if (corpus.documents.empty()) {
    GTEST_SKIP() << "ru_onegin_cp1251.txt is not in ../shared/data";
  }
  EXPECT_TRUE(input_error_of([&] {
                make_tokenizer({.kind = "char"}, corpus);
              }).starts_with(concat(corpus.documents[0].name, ": byte 0: not UTF-8: 0xC0, a byte that never occurs in UTF-8; convert")));
  const auto bytes = make_tokenizer({.kind = "byte"}, corpus);
  EXPECT_EQ(bytes->decode(all_of(tokenize(*bytes, corpus.passages()))), corpus.documents[0].text);
}

}  // namespace
}  // namespace dikkat
