#include "train/data/split.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

Corpus corpus_of(std::initializer_list<std::string> texts) {
  Corpus corpus;
  for (const std::string& text : texts) {
    corpus.documents.push_back({.name = concat("/", corpus.documents.size(), ".txt"), .text = text});
  }
  return corpus;
}

std::string join(const std::vector<Passage>& passages) {
  std::string text;
  for (const Passage& passage : passages) {
    text += passage.text;
  }
  return text;
}

TEST(Split, TakesTheFirstBytesForTraining) {
  const Corpus corpus = corpus_of({"0123456789"});
  EXPECT_EQ(join(split(corpus, 0.1).train), "012345678");
  EXPECT_EQ(join(split(corpus, 0.1).validation), "9");
  EXPECT_EQ(join(split(corpus, 0.25).train), "0123456") << "7.5 bytes";
  EXPECT_EQ(join(split(corpus, 0.99).train), "");
  EXPECT_EQ(join(split(corpus, 0).train), "0123456789");
  EXPECT_TRUE(split(corpus, 0).validation.empty());
}

TEST(Split, TheSeamMayLieWithinADocument) {
  const Corpus corpus = corpus_of({"aaaa", "bbbbbbbb", "cccc"});
  const Split parts = split(corpus, 0.5);
  ASSERT_EQ(parts.train.size(), 2U);
  ASSERT_EQ(parts.validation.size(), 2U);
  EXPECT_EQ(parts.train[1].name, "/1.txt");
  EXPECT_EQ(parts.train[1].text, "bbbb");
  EXPECT_EQ(parts.train[1].offset, 0);
  EXPECT_EQ(parts.validation[0].name, "/1.txt");
  EXPECT_EQ(parts.validation[0].text, "bbbb");
  EXPECT_EQ(parts.validation[0].offset, 4);
  EXPECT_EQ(parts.validation[1].offset, 0);
}

TEST(Split, ASeamBetweenDocumentsLeavesNoEmptyPassage) {
  const Corpus corpus = corpus_of({"aaaa", "bbbb"});
  const Split parts = split(corpus, 0.5);
  ASSERT_EQ(parts.train.size(), 1U);
  ASSERT_EQ(parts.validation.size(), 1U);
  EXPECT_EQ(parts.validation[0].offset, 0);
}

TEST(Split, NeverCutsACharacterAndLosesNothing) {
  const Corpus corpus = corpus_of({"a\u00E9\u3042\U0001F600", "\U0001F600\u3042\u00E9a\u00E9", "\u3042\u3042\u3042"});
  const std::string all = join(corpus.passages());
  for (int i = 0; i < 1000; ++i) {
    const double val_fraction = i / 1000.0;
    const Split parts = split(corpus, val_fraction);
    for (const std::vector<Passage>& passages : {parts.train, parts.validation}) {
      for (const Passage& passage : passages) {
        ASSERT_EQ(utf8::first_invalid(passage.text), std::nullopt) << val_fraction;
        ASSERT_FALSE(passage.text.empty());
      }
    }
    ASSERT_EQ(join(parts.train) + join(parts.validation), all);
    const double wanted = std::floor(static_cast<double>(all.size()) * (1 - val_fraction));
    const auto got = static_cast<double>(join(parts.train).size());
    ASSERT_LE(got, wanted);
    ASSERT_GT(got, wanted - 4);
  }
}

TEST(Split, CutsTextThatIsNotUtf8AtTheByte) {
  const Corpus corpus = corpus_of({std::string(10, '\x80')});
  EXPECT_EQ(join(split(corpus, 0.5).train).size(), 5U);
}

TEST(Split, RefusesAFractionOutOfRange) {
  const Corpus corpus = corpus_of({"text"});
  for (const double bad : {-0.1, 1.0, 1.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(split(corpus, bad), InputError) << bad;
  }
  EXPECT_EQ(input_error_of([&] { split(corpus, 1.5); }), "data.val_fraction is 1.5, expected 0 or more and less than 1");
}

}  // namespace
}  // namespace dikkat
