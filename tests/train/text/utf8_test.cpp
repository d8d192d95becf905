#include "train/text/utf8.h"

#include <array>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using utf8::Fault;

TEST(Utf8, ReadsBackEveryCodePointAndNoSurrogate) {
  for (char32_t code_point = 0; code_point <= utf8::kLastCodePoint + 1; ++code_point) {
    std::string text;
    if (!utf8::is_character(code_point)) {
      ASSERT_THROW(utf8::append(text, code_point), Error);
      continue;
    }
    utf8::append(text, code_point);
    const utf8::Character character = utf8::decode(text, 0);
    ASSERT_EQ(character.fault, Fault::none) << utf8::name_of(code_point);
    ASSERT_EQ(character.code_point, code_point);
    ASSERT_EQ(character.bytes, static_cast<index>(text.size()));
  }
}

/// Unicode 15, table 3-7, written out again: for each form, the range of every byte.
bool well_formed(std::string_view bytes) {
  struct Form {
    index length;
    std::array<std::array<unsigned, 2>, 4> ranges;
  };
  static constexpr Form kForms[] = {
      {1, {{{0x00, 0x7F}}}},
      {2, {{{0xC2, 0xDF}, {0x80, 0xBF}}}},
      {3, {{{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}}}},
      {3, {{{0xE1, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}}}},
      {3, {{{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}}}},
      {3, {{{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}}}},
      {4, {{{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}}},
      {4, {{{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}}},
      {4, {{{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}}}},
  };
  for (const Form& form : kForms) {
    bool matches = form.length <= static_cast<index>(bytes.size());
    for (std::size_t i = 0; matches && i < static_cast<std::size_t>(form.length); ++i) {
      const unsigned byte = static_cast<unsigned char>(bytes[i]);
      matches = form.ranges[i][0] <= byte && byte <= form.ranges[i][1];
    }
    if (matches) {
      return true;
    }
  }
  return false;
}

TEST(Utf8, AcceptsExactlyTheWellFormedSequences) {
  // Each byte stands for its class: all pairs of first and second byte, with third and fourth bytes inside and outside of 80 to BF.
  for (unsigned first = 0; first < 256; ++first) {
    for (unsigned second = 0; second < 256; ++second) {
      for (const unsigned third : {0x00U, 0x7FU, 0x80U, 0xBFU, 0xC0U, 0xFFU}) {
        for (const unsigned fourth : {0x7FU, 0x80U, 0xBFU, 0xC0U}) {
          const std::string text = {static_cast<char>(first), static_cast<char>(second), static_cast<char>(third),
                                    static_cast<char>(fourth)};
          for (std::size_t length = 1; length <= 4; ++length) {
            const std::string_view part = std::string_view(text).substr(0, length);
            const utf8::Character character = utf8::decode(part, 0);
            ASSERT_EQ(character.fault == Fault::none, well_formed(part)) << utf8::describe_fault(part, 0);
            ASSERT_GE(character.bytes, 1);
            ASSERT_LE(character.bytes, static_cast<index>(length));
          }
        }
      }
    }
  }
}

TEST(Utf8, DescribesTheError) {
  struct Case {
    std::string_view bytes;
    Fault fault;
    std::vector<std::string> parts;
  };
  for (const Case& c : {
           Case{"\x80", Fault::stray, {"0x80", "continuation"}},
           Case{"\xBF", Fault::stray, {"0xBF", "continuation"}},
           Case{"\xC0\xAF", Fault::foreign, {"0xC0", "never"}},
           Case{"\xC1\xBF", Fault::foreign, {"0xC1", "never"}},
           Case{"\xF5\x80\x80\x80", Fault::foreign, {"0xF5", "never"}},
           Case{"\xFF", Fault::foreign, {"0xFF", "never"}},
           Case{"\xE0\x80\xAF", Fault::overlong, {"0xE0 0x80", "overlong"}},
           Case{"\xF0\x8F\xBF\xBF", Fault::overlong, {"0xF0 0x8F", "overlong"}},
           Case{"\xED\xA0\x80", Fault::surrogate, {"0xED 0xA0", "surrogate"}},
           Case{"\xED\xBF\xBF", Fault::surrogate, {"0xED 0xBF", "surrogate"}},
           Case{"\xF4\x90\x80\x80", Fault::too_large, {"0xF4 0x90", "U+10FFFF"}},
           Case{"\xC3(", Fault::interrupted, {"0xC3 0x28", "interrupt"}},
           Case{"\xE3\x81\xC3", Fault::interrupted, {"0xE3 0x81 0xC3", "interrupt"}},
           Case{"\xC3", Fault::cut_off, {"0xC3", "end"}},
           Case{"\xF0\x9F\x98", Fault::cut_off, {"0xF0 0x9F 0x98", "end"}},
       }) {
    const std::string text = "abc" + std::string(c.bytes);
    EXPECT_EQ(utf8::first_invalid(text), 3) << c.parts.front();
    EXPECT_EQ(utf8::decode(text, 3).fault, c.fault) << c.parts.front();
    EXPECT_TRUE(testing::names(utf8::describe_fault(text, 3), c.parts));
  }
  EXPECT_EQ(utf8::first_invalid("a\u00E9\u3042\U0001F600"), std::nullopt);
}

TEST(Utf8, SnapsBackToTheStartOfACharacter) {
  const std::string text = "a\u00E9\u3042\U0001F600z";  // starts at 0, 1, 3, 6, 10; size 11
  const index expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (index at = 0; at <= static_cast<index>(text.size()); ++at) {
    EXPECT_EQ(utf8::snap(text, at), expected[at]) << at;
  }
}

TEST(Utf8, DoesNotSnapIfTheTextIsNotUtf8) {
  const std::string text = "ab\x80\x80\x80\x80\x80\xC3";
  for (index at = 0; at <= static_cast<index>(text.size()); ++at) {
    EXPECT_EQ(utf8::snap(text, at), at);
  }
  EXPECT_EQ(utf8::snap("\xC3\xA9\x80", 2), 2) << "the character before the stray byte is whole";
}

TEST(Utf8, CountsTrailingBytesThatMayStillBecomeACharacter) {
  const std::string text = "a\u00E9\u3042\U0001F600z";
  const index expected[] = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 0};
  for (std::size_t size = 0; size <= text.size(); ++size) {
    EXPECT_EQ(utf8::incomplete_tail(std::string_view(text).substr(0, size)), expected[size]) << size;
  }
  EXPECT_EQ(utf8::incomplete_tail("a\x80"), 0) << "a stray byte never becomes a character";
  EXPECT_EQ(utf8::incomplete_tail("\xED\xA0"), 0) << "nor does half of a surrogate pair";
}

TEST(Utf8, WhiteSpaceIsTheUnicodeProperty) {
  std::u32string white;
  for (char32_t code_point = 0; code_point <= utf8::kLastCodePoint; ++code_point) {
    if (utf8::is_white_space(code_point)) {
      white += code_point;
    }
  }
  EXPECT_TRUE(white ==
              U"\t\n\v\f\r \u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F"
              U"\u3000");
}

TEST(Utf8, NamesCharactersAndPrintsOnlyHarmlessOnes) {
  EXPECT_EQ(utf8::name_of(U'\u00E9'), "U+00E9 'é'");
  EXPECT_EQ(utf8::name_of(U'\U0001F600'), "U+1F600 '😀'");
  EXPECT_EQ(utf8::name_of(0x07), "U+0007");
  EXPECT_EQ(utf8::name_of(0x1B), "U+001B");
  EXPECT_EQ(utf8::name_of(0x202E), "U+202E");  // right-to-left override
  EXPECT_EQ(utf8::name_of(0x10FFFF), "U+10FFFF");
}

}  // namespace
}  // namespace dikkat
