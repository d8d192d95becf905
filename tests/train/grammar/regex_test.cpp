#include "train/grammar/regex.h"

#include <regex>

#include "tests/train/grammar/support.h"

namespace dikkat {
namespace {

bool matches(std::string_view pattern, std::string_view text) { return over_bytes(regex(pattern))->matches(text); }
bool finds(std::string_view pattern, std::string_view text) { return over_bytes(regex(pattern, {.whole = false}))->matches(text); }

/// The position in the message of a refusal; -1 without one.
index refused_at(std::string_view pattern) {
  try {
    regex(pattern);
  } catch (const RegexError& error) {
    EXPECT_TRUE(testing::names(error.what(), {concat(error.at())}));
    return error.at();
  }
  return -1;
}

TEST(Regex, MatchesWholeTexts) {
  EXPECT_TRUE(matches("abc", "abc"));
  EXPECT_FALSE(matches("abc", "abcd"));
  EXPECT_TRUE(matches("^abc$", "abc"));
  EXPECT_TRUE(matches("^ab|cd$", "cd"));
  EXPECT_TRUE(matches("a{2,}(?:b|c)+[^x-z]?", "aaabcb!"));
  EXPECT_TRUE(matches("(?<year>\\d{4})-(?P<month>\\d\\d)", "2026-11"));
  EXPECT_TRUE(matches("[\\w.-]+@[\\w-]+\\.\\w{2,3}", "a.b-c@d-e.org"));
  EXPECT_TRUE(matches("\\x41\\u00e9\\u{1F600}\\uD83D\\uDE00\\n\\t\\/\\.", "Aé😀😀\n\t/."));
  EXPECT_TRUE(matches("[\\]\\-^a-]+", "]-^a"));
  EXPECT_TRUE(matches("a{x}{2", "a{x}{2"));
  EXPECT_TRUE(matches("(|a)b", "b"));
  EXPECT_TRUE(matches("a*?b+?c??", "aabb"));
}

TEST(Regex, ClassesAreThoseOfEcmaScript) {
  EXPECT_TRUE(matches("\\s\\s\\s", " \u00A0\u3000"));
  EXPECT_FALSE(matches("\\S", "\u00A0"));
  EXPECT_FALSE(matches("\\d", "\u0663"));
  EXPECT_TRUE(matches("\\D", "\u0663"));
  EXPECT_FALSE(matches("\\w", "é"));
  EXPECT_TRUE(matches("\\W", "é"));
  EXPECT_TRUE(matches(".", "😀"));
  for (const char* line_break : {"\n", "\r", "\u2028", "\u2029"}) {
    EXPECT_FALSE(matches(".", line_break));
  }
  EXPECT_TRUE(matches("[^\\d\\s]", "é"));
  EXPECT_FALSE(matches("[^\\d\\s]", "7"));
}

TEST(Regex, FindsInTextsWithoutAnchors) {
  EXPECT_TRUE(finds("b", "abc"));
  EXPECT_TRUE(finds("^a", "abc"));
  EXPECT_FALSE(finds("^b", "abc"));
  EXPECT_TRUE(finds("c$", "abc"));
  EXPECT_FALSE(finds("b$", "abc"));
  EXPECT_TRUE(finds("^b|c$", "abc"));
  EXPECT_TRUE(finds("b", "a\nb"));
}

TEST(Regex, LooksAhead) {
  EXPECT_TRUE(matches("(?=.{2,3}$)[a-z]+", "abc"));
  EXPECT_FALSE(matches("(?=.{2,3}$)[a-z]+", "abcd"));
  EXPECT_TRUE(matches("^(?!^[-+.]*$)[+-]?\\d*\\.?\\d*$", "-1.5"));
  EXPECT_FALSE(matches("^(?!^[-+.]*$)[+-]?\\d*\\.?\\d*$", "-."));
  EXPECT_TRUE(matches("a(?=b)[a-z]c", "abc"));
  EXPECT_FALSE(matches("a(?=b)[a-z]c", "aac"));
  EXPECT_TRUE(matches("P(?:\\dW|(?!.*W)(?=\\d|T\\d)(\\d[YW])?(T(?=\\d)(\\dH)?(\\dM)?)?)", "P1YT2M"));
  for (const char* text : {"P", "PT", "P1YT", "P1WT1H"}) {
    EXPECT_FALSE(matches("P(?:\\dW|(?!.*W)(?=\\d|T\\d)(\\d[YW])?(T(?=\\d)(\\dH)?(\\dM)?)?)", text)) << text;
  }
  EXPECT_TRUE(finds("^a(b$|c)", "ab"));
  EXPECT_FALSE(finds("^a(b$|c)", "abb"));
  EXPECT_TRUE(finds("^a(b$|c)", "acb"));
  EXPECT_FALSE(matches("(a$)?b", "ab"));
  EXPECT_TRUE(matches("((?=a).b)?c", "abc"));
  EXPECT_TRUE(matches("((?=a).b)?c", "c"));
  EXPECT_FALSE(matches("((?=a).b)?c", "bbc"));
  EXPECT_TRUE(finds("(?!ab)[a-z]{2}$", "xba"));
  EXPECT_FALSE(finds("(?!ab)[a-z]{2}$", "xab"));
  EXPECT_FALSE(finds("^(?!ab)", "abc"));
}

TEST(Regex, RefusesByPosition) {
  const std::pair<const char*, index> cases[] = {
      {"(?=b)*", 0},  {"((?!b)a)+", 0},   {"(?<=a)b", 0},
      {"(?<!a)b", 0}, {"(a)\\1", 3},      {"\\k<a>", 0},
      {"a(?=^b)", 4}, {"(?=b", 0},        {"(?=(?=(?=(?=(?=(?=(?=(?=(?=a)))))))))", 0},
      {"\\bx", 0},    {"x\\B", 1},        {"\\p{L}", 0},
      {"a*+", 2},     {"a**", 2},         {"*a", 0},
      {"a|+b", 2},    {"a^", 1},          {"a$b", 1},
      {"(a$b)", 2},   {"(^a)", 1},        {"(a", 0},
      {"a)", 1},      {"[a", 0},          {"[]a]", 0},
      {"[z-a]", 1},   {"[\\d-z]", 1},     {"a\\", 1},
      {"\\q", 0},     {"\\xZZ", 0},       {"\\uD800", 0},
      {"a{3,2}", 1},  {"a{1,100000}", 4}, {"a{99999999999999999999}", 2},
      {"(?i)a", 0},   {"(?#c)a", 0},      {"[[:alpha:]]", 1},
      {"{2}", 0},     {"a{,5}", 1},       {"\\u{110000}", 0},
      {"\\01", 0},    {"é\\Z", 2},        {"a\xFF", 1},
      {"a???", 3},
  };
  for (const auto& [pattern, at] : cases) {
    EXPECT_EQ(refused_at(pattern), at) << pattern;
  }
  EXPECT_GE(refused_at(std::string(300, '(')), 0);
  EXPECT_GE(refused_at(std::string(20'000, 'a')), 0);
}

TEST(Regex, LargeRepetitionsNeedFewStates) {
  EXPECT_TRUE(over_bytes(regex("((a{1000}){1000}){1000}"))->can_continue(std::string(5'000, 'a')));
  EXPECT_TRUE(matches("a{10000}", std::string(10'000, 'a')));
}

TEST(Regex, MatchesAsTheStandardLibraryDoes) {
  Dice dice(7);
  const std::function<std::string(int)> random = [&](int level) -> std::string {
    switch (dice.roll(level > 3 ? 4 : 9)) {
      case 0: return "a";
      case 1: return "b";
      case 2: return dice.coin() ? "[ab]" : "[^a]";
      case 3: return dice.coin() ? "." : "\\d";
      case 4: return concat('(', random(level + 1), '|', random(level + 1), ')');
      case 5: return concat("(?:", random(level + 1), ')', dice.coin() ? "*" : dice.coin() ? "+" : "?");
      case 6: return concat("(?:", random(level + 1), "){", dice.roll(2), ',', 1 + dice.roll(3), '}');
      default: return random(level + 1) + random(level + 1);
    }
  };
  for (int i = 0; i < 150; ++i) {
    const std::string pattern = random(0);
    const std::regex standard(pattern);
    std::shared_ptr<const TokenGrammar> own;
    try {
      own = over_bytes(sequence({regex(pattern), literal(";")}));
    } catch (const InputError& error) {
      FAIL() << pattern << ": " << error.what();
    }
    for (int j = 0; j < 40; ++j) {
      std::string text;
      for (index length = dice.roll(7); length > 0; --length) {
        text += "ab7"[dice.roll(3)];
      }
      ASSERT_EQ(own->matches(text + ";"), std::regex_match(text, standard)) << pattern << ' ' << text;
    }
  }
}

}  // namespace
}  // namespace dikkat
