#include "train/text/hugging_face/text_pattern.h"

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

/// The matches of a pattern, each in brackets within the text.
std::string marked(const TextPattern& pattern, std::string_view text) {
  std::string out;
  std::size_t done = 0;
  pattern.for_matches(text, [&](std::size_t first, std::size_t last) {
    out += concat(text.substr(done, first - done), '[', text.substr(first, last - first), ']');
    done = last;
  });
  return out + std::string(text.substr(done));
}

std::string marked(std::string_view regex, std::string_view text) { return marked(TextPattern::regex(regex), text); }

TEST(TextPattern, FindsTexts) {
  EXPECT_EQ(marked(TextPattern::literal("aa"), "aaaba"), "[aa]aba");
  EXPECT_THROW(TextPattern::literal(""), InputError);
}

TEST(TextPattern, UnderstandsUnicode) {
  EXPECT_EQ(marked(R"(\p{L}+)", "na\u00EFve 12"), "[na\u00EFve] 12");
  EXPECT_EQ(marked(R"(\p{Han})", "a\u6F22b"), "a[\u6F22]b");
  EXPECT_EQ(marked(R"(\s)", "a\u2003\u180Eb"), "a[\u2003]\u180Eb");
  EXPECT_EQ(marked(R"([^\s]+)", "a\u2003b\u0085"), "[a]\u2003[b]\u0085");
  EXPECT_EQ(marked(R"(\w+)", "e\u0301_1 -"), "[e\u0301_1] -");
  EXPECT_EQ(marked(R"(\d+)", "1\u0662x"), "[1\u0662]x");
  EXPECT_EQ(marked(R"((?i:'s|'re))", "it'S they'Re"), "it['S] they['Re]");
  EXPECT_EQ(marked(R"(\u00e9|\x{4e00})", "\u00E9\u4E00"), "[\u00E9][\u4E00]");
}

// Oniguruma's syntax of Ruby, where PCRE2 differs.
TEST(TextPattern, ReadsTheSyntaxOfOniguruma) {
  EXPECT_EQ(marked("^a$", "a\nb\na"), "[a]\nb\n[a]") << "lines";
  EXPECT_EQ(marked("(?m:a.b)", "a\nb"), "[a\nb]") << "m lets a dot match a line break";
  EXPECT_EQ(marked(R"(\h+)", "xface 1"), "x[face] [1]") << "hexadecimal digits";
  EXPECT_EQ(marked("a{1,2}+b", "aaaab"), "[aaaab]") << "a repeated interval, not a possessive one";
  EXPECT_EQ(marked("(?:xy){,2}z", "xyxyz"), "[xyxyz]");
  EXPECT_EQ(marked("a{x", "a{x"), "[a{x]");
  EXPECT_EQ(marked("a++b|a", "aab a"), "[aab] [a]");
  EXPECT_EQ(marked(R"(\bb\B)", "bb ab"), "[b]b ab");
  EXPECT_EQ(marked("[]a]", "]a"), "[]][a]");
  EXPECT_EQ(marked(R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+)", "x.ab]c"), "x[.ab][]c]") << "DeepSeek's signs";
}

TEST(TextPattern, AnEmptyMatchNeverFollowsAMatch) {
  EXPECT_EQ(marked("b*", "abc"), "[]a[b]c[]");
  EXPECT_EQ(marked("(?=\u00E9)", "a\u00E9"), "a[]\u00E9");
}

TEST(TextPattern, RefusesWhatPcreWouldReadInAnotherWay) {
  const auto error = [](std::string_view regex) { return input_error_of([&] { TextPattern::regex(regex); }); };
  EXPECT_TRUE(names(error("[a&&b]"), {"[a&&b]", "intersection"}));
  EXPECT_TRUE(names(error("[a[bc]]"), {"brackets within brackets"}));
  EXPECT_TRUE(names(error(R"(\Qa)"), {"\\Q"}));
  EXPECT_TRUE(names(error("(*UTF)a"), {"(*"}));
  EXPECT_TRUE(names(error("a(?i)b"), {"after its beginning"}));
  EXPECT_TRUE(names(error("a{2}?"), {"{n}?"}));
  EXPECT_TRUE(names(error("(a"), {"not valid"}));
  EXPECT_TRUE(names(error("a)"), {"does not open"}));
  EXPECT_TRUE(names(error("[a"), {"without an end"}));
  EXPECT_TRUE(names(error(R"(\p{Nope})"), {"Nope"}));
}

TEST(TextPattern, StopsAHostileSearch) {
  const std::string text(40, 'a');
  EXPECT_TRUE(names(input_error_of([&] { TextPattern::regex("(?:(?:a|a|b)*)*[cd]").for_matches(text, [](std::size_t, std::size_t) {}); }),
                    {"too many steps"}));
}

}  // namespace
}  // namespace dikkat
