#include "train/text/word_tokenizer.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

std::unique_ptr<Tokenizer> words_of(std::initializer_list<std::string_view> documents) {
  return make_tokenizer("word", std::span(documents.begin(), documents.size()));
}

TEST(WordTokenizer, IdsAreFourSpecialTokensThenTheDistinctWordsInByteOrder) {
  const auto tokenizer = words_of({"you win or you die", "", "\u0130zmir win\nOr \U0001F600 z"});
  EXPECT_EQ(tokenizer->vocab_size(), 4 + 9);  // "\n" Or die or win you z İzmir 😀
  EXPECT_EQ(tokenizer->encode("\n Or die or win you z \u0130zmir \U0001F600"), (std::vector<Token>{4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(tokenizer->to_json(),
            "{\"kind\":\"word\",\"words\":[\"\\n\",\"Or\",\"die\",\"or\",\"win\",\"you\",\"z\",\"\u0130zmir\",\"\U0001F600\"]}");
  EXPECT_EQ(words_of({"a", "b a"})->encode("a b"), (std::vector<Token>{4, 5})) << "without a line break in the text it is not a word";
}

TEST(WordTokenizer, HasMarksForSequences) {
  const auto tokenizer = words_of({"a"});
  EXPECT_EQ(tokenizer->sequence_tokens(), (SequenceTokens{.pad = 0, .start = 2, .end = 3}));
  EXPECT_EQ(tokenizer->separator(), 3);
  EXPECT_EQ(tokenizer->decode(std::vector<Token>{2, 4, 1, 3, 0}), "<start> a <unk> <end> <pad>");
  EXPECT_EQ(make_tokenizer("byte", {})->sequence_tokens(), std::nullopt);
}

TEST(WordTokenizer, SeparatesWordsByOneSpaceAndNoneBesideALineBreak) {
  struct Case {
    std::string_view text, tidy;
  };
  const Case cases[] = {
      {"", ""},
      {"a b", "a b"},
      {"a\nb\n", "a\nb\n"},
      {"\n\na\n\n\nb", "\n\na\n\n\nb"},
      {"  a \t b  ", "a b"},
      {" a \n b ", "a\nb"},
      {"a\r\nb\r\n", "a\nb\n"},
      {"a\rb\vc\fd", "a b c d"},
      {"a\u00A0b\u0085c\u2028d\u2029e", "a b c d e"},
      {"\u3000\u543E\u8F29\u3000\u732B\u3000\n\u540D", "\u543E\u8F29 \u732B\n\u540D"},
      {"a\u200Bb c\u180Ed \uFEFFe", "a\u200Bb c\u180Ed \uFEFFe"},  // zero width, but not white space
      {"i\u015F\u0131k \u0130yi \u011F\u00FC\u00E7l\u00FC", "i\u015F\u0131k \u0130yi \u011F\u00FC\u00E7l\u00FC"},
  };
  for (const Case& c : cases) {
    const auto tokenizer = words_of({c.text, "x"});
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(c.text)), c.tidy);
    EXPECT_EQ(tokenizer->encode(c.tidy), tokenizer->encode(c.text));
    EXPECT_EQ(tokenizer_from_json(tokenizer->to_json())->encode(c.text), tokenizer->encode(c.text));
  }
}

TEST(WordTokenizer, AWordThatItLacksIsUnknown) {
  const auto tokenizer = words_of({"win or die"});
  EXPECT_EQ(tokenizer->encode("win nor die\nWin"), (std::vector<Token>{6, 1, 4, 1, 1}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("win nor die")), "win <unk> die");
}

TEST(WordTokenizer, AWordSpelledLikeASpecialTokenIsAWordLikeOthers) {
  const std::string_view text = "<start> <unk> <end> <pad> a";
  const auto tokenizer = words_of({text});
  EXPECT_EQ(tokenizer->vocab_size(), 9);
  EXPECT_EQ(tokenizer->encode(text), (std::vector<Token>{6, 7, 4, 5, 8}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  EXPECT_EQ(words_of({"a"})->encode("<end>"), (std::vector<Token>{WordTokenizer::kUnknown})) << "never the mark itself";
}

TEST(WordTokenizer, RefusesTextThatIsNotUtf8AndReportsWhere) {
  const std::string_view documents[] = {"fine", "so so", "ab \xC3\xA9\xED\xA0\x80"};
  try {
    make_tokenizer("word", documents);
    FAIL() << "no exception";
  } catch (const EncodeError& error) {
    EXPECT_EQ(error.document(), 2);
    EXPECT_EQ(error.offset(), 5);
  }
  EXPECT_TRUE(names(error_of([] { words_of({"abc"})->encode("abc \xFF"); }),
                    {"byte 4", "UTF-8", "0xFF", "iconv", "data.invalid_utf8", "\"replace\"", "tokenizer.kind", "\"byte\""}));
}

TEST(WordTokenizer, RefusesAVocabularyWithoutWordsOrOutOfOrder) {
  EXPECT_TRUE(names(error_of([] { words_of({"", " \t\u3000"}); }), {"no text", "words"}));
  EXPECT_THROW(words_of({}), InputError);
  EXPECT_THROW(WordTokenizer({}), InputError);
  EXPECT_THROW(WordTokenizer({"b", "a"}), InputError);
  EXPECT_THROW(WordTokenizer({"a", "a"}), InputError);
  EXPECT_THROW(WordTokenizer({"a", "b\u00A0c"}), InputError);
  EXPECT_THROW(WordTokenizer({"a\xFF"}), InputError);
  EXPECT_NO_THROW(WordTokenizer({"\n", "<pad>", "a"}));
}

TEST(WordTokenizer, AMinimumBelowOneIsRefused) {
  const std::string_view documents[] = {"one two"};
  EXPECT_TRUE(
      names(input_error_of([&] { make_tokenizer({.kind = "word", .min_count = 0}, documents); }), {"tokenizer.min_count", "0", "1"}));
}

}  // namespace
}  // namespace dikkat
