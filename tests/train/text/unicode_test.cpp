#include "train/text/unicode.h"

#include <string>

#include <gtest/gtest.h>
#include <openssl/sha.h>

#include "train/text/utf8.h"

namespace dikkat {
namespace {

TEST(Nfc, JoinsAndSortsMarks) {
  EXPECT_EQ(to_nfc(""), "");
  EXPECT_EQ(to_nfc("plain text\n"), "plain text\n");
  EXPECT_EQ(to_nfc("cafe\u0301"), "caf\u00E9");
  EXPECT_EQ(to_nfc("q\u0307\u0323"), "q\u0323\u0307") << "below before above";
  EXPECT_EQ(to_nfc("\u1100\u1161\u11A8"), "\uAC01") << "Hangul";
  EXPECT_EQ(to_nfc("\u212B\u2126"), "\u00C5\u03A9") << "characters that are equivalent to another one";
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093C") << "a composition exclusion";
  EXPECT_EQ(to_nfc("\u0301x"), "\u0301x") << "a mark at the start";
  EXPECT_EQ(to_nfc("=\u0338<\u0338"), "\u2260\u226E");
  EXPECT_EQ(to_nfc("\uFB01"), "\uFB01") << "a ligature is compatible, not equivalent";
}

/// The results of Python 3.11's unicodedata for every character of the ranges, by itself and among others: 257,644 lines.
TEST(Nfc, IsPythonsForEveryCharacter) {
  std::string forms;
  const auto feed = [&](const std::string& text) { forms += to_nfc(text) + '\n'; };
  for (const utf8::Range range : {utf8::Range{0x1, 0xD7FF}, {0xE000, 0xFFFD}, {0x11080, 0x110FF}, {0x1D100, 0x1D1FF}, {0x2F800, 0x2FA1F}}) {
    for (char32_t c = range.first; c <= range.last; ++c) {
      if (c == 0xECE || c == 0x110C2) {
        continue;  // marks since Unicode 15 and 14
      }
      std::string character;
      utf8::append(character, c);
      feed(character);
      feed("a" + character + "\u0301\u0323" + character);
      feed("\u1100" + character + "\u11A8");
      feed("\u0B47" + character);
    }
  }
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(forms.data()), forms.size(), digest);
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 0xF];
  }
  EXPECT_EQ(hex, "1ccb8f117cb466f7948a2115f8d12a51b96f6188ada543aec5b9b4750cf4aa30");
}

TEST(Nfc, AMillionMarksOnOneLetterTakeNoLongerThanOthers) {
  std::string text = "a";
  for (int i = 0; i < 1'000'000; ++i) {
    text += i % 2 == 0 ? "\u0301" : "\u0323";
  }
  const std::string form = to_nfc(text);
  EXPECT_EQ(form.substr(0, 5), "\u1EA1\u0323") << "the first mark below joins the letter, the other ones below come next";
  EXPECT_EQ(form.size(), 3 + 2 * 999'999U);
}

TEST(WordCharacters, AreLettersMarksDigitsAndConnectors) {
  for (const char32_t c : U"aZ09_\u00E9\u0301\u0663\u2167\u203F\u200D\u24B6\u3042") {
    EXPECT_EQ(is_word_character(c), c != 0) << utf8::name_of(c);
  }
  for (const char32_t c : U" -<>.'\u00B2\u00BD\u2019\u3002\U0001F600") {
    EXPECT_FALSE(is_word_character(c)) << utf8::name_of(c);
  }
}

}  // namespace
}  // namespace dikkat
