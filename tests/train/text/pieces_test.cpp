#include "train/text/pieces.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

using Pieces = std::vector<std::string>;

Pieces pieces_of(std::string_view text) {
  Pieces pieces;
  PieceReader reader(text);
  for (std::string_view piece = reader.next(); !piece.empty(); piece = reader.next()) {
    pieces.emplace_back(piece);
  }
  return pieces;
}

TEST(Pieces, AreWordsNumbersAndSignsWithTheSpaceBefore) {
  EXPECT_EQ(pieces_of(""), Pieces());
  EXPECT_EQ(pieces_of("Hello, world 42!"), (Pieces{"Hello", ",", " world", " 42", "!"}));
  EXPECT_EQ(pieces_of("I'll say it's OK, 'TIS"), (Pieces{"I", "'ll", " say", " it", "'s", " OK", ",", " '", "TIS"}));
  EXPECT_EQ(pieces_of("x\u2019s"), (Pieces{"x", "\u2019", "s"})) << "a curly apostrophe is none";
}

TEST(Pieces, OfSpacesTheLastJoinsTheNextWord) {
  EXPECT_EQ(pieces_of("   a"), (Pieces{"  ", " a"}));
  EXPECT_EQ(pieces_of("a \n b"), (Pieces{"a", " \n", " b"}));
  EXPECT_EQ(pieces_of("a\n\nb"), (Pieces{"a", "\n", "\n", "b"})) << "a line break stands alone";
  EXPECT_EQ(pieces_of("a  "), (Pieces{"a", "  "}));
  EXPECT_EQ(pieces_of("\u3000\u3000x"), (Pieces{"\u3000", "\u3000", "x"}));
}

// U+001C to U+001F, U+200B and U+180E are no White_Space, U+0085 and U+00A0 are.
TEST(Pieces, WhiteSpaceIsUnicodes) {
  EXPECT_EQ(pieces_of("\u001C\u001C!"), (Pieces{"\u001C\u001C!"}));
  EXPECT_EQ(pieces_of("\u180E\u200B"), (Pieces{"\u180E\u200B"}));
  EXPECT_EQ(pieces_of("\u0085\u00A0a"), (Pieces{"\u0085", "\u00A0", "a"}));
}

TEST(Pieces, LettersAndNumbersAreUnicodes) {
  EXPECT_EQ(pieces_of("\u0130stanbul\u0131 \u00BD\u2460\u2167"), (Pieces{"\u0130stanbul\u0131", " \u00BD\u2460\u2167"}));
  EXPECT_EQ(pieces_of("e\u0301a"), (Pieces{"e", "\u0301", "a"})) << "a combining mark is no letter";
  EXPECT_EQ(PieceReader::unicode_version(), "14.0.0");
}

TEST(Pieces, TheStablePrefixEndsBeforeTheLastWhiteSpaceAfterSomethingElse) {
  EXPECT_EQ(stable_pieces("one two thr"), 7);
  EXPECT_EQ(stable_pieces("one  "), 3);
  EXPECT_EQ(stable_pieces("one"), 0);
  EXPECT_EQ(stable_pieces("   "), 0);
  EXPECT_EQ(stable_pieces(""), 0);
  EXPECT_EQ(stable_pieces("\u3042\n\u3042"), 3);
  EXPECT_EQ(stable_pieces("a\u3000 b"), 0) << "the run of white space began before";
}

/// Pieces of a text that is read in blocks of n bytes, as a large one is.
Pieces pieces_by_blocks(std::string_view text, std::size_t block) {
  Pieces pieces;
  std::string held;
  while (!text.empty() || !held.empty()) {
    const bool last = text.empty();
    held += text.substr(0, block);
    text.remove_prefix(std::min(block, text.size()));
    const auto stable_prefix = last ? held.size() : static_cast<std::size_t>(stable_pieces(held));
    for (std::string& piece : pieces_of(std::string_view(held).substr(0, stable_prefix))) {
      pieces.push_back(std::move(piece));
    }
    held.erase(0, stable_prefix);
  }
  return pieces;
}

TEST(Pieces, AreTheSameInBlocks) {
  const std::string text =
      "  It's  one\r\n\r\n of\t \u3000 those:\u3000'll \u0130\u0131 12 \n\n\n 'd\u0085 x \xE3\x81\x82\xE3\x81\x84  \xF0\x9F\x98\x80 "
      "\xF0\x9F\x98\x80.  ";
  const Pieces whole = pieces_of(text);
  for (std::size_t block = 1; block < 40; ++block) {
    EXPECT_EQ(pieces_by_blocks(text, block), whole) << block;
  }
}

}  // namespace
}  // namespace dikkat
