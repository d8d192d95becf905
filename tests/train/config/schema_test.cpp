#include "train/config/schema.h"

#include <cctype>
#include <cmath>
#include <set>

#include "tests/train/config/support.h"

namespace dikkat::schema {
namespace {

using testing::names;

TEST(Schema, EveryRowIsSound) {
  for (const Key& key : keys()) {
    EXPECT_EQ(find_key(key.section, key.name), &key) << key.path();
    EXPECT_GT(key.help.size(), 10U) << key.path();
    EXPECT_EQ(key.help.back(), '.') << key.path();
    const Value by_default = key.get(Config{});
    EXPECT_EQ(by_default.index() == 0, !key.rule.derived.empty()) << key.path() << ": either a default or a derived one";
    EXPECT_EQ(key.problem_with(by_default), "");
    EXPECT_TRUE(key.type == Type::text || key.rule.choices.empty()) << key.path();
  }
}

TEST(Schema, SetChangesThatKeyAndNoOther) {
  Dice dice(1);
  for (const Key& key : keys()) {
    Config config;
    const Value value = random_value(key, dice);
    key.set(config, value);
    EXPECT_EQ(key.get(config), value) << key.path();
    for (const Key& other : keys()) {
      if (&other != &key) {
        EXPECT_EQ(other.get(config), other.get(Config{})) << key.path() << " changed " << other.path();
      }
    }
  }
}

// --help-config prints this above the key: one or two sentences of whole words.
TEST(Schema, EveryKeyHasADescription) {
  for (const Key& key : keys()) {
    const std::string_view about = key.help;
    ASSERT_GE(about.size(), 20U) << key.path();
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(about.front())) != 0 && about.back() == '.') << key.path() << ": " << about;
    EXPECT_EQ(about.find("  "), std::string_view::npos) << key.path() << ": a string that was cut lost or doubled a space";
    EXPECT_EQ(about.find('\n'), std::string_view::npos) << key.path();
    EXPECT_TRUE(is_utf8(about)) << key.path();
  }
}

TEST(Schema, RangesAreDescribedInWords) {
  EXPECT_TRUE(names(Range{.low = 1, .high = 1e6}.text(), {"1", "1000000"}));
  EXPECT_TRUE(names(Range{.low = 0}.text(), {"0"}));
  EXPECT_EQ(Range{}.text(), "");
  std::set<std::string> texts;
  for (const bool low_open : {false, true}) {
    for (const bool high_open : {false, true}) {
      const std::string text = Range{.low = 0, .high = 1, .low_open = low_open, .high_open = high_open}.text();
      texts.insert(text);
      EXPECT_TRUE(names(text, {"0", "1"}));
    }
  }
  EXPECT_EQ(texts.size(), 4U) << "the words describe the ends of the range";
}

TEST(Schema, RangesHoldTheirEndsOrNot) {
  constexpr Range kOpen = {.low = 0, .high = 1, .low_open = true, .high_open = true};
  EXPECT_FALSE(kOpen.contains(0));
  EXPECT_FALSE(kOpen.contains(1));
  EXPECT_TRUE(kOpen.contains(0.5));
  constexpr Range kClosed = {.low = 0, .high = 1};
  EXPECT_TRUE(kClosed.contains(0));
  EXPECT_TRUE(kClosed.contains(1));
  EXPECT_FALSE(kClosed.contains(std::nextafter(1.0, 2.0)));
  EXPECT_FALSE(Range{}.contains(std::nan("")));
}

TEST(Value, NumbersKeepAPointOrAnExponent) {
  EXPECT_EQ(to_toml(1.0), "1.0");
  EXPECT_EQ(to_toml(0.1), "0.1");
  EXPECT_EQ(to_toml(-0.0), "-0.0");
  EXPECT_EQ(to_toml(1e-8), "1e-8");
  EXPECT_EQ(to_toml(1e-10), "1e-10");
  EXPECT_EQ(to_toml(1e22), "1e+22");
  EXPECT_EQ(to_toml(Value(index{1})), "1");
  EXPECT_EQ(to_toml(Value(true)), "true");
  EXPECT_EQ(to_toml(Value(std::vector<std::string>{"a", "b\"c"})), R"(["a", "b\"c"])");
  EXPECT_EQ(to_toml(Value(std::vector<std::string>{})), "[]");
  EXPECT_EQ(to_toml(Value(std::vector<double>{1, 0.5, 1e-8})), "[1.0, 0.5, 1e-8]");
}

TEST(Value, RecognizesUtf8) {
  EXPECT_TRUE(is_utf8("plain ş 語 😀"));
  for (const std::string_view bad :
       {"\x80", "\xC3", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "a\xE2\x82"}) {
    EXPECT_FALSE(is_utf8(bad)) << in_quotes(bad);
  }
}

TEST(Value, QuotesForAnErrorStayOnOneShortLine) {
  EXPECT_EQ(in_quotes("a\nb"), R"("a\nb")");
  EXPECT_EQ(in_quotes("a\xFF"), "\"a\uFFFD\"");
  EXPECT_LT(in_quotes(std::string(10000, 'x')).size(), 100U);
  EXPECT_TRUE(is_utf8(in_quotes(std::string(79, 'x') + "😀😀")));
}

}  // namespace
}  // namespace dikkat::schema
