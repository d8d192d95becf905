#include "train/sample/text_stream.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/text/byte_tokenizer.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

/// What is given out for each byte of a text, then what was held back.
std::vector<std::string> pieces(const std::string& text, const std::vector<std::string>& stops = {}) {
  const ByteTokenizer tokenizer;
  TextStream stream(tokenizer, stops, 'x');
  std::vector<std::string> given;
  std::string all;
  for (const Token token : tokenizer.encode(text)) {
    given.push_back(stream.add(token));
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
  EXPECT_EQ(pieces("a\xC4"), (Pieces{"a", "", "\xC4"})) << "in the end all of it";
  EXPECT_EQ(pieces("\x80"
                   "a"),
            (Pieces{"\x80", "a", ""}))
      << "what is no character is not waited for";
}

TEST(TextStream, EndsBeforeAStopStringAcrossTokens) {
  EXPECT_EQ(pieces("one two", {" t"}), (Pieces{"o", "n", "e", "", "", "", "", ""}));
  EXPECT_EQ(pieces("ababac", {"abac"}), (Pieces{"", "", "", "ab", "", "", ""}));
  EXPECT_EQ(pieces("abx", {"abc"}), (Pieces{"", "", "abx", ""})) << "it was none";
  EXPECT_EQ(pieces("ab", {"abc"}), (Pieces{"", "", "ab"})) << "it may have become one";
  EXPECT_EQ(pieces("aXbYc", {"Y", "Xb"}), (Pieces{"a", "", "", "", "", ""})) << "the first in the text";
  EXPECT_EQ(pieces("x\xC4\x9Fy", {"\xC4\x9F"}), (Pieces{"x", "", "", "", ""}));
}

TEST(TextStream, SaysThatItStopped) {
  const ByteTokenizer tokenizer;
  const std::vector<std::string> stops = {"\n\n"};
  TextStream stream(tokenizer, stops, '\n');
  stream.add('\n');
  EXPECT_FALSE(stream.stopped()) << "what stands before the text is none of it";
  stream.add('\n');
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.add('a'), "");
  EXPECT_EQ(stream.text(), "");
}

TEST(TextStream, FindsAStopStringWithinAToken) {
  const WordTokenizer tokenizer({"\n", "lamp", "the", "turns"});
  const Token lamp = tokenizer.encode("lamp")[0], the = tokenizer.encode("the")[0], turns = tokenizer.encode("turns")[0];
  const std::vector<std::string> stops = {"mp"};
  TextStream stream(tokenizer, stops, the);
  EXPECT_EQ(stream.add(turns), " turns") << "with the blank that parts it from the word before";
  EXPECT_EQ(stream.add(lamp), " la");
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, RefusesAnEmptyStopString) {
  const ByteTokenizer tokenizer;
  const std::vector<std::string> stops = {"a", ""};
  EXPECT_EQ(testing::error_of([&] { TextStream(tokenizer, stops, 'a'); }), "a stop string is empty, expected one byte or more");
}

}  // namespace
}  // namespace dikkat
