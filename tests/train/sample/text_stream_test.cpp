#include "train/sample/text_stream.h"

#include <gtest/gtest.h>

#include "tests/support/sentence_piece.h"
#include "tests/support/throws.h"
#include "train/text/byte_tokenizer.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

/// The text that is passed on for each byte of a text, then the text that was held back.
std::vector<std::string> pieces(const std::string& text, const std::vector<std::string>& stops = {}) {
  const ByteTokenizer tokenizer;
  TextStream stream(tokenizer, 'x', stops);
  std::vector<std::string> given;
  std::string all;
  for (const Token token : tokenizer.encode(text)) {
    given.push_back(stream.push(token));
    all += given.back();
  }
  given.push_back(stream.finish());
  EXPECT_EQ(all + given.back(), stream.text());
  return given;
}

using Pieces = std::vector<std::string>;

TEST(TextStream, NeverGivesACharacterInPart) {
  EXPECT_EQ(pieces("a\xC4\x9F"
                   "b"),
            (Pieces{"a", "", "\xC4\x9F", "b", ""}));
  EXPECT_EQ(pieces("\xF0\x9F\x98\x80"), (Pieces{"", "", "", "\xF0\x9F\x98\x80", ""}));
  EXPECT_EQ(pieces("a\xC4"), (Pieces{"a", "", "\xC4"})) << "at the end everything comes";
  EXPECT_EQ(pieces("\x80"
                   "a"),
            (Pieces{"\x80", "a", ""}))
      << "bytes that are not a character are not held back";
}

TEST(TextStream, EndsBeforeAStopStringAcrossTokens) {
  EXPECT_EQ(pieces("one two", {" t"}), (Pieces{"o", "n", "e", "", "", "", "", ""}));
  EXPECT_EQ(pieces("ababac", {"abac"}), (Pieces{"", "", "", "ab", "", "", ""}));
  EXPECT_EQ(pieces("abx", {"abc"}), (Pieces{"", "", "abx", ""})) << "it was not one";
  EXPECT_EQ(pieces("ab", {"abc"}), (Pieces{"", "", "ab"})) << "it may have become one";
  EXPECT_EQ(pieces("aXbYc", {"Y", "Xb"}), (Pieces{"a", "", "", "", "", ""})) << "the first in the text";
  EXPECT_EQ(pieces("x\xC4\x9Fy", {"\xC4\x9F"}), (Pieces{"x", "", "", "", ""}));
}

TEST(TextStream, ReportsThatItStopped) {
  const ByteTokenizer tokenizer;
  TextStream stream(tokenizer, '\n', {"\n\n"});
  stream.push('\n');
  EXPECT_FALSE(stream.stopped()) << "the prompt is not part of the text";
  stream.push('\n');
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.push('a'), "");
  EXPECT_EQ(stream.text(), "");
}

TEST(TextStream, IsAValue) {
  const ByteTokenizer tokenizer;
  std::vector<TextStream> streams(2, TextStream(tokenizer, 'x', {"ab"}));
  EXPECT_EQ(streams[0].push('a'), "");
  streams[1] = streams[0];
  EXPECT_EQ(streams[0].push('c'), "ac");
  streams[1].push('b');
  EXPECT_TRUE(streams[1].stopped());
  EXPECT_FALSE(streams[0].stopped());
}

TEST(TextStream, FindsAStopStringWithinAToken) {
  const WordTokenizer tokenizer({"\n", "lamp", "the", "turns"});
  const Token lamp = tokenizer.encode("lamp")[0], the = tokenizer.encode("the")[0], turns = tokenizer.encode("turns")[0];
  TextStream stream(tokenizer, the, {"mp"});
  EXPECT_EQ(stream.push(turns), " turns") << "with the blank that separates it from the previous word";
  EXPECT_EQ(stream.push(lamp), " la");
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, LeavesOutTheSpaceThatATokenizerPutsBeforeAText) {
  const PipelineTokenizer tokenizer = testing::sentence_piece_tokenizer();
  const auto text = [&](std::optional<Token> before, const std::vector<Token>& tokens) {
    TextStream stream(tokenizer, before);
    std::string all;
    for (const Token token : tokens) {
      all += stream.push(token);
    }
    return all + stream.finish();
  };
  for (const std::vector<Token>& tokens : std::vector<std::vector<Token>>{{6, 7, 4}, {3, 4, 7}, {3, 3, 4}, {4, 6}, {3}}) {
    EXPECT_EQ(text(std::nullopt, tokens), tokenizer.decode(tokens)) << "a text of its own";
    EXPECT_EQ(text(4, tokens), tokenizer.decode_inside(tokens)) << "it continues another one";
  }
  EXPECT_EQ(text(std::nullopt, {6, 7}), "a b");
  EXPECT_EQ(text(4, {6, 7}), " a b");
}

TEST(TextStream, RefusesAnEmptyStopString) {
  const ByteTokenizer tokenizer;
  EXPECT_TRUE(testing::names(testing::error_of([&] { TextStream(tokenizer, 'a', {"a", ""}); }), {"stop string", "empty"}));
}

}  // namespace
}  // namespace dikkat
