#include "train/grammar/json_grammar.h"

#include <nlohmann/json.hpp>

#include "tests/train/grammar/support.h"
#include "train/grammar/number_range.h"

namespace dikkat {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

TEST(JsonGrammar, HasJsonValues) {
  const auto value = over_bytes(json_value());
  for (const char* text : {R"(null)", R"(true)", R"(-0.5e-7)", R"("")", R"("a\"\\\u00e9\uD83D\uDE00é😀")", R"([])", R"([1, [2,[]], {}])",
                           R"({"a": {"b": [1,2,3]}, "": null})", "{\n  \"a\": 1,\n  \"b\": [\n    true\n  ]\n}", R"({"a":1,"b":2})"}) {
    EXPECT_TRUE(json::accept(text)) << text;
    EXPECT_TRUE(value->matches(text)) << text;
  }
  for (const char* text : {"",
                           " 1",
                           "1 ",
                           "01",
                           "1.",
                           ".5",
                           "+1",
                           "nul",
                           "tru e",
                           "[1,]",
                           "[,1]",
                           "{1:2}",
                           R"({"a"})",
                           R"({"a":1,})",
                           "\"\n\"",
                           R"("\x")",
                           R"("\uD800")",
                           R"("\uD800\u0041")",
                           R"("\uDC00")",
                           "[1  ,2]",
                           "[  1]",
                           "{\"a\" :1}",
                           "{\"a\":  1}",
                           "[1,\n\n2]",
                           "\"\xFF\"",
                           "NaN"}) {
    EXPECT_FALSE(value->matches(text)) << text;
  }
  const auto object = over_bytes(json_object());
  EXPECT_TRUE(object->matches("{}"));
  EXPECT_TRUE(object->matches(R"({"a": [{}]})"));
  EXPECT_FALSE(object->can_continue("["));
}

TEST(JsonGrammar, BlanksAndDigitsHaveAnEnd) {
  const auto value = over_bytes(json_value());
  const std::string most(39, '7'), fraction(16, '7');
  EXPECT_TRUE(value->matches(concat('-', most, '.', fraction, "E+99")));
  EXPECT_FALSE(value->can_continue(concat(most, "7")));
  EXPECT_FALSE(value->can_continue(concat("0.", fraction, "7")));
  EXPECT_FALSE(value->can_continue("1e100"));
  EXPECT_TRUE(value->can_continue(concat("[\n", std::string(16, ' '))));
  EXPECT_FALSE(value->can_continue(concat("[\n", std::string(17, ' '))));
  EXPECT_FALSE(value->can_continue("[\t"));
}

TEST(JsonGrammar, RandomWalksAreJson) {
  const auto value = over_bytes(json_value());
  Dice dice(3);
  for (int i = 0; i < 60; ++i) {
    const auto [text, is_complete] = random_walk(*value, *byte_trie(), dice);
    EXPECT_TRUE(is_complete);
    EXPECT_TRUE(json::accept(text)) << text;
  }
}

TEST(JsonGrammar, StringsCountCharacters) {
  const auto text = over_bytes(json_string(2, 3));
  for (const char* good : {R"("ab")", R"("éé😀")", R"("\n\u0041")", R"("\uD83D\uDE00a")"}) {
    EXPECT_TRUE(text->matches(good)) << good;
  }
  for (const char* bad : {R"("")", R"("a")", R"("abcd")", R"("\uD83D\uDE00")"}) {
    EXPECT_FALSE(text->matches(bad)) << bad;
  }
  EXPECT_TRUE(over_bytes(json_string(0, 10'000))->matches(concat('"', std::string(10'000, 'x'), '"')));
}

TEST(JsonGrammar, ConstantsMatchTheirTexts) {
  const ordered_json value = {{"b", {1, 2.5, nullptr, true}}, {"a", "é\"\n"}, {"c", ordered_json::object()}};
  const auto constant = over_bytes(json_constant(value));
  EXPECT_TRUE(constant->matches(value.dump()));
  EXPECT_TRUE(constant->matches(value.dump(2)));
  EXPECT_FALSE(constant->can_continue(R"({"a)"));
}

TEST(JsonGrammar, CharactersAreEscapedWhereTheyMust) {
  const auto one = over_bytes(json_character({{0, 0x10FFFF}}));
  for (char32_t c = 0; c < 0x200; ++c) {
    std::string text;
    utf8::append(text, c);
    const std::string quoted = json(text).dump();
    EXPECT_TRUE(one->matches(quoted.substr(1, quoted.size() - 2))) << quoted;
    EXPECT_EQ(one->matches(text), c >= 0x20 && c != '"' && c != '\\') << quoted;
  }
  const auto quote = over_bytes(json_character({{'"', '#'}}));
  EXPECT_TRUE(quote->matches("\\\""));
  EXPECT_TRUE(quote->matches("#"));
  EXPECT_FALSE(quote->can_continue("\\n"));
}

TEST(NumberRange, HasTheIntegersBetweenItsBounds) {
  const std::pair<int, int> bounds[] = {{0, 0},    {0, 9},     {1, 10},       {-3, 5},  {95, 205},
                                        {7, 1234}, {-120, -7}, {-1000, 1000}, {10, 99}, {-1, 1}};
  for (const auto& [low, high] : bounds) {
    const auto both = over_bytes(integers_within(NumberBound{low}, NumberBound{high}));
    const auto above = over_bytes(integers_within(NumberBound{low, true}, std::nullopt));
    const auto below = over_bytes(integers_within(std::nullopt, NumberBound{high, true}));
    for (int i = -2100; i <= 2100; ++i) {
      ASSERT_EQ(both->matches(concat(i)), low <= i && i <= high) << i << " in " << low << " to " << high;
      ASSERT_EQ(above->matches(concat(i)), i > low) << i << " above " << low;
      ASSERT_EQ(below->matches(concat(i)), i < high) << i << " below " << high;
    }
    for (const char* bad : {"-0", "00", "01", "+1", "1.0", "1e1"}) {
      EXPECT_FALSE(both->matches(bad));
    }
  }
  input_error_of([] { integers_within(NumberBound{3, true}, NumberBound{3}); });
}

TEST(NumberRange, HasLargeIntegers) {
  const auto unsigned_128 =
      over_bytes(integers_within(NumberBound{0}, NumberBound{Decimal::of_json("340282366920938463463374607431768211455")}));
  EXPECT_TRUE(unsigned_128->matches("340282366920938463463374607431768211455"));
  EXPECT_FALSE(unsigned_128->matches("340282366920938463463374607431768211456"));
  EXPECT_FALSE(unsigned_128->matches("-1"));
  const auto safe = over_bytes(integers_within(NumberBound{-9007199254740991}, NumberBound{9007199254740991}));
  for (const char* text : {"9007199254740991", "-9007199254740991", "0", "-1", "123456789012345"}) {
    EXPECT_TRUE(safe->matches(text)) << text;
  }
  for (const char* text : {"9007199254740992", "-9007199254740992", "10000000000000000"}) {
    EXPECT_FALSE(safe->matches(text)) << text;
  }
  const auto above = over_bytes(integers_within(NumberBound{Decimal::of_json("1e30"), true}, std::nullopt));
  EXPECT_TRUE(above->matches("1000000000000000000000000000001"));
  EXPECT_FALSE(above->matches("1000000000000000000000000000000"));
  EXPECT_TRUE(above->matches(std::string(39, '9')));
  const auto within_fractions =
      over_bytes(integers_within(NumberBound{Decimal::of_json("-1.5")}, NumberBound{Decimal::of_json("2.5"), true}));
  for (int i = -3; i < 5; ++i) {
    EXPECT_EQ(within_fractions->matches(concat(i)), -1 <= i && i <= 2) << i;
  }
}

TEST(NumberRange, HasBoundsWithFractions) {
  Dice dice(3);
  const auto random = [&] { return concat(dice.coin() ? "-" : "", dice.roll(dice.coin() ? 3 : 200), '.', dice.roll(1000)); };
  for (int i = 0; i < 60; ++i) {
    std::string low = random(), high = random();
    if (Decimal::of_json(high) < Decimal::of_json(low)) {
      std::swap(low, high);
    }
    if (low == high) {
      continue;
    }
    const bool out = dice.coin();
    const auto grammar = over_bytes(
        sequence({numbers_within(NumberBound{Decimal::of_json(low), out}, NumberBound{Decimal::of_json(high), out}), literal(";")}));
    for (int j = 0; j < 300; ++j) {
      const std::string text = j == 0 ? low : j == 1 ? high : random();
      const Decimal value = Decimal::of_json(text);
      const bool is_in = (value > Decimal::of_json(low) && value < Decimal::of_json(high)) ||
                         (!out && (value == Decimal::of_json(low) || value == Decimal::of_json(high)));
      if (text.starts_with('-') && !value.is_negative()) {
        continue;  // zero is not written with a sign
      }
      ASSERT_EQ(grammar->matches(text + ";"), is_in) << text << " in " << low << " to " << high;
    }
  }
  const auto tiny =
      over_bytes(numbers_within(NumberBound{Decimal::of_json("1e-7"), true}, NumberBound{Decimal::of_json("3.4028234663852886e+38")}));
  EXPECT_TRUE(tiny->matches("0.0000002"));
  EXPECT_FALSE(tiny->matches("0.0000001"));
  EXPECT_TRUE(tiny->matches("340282346638528860000000000000000000000.0"));
  EXPECT_FALSE(tiny->matches("340282346638528860000000000000000000001"));
  input_error_of([] { numbers_within(NumberBound{Decimal::of_json("123456789.0000001"), true}, std::nullopt); });
}

TEST(Decimal, ReadsNumbersOfJson) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"-0.0", "0"},
      {"1.50", "1.5"},
      {"1e3", "1000"},
      {"-1.25E-2", "-0.0125"},
      {"12.5e1", "125"},
      {"0.001e3", "1"},
      {"1e-3", "0.001"},
      {"9007199254740993", "9007199254740993"},
      {"0e99999999999999999999", "0"},
  };
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(Decimal::of_json(text).text(), shown);
  }
  EXPECT_EQ(Decimal::of_json("1e99999999999999999999"), Decimal::of_json("1e1000"));
  EXPECT_LT(Decimal::of_json("-1e5"), Decimal(-99999));
  EXPECT_LT(Decimal::of_json("0.3"), Decimal::of_json("0.31"));
  EXPECT_EQ(Decimal::of_json("-1.2345").rounded_up(2).text(), "-1.23");
  EXPECT_EQ(Decimal::of_json("1.2345").rounded_up(2).text(), "1.24");
  EXPECT_EQ(Decimal::of_json("9.99").next(2).text(), "10");
  EXPECT_EQ(Decimal::of_json("-0.01").next(2).text(), "0");
  EXPECT_EQ(Decimal(0).previous(1).text(), "-0.1");
}

TEST(NumberRange, HasTheNumbersBetweenItsBounds) {
  const std::tuple<int, bool, int, bool> bounds[] = {{0, false, 1, false}, {0, true, 1, true},   {-1, false, 1, false},
                                                     {-2, true, 3, true},  {3, false, 12, true}, {-7, true, -2, false},
                                                     {-1, true, 0, true},  {5, false, 5, false}, {0, false, 100, false}};
  for (const auto& [low, low_out, high, high_out] : bounds) {
    const auto grammar = over_bytes(numbers_within(NumberBound{low, low_out}, NumberBound{high, high_out}));
    for (int i = -1300; i <= 13000; i += i > 200 && i < 1100 ? 7 : 1) {
      const double value = i / 100.0;
      const bool is_in = (low_out ? value > low : value >= low) && (high_out ? value < high : value <= high);
      const std::string text = json(value).dump();
      const bool is_negative_zero = false;
      ASSERT_EQ(grammar->matches(text), is_in && !is_negative_zero) << text << " in " << low << " to " << high;
    }
    Dice dice(11);
    for (int i = 0; i < 50; ++i) {
      const auto [text, is_complete] = random_walk(*grammar, *byte_trie(), dice);
      ASSERT_TRUE(is_complete);
      const double value = std::stod(text);
      EXPECT_TRUE((low_out ? value > low : value >= low) && (high_out ? value < high : value <= high)) << text;
    }
  }
  input_error_of([] { numbers_within(NumberBound{3, true}, NumberBound{3}); });
}

}  // namespace
}  // namespace dikkat
