#include "train/text/pieces.h"

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

using Pieces = std::vector<std::string>;

Pieces pieces_of(std::string_view text, Splitter splitter = Splitter::gpt2) {
  Pieces pieces;
  PieceReader reader(text, splitter);
  for (std::string_view piece = reader.next(); !piece.empty(); piece = reader.next()) {
    pieces.emplace_back(piece);
  }
  return pieces;
}

TEST(Pieces, AreWordsNumbersAndSignsWithTheSpaceBefore) {
  EXPECT_EQ(pieces_of(""), Pieces());
  EXPECT_EQ(pieces_of("Hello, world 42!"), (Pieces{"Hello", ",", " world", " 42", "!"}));
  EXPECT_EQ(pieces_of("I'll say it's OK, 'TIS"), (Pieces{"I", "'ll", " say", " it", "'s", " OK", ",", " '", "TIS"}));
  EXPECT_EQ(pieces_of("x\u2019s"), (Pieces{"x", "\u2019", "s"})) << "a curly apostrophe does not count as one";
}

TEST(Pieces, OfSpacesTheLastJoinsTheNextWord) {
  EXPECT_EQ(pieces_of("   a"), (Pieces{"  ", " a"}));
  EXPECT_EQ(pieces_of("a \n b"), (Pieces{"a", " \n", " b"}));
  EXPECT_EQ(pieces_of("a\n\nb"), (Pieces{"a", "\n", "\n", "b"})) << "a line break is a piece";
  EXPECT_EQ(pieces_of("a  "), (Pieces{"a", "  "}));
  EXPECT_EQ(pieces_of("\u3000\u3000x"), (Pieces{"\u3000", "\u3000", "x"}));
}

// U+001C to U+001F, U+200B and U+180E are not White_Space, but U+0085 and U+00A0 are.
TEST(Pieces, WhiteSpaceIsUnicodes) {
  EXPECT_EQ(pieces_of("\u001C\u001C!"), (Pieces{"\u001C\u001C!"}));
  EXPECT_EQ(pieces_of("\u180E\u200B"), (Pieces{"\u180E\u200B"}));
  EXPECT_EQ(pieces_of("\u0085\u00A0a"), (Pieces{"\u0085", "\u00A0", "a"}));
}

TEST(Pieces, LettersAndNumbersAreUnicodes) {
  EXPECT_EQ(pieces_of("\u0130stanbul\u0131 \u00BD\u2460\u2167"), (Pieces{"\u0130stanbul\u0131", " \u00BD\u2460\u2167"}));
  EXPECT_EQ(pieces_of("e\u0301a"), (Pieces{"e", "\u0301", "a"})) << "a combining mark is not a letter";
  EXPECT_GE(std::stoi(PieceReader::unicode_version()), 14) << "Debian 12 has version 14, Debian 13 version 16";
}

TEST(Pieces, OfSmolLmHaveSingleDigits) {
  const auto pieces = [](std::string_view text) { return pieces_of(text, Splitter::smollm); };
  EXPECT_EQ(pieces("Hello, world 42!"), (Pieces{"Hello", ",", " world", " ", "4", "2", "!"}));
  EXPECT_EQ(pieces("a  1  b"), (Pieces{"a", "  ", "1", " ", " b"})) << "white space before a digit stays together";
  EXPECT_EQ(pieces("x\u00B2\u0663 it's"), (Pieces{"x", "\u00B2", "\u0663", " it", "'s"})) << "any number of Unicode";
}

TEST(Pieces, OfLlama3) {
  const auto pieces = [](std::string_view text) { return pieces_of(text, Splitter::llama3); };
  EXPECT_EQ(pieces("Hello, world 12345!"), (Pieces{"Hello", ",", " world", " ", "123", "45", "!"}));
  EXPECT_EQ(pieces("I'LL it'S 'tis"), (Pieces{"I", "'LL", " it", "'S", " '", "tis"}));
  EXPECT_EQ(pieces("x'\u017Fa"), (Pieces{"x", "'\u017F", "a"})) << "a long s is an s too";
  EXPECT_EQ(pieces("(word)_word\tword"), (Pieces{"(word", ")_", "word", "\tword"})) << "one sign or space joins the letters after it";
  EXPECT_EQ(pieces("end.\n\n  Next"), (Pieces{"end", ".\n\n", " ", " Next"})) << "signs take line breaks";
  EXPECT_EQ(pieces("a \n \r\n  b"), (Pieces{"a", " \n \r\n", " ", " b"})) << "white space up to the last line break";
  EXPECT_EQ(pieces("a\n\u3042"), (Pieces{"a", "\n", "\u3042"}));
  EXPECT_EQ(pieces("a\u3000\u3042  1"), (Pieces{"a", "\u3000\u3042", " ", " ", "1"}));
}

TEST(Pieces, OfQwen2HaveSingleDigits) {
  EXPECT_EQ(pieces_of("Hello, world 123! ", Splitter::qwen2), (Pieces{"Hello", ",", " world", " ", "1", "2", "3", "!", " "}));
  EXPECT_EQ(pieces_of("WE'RE.\r\n", Splitter::qwen2), (Pieces{"WE", "'RE", ".\r\n"}));
}

TEST(Pieces, TakeLinearTime) {
  for (std::size_t s = 0; s < std::size(Names<Splitter>::of); ++s) {
    for (const std::string_view unit : {" ", " \n", "\n", "\u3000", "!", "a", "1", "\u0301"}) {
      std::string text;  // with quadratic time it would take days
      while (text.size() < 400'000) {
        text += unit;
      }
      std::size_t bytes = 0;
      PieceReader reader(text, static_cast<Splitter>(s));
      for (std::string_view piece = reader.next(); !piece.empty(); piece = reader.next()) {
        bytes += piece.size();
      }
      EXPECT_EQ(bytes, text.size()) << Names<Splitter>::of[s];
    }
  }
}

TEST(Pieces, TheStablePrefixEndsBeforeTheLastWhiteSpaceAfterSomethingElse) {
  for (std::size_t s = 0; s < std::size(Names<Splitter>::of); ++s) {
    const auto stable = [&](std::string_view text) { return stable_pieces(text, static_cast<Splitter>(s)); };
    EXPECT_EQ(stable("one two thr"), 7);
    EXPECT_EQ(stable("one  "), 3);
    EXPECT_EQ(stable("one"), 0);
    EXPECT_EQ(stable("   "), 0);
    EXPECT_EQ(stable(""), 0);
    EXPECT_EQ(stable("a\u3000 b"), 0) << "the run of white space began before";
  }
}

TEST(Pieces, TheStablePrefixAtALineBreak) {
  for (const Splitter splitter : {Splitter::gpt2, Splitter::smollm}) {
    EXPECT_EQ(stable_pieces("\u3042\n\u3042", splitter), 3);
    EXPECT_EQ(stable_pieces(".\n\nb", splitter), 1) << "the next characters decide where the second line break belongs";
  }
  for (const Splitter splitter : {Splitter::llama3, Splitter::qwen2}) {
    EXPECT_EQ(stable_pieces("\u3002\n\u3042", splitter), 4) << "a sign takes the line break";
    EXPECT_EQ(stable_pieces(".\n\nb", splitter), 3);
    EXPECT_EQ(stable_pieces("a.\n", splitter), 0) << "more line breaks may follow";
    EXPECT_EQ(stable_pieces("a.\n\u3000", splitter), 0);
    EXPECT_EQ(stable_pieces("a.\n\xE3\x80", splitter), 0) << "it may become U+3000";
  }
}

/// Pieces of a text that is read in blocks of n bytes, as a large one is.
Pieces pieces_by_blocks(std::string_view text, std::size_t block, Splitter splitter) {
  Pieces pieces;
  std::string held;
  while (!text.empty() || !held.empty()) {
    const bool last = text.empty();
    held += text.substr(0, block);
    text.remove_prefix(std::min(block, text.size()));
    const auto stable_prefix = last ? held.size() : static_cast<std::size_t>(stable_pieces(held, splitter));
    for (std::string& piece : pieces_of(std::string_view(held).substr(0, stable_prefix), splitter)) {
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
  for (std::size_t s = 0; s < std::size(Names<Splitter>::of); ++s) {
    const auto splitter = static_cast<Splitter>(s);
    const Pieces whole = pieces_of(text, splitter);
    for (std::size_t block = 1; block < 40; ++block) {
      EXPECT_EQ(pieces_by_blocks(text, block, splitter), whole) << block << ' ' << name_of(splitter);
    }
  }
}

/// Texts of few characters, in which all the characters that the rules distinguish are adjacent.
TEST(Pieces, OfRandomTextsAreTheSameInBlocks) {
  constexpr const char* kParts[] = {"a",
                                    "S",
                                    "'",
                                    "'ll",
                                    "1",
                                    "23",
                                    ".",
                                    " ",
                                    "  ",
                                    "\n",
                                    "\r",
                                    "\t",
                                    "\v",
                                    "\u0085",
                                    "\u00A0",
                                    "\u3000",
                                    "\u0301",
                                    "\u3042",
                                    "\xF0\x9F\x98\x80",
                                    "\u2028"};
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::size_t parts = random() % 30; parts > 0; --parts) {
      text += kParts[random() % std::size(kParts)];
    }
    for (std::size_t s = 0; s < std::size(Names<Splitter>::of); ++s) {
      const auto splitter = static_cast<Splitter>(s);
      const Pieces whole = pieces_of(text, splitter);
      for (const std::size_t block : {1U, 2U, 3U, 5U, 8U}) {
        ASSERT_EQ(pieces_by_blocks(text, block, splitter), whole) << block << ' ' << name_of(splitter) << " of " << text;
      }
    }
  }
}

}  // namespace
}  // namespace dikkat
