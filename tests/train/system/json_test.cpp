#include "train/system/json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

using nlohmann::json;
using testing::names;

std::string nested(std::size_t levels, const std::string& inside = "") {
  return std::string(levels, '[') + inside + std::string(levels, ']');
}
std::string refusal(std::string_view text, const JsonLimits& limits = {}) {
  return testing::error_of<JsonError>([&] { parse_json(text, limits); });
}

TEST(ParseJson, KeepsTheOrderOfFieldsOnlyIfAsked) {
  EXPECT_EQ(json_text(parse_json(R"({"b": 1, "a": [true, null]})")), R"({"a":[true,null],"b":1})");
  EXPECT_EQ(json_text(parse_json<nlohmann::ordered_json>(R"({"b": 1, "a": 2})")), R"({"b":1,"a":2})");
  EXPECT_EQ(try_json("[1]"), json({1}));
  EXPECT_EQ(try_json("[1"), std::nullopt);
  EXPECT_EQ(try_json(nested(101)), std::nullopt);
}

TEST(ParseJson, TakesTheLastOfSeveralValuesAtThePlaceOfTheFirst) {
  const auto parsed = parse_json<nlohmann::ordered_json>(R"({"b": {"x": 1}, "a": [2, {"c": {}}], "b": {"y": [{"z": 3, "z": 4}]}})");
  EXPECT_EQ(json_text(parsed), R"({"b":{"y":[{"z":4}]},"a":[2,{"c":{}}]})");
}

TEST(AddField, KeepsTheOthersInTheirOrder) {
  auto object = parse_json<nlohmann::ordered_json>(R"({"b": {"x": [1, 2]}, "a": "text"})");
  add_field(object, "0", 3);
  EXPECT_EQ(json_text(object), R"({"b":{"x":[1,2]},"a":"text","0":3})");
}

TEST(ParseJson, KeepsTheDigitsOfIntegers) {
  using Json = nlohmann::ordered_json;
  for (const std::string digits : {"0", "-7", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615",
                                   "18446744073709551616", "-9223372036854775809", "123456789012345678901234567890123456789"}) {
    const Json value = parse_json<Json>(digits);
    EXPECT_EQ(integer_digits(value), digits);
    EXPECT_STREQ(json_type(value), "number");
    EXPECT_EQ(json_text(value), digits);
    EXPECT_EQ(short_text(value), digits);
    EXPECT_EQ(json_text(parse_json<Json>(concat(R"({"b":[1,)", digits, R"(],"a":[]})"))), concat(R"({"b":[1,)", digits, R"(],"a":[]})"));
  }
  for (const char* text : {"1.0", "1e30", "123456789012345678901234567890.0", "\"1\"", "true", "null", "[1]", "{}"}) {
    EXPECT_EQ(integer_digits(parse_json<Json>(text)), std::nullopt) << text;
  }
  EXPECT_NE(parse_json<Json>("18446744073709551616"), parse_json<Json>("18446744073709551617"));
}

TEST(JsonText, HasTheSameFormWithLargeIntegers) {
  using Json = nlohmann::ordered_json;
  const std::string text = R"({"a\"":[1,{"x":[],"y":{}},"\n",null,0.5],"b":{"c":[[2]]},"n":N})";
  const auto with = [&](const std::string& number) { return parse_json<Json>(text.substr(0, text.size() - 2) + number + "}"); };
  for (const int indent : {-1, 0, 1, 4}) {
    std::string expected = json_text(with("\"N\""), indent);
    expected.replace(expected.find("\"N\""), 3, "18446744073709551616");
    EXPECT_EQ(json_text(with("18446744073709551616"), indent), expected);
  }
}

TEST(ParseJson, ReportsTheByteAndTheProblem) {
  const auto error = [](std::string_view text) {
    try {
      parse_json(text);
    } catch (const JsonError& found) {
      return found;
    }
    return JsonError("accepted");
  };
  EXPECT_EQ(error(R"({"a": 1,})").byte, 9U);
  EXPECT_TRUE(names(error(R"({"a": 1,})").problem, {"'}'"}));
  EXPECT_TRUE(names(error(R"({"a": 1,})").what(), {"JSON", "byte 9", "'}'"}));
  EXPECT_EQ(error("{\"\xFF\": 1}").byte, 3U);
  EXPECT_EQ(error(std::string_view("5 \0x", 4)).byte, 3U);
  for (const std::string text : {"", " ", "[", R"({"a")", R"({"a": "x)", "[1,"}) {
    EXPECT_EQ(error(text).byte, text.size() + 1) << text;
    EXPECT_NE(error(text).problem, "") << text;
  }
  EXPECT_EQ(testing::error_of<JsonError>([&] { parse_json<nlohmann::ordered_json>(R"({"a": 1,})"); }), error(R"({"a": 1,})").what());
  EXPECT_EQ(error("[1e999]").byte, 0U);
  EXPECT_TRUE(names(error("[1e999]").what(), {"f64", "1.8e308"}));
}

TEST(ParseJson, RefusesMoreThanItsLimits) {
  EXPECT_EQ(refusal("[[1]]", {.levels = 2}), "");
  EXPECT_TRUE(names(refusal("[[1]]", {.levels = 1}), {"nested", "1"}));
  EXPECT_TRUE(names(refusal(R"({"a": [1]})", {.levels = 1}), {"nested", "1"}));
  EXPECT_EQ(refusal(R"([1,"[[{,,\"[",{}])", {.values = 4}), "") << "brackets and commas in a text do not count";
  EXPECT_TRUE(names(refusal("[1,2,{}]", {.values = 3}), {"values", "3"}));
  EXPECT_EQ(refusal("[1]", {.bytes = 3}), "");
  EXPECT_TRUE(names(refusal("[1 ]", {.bytes = 3}), {"4 bytes", "3"}));
  EXPECT_TRUE(names(refusal(nested(1'000'000)), {"nested", "100"})) << "before anything recurses";
  EXPECT_TRUE(names(refusal(std::string(1'000'000, '{')), {"nested", "100"}));
}

TEST(ParseJson, NamesTheFileOfAnObject) {
  const auto error = [](std::string_view text) { return input_error_of([&] { parse_json_object(text, "x.json", "a config"); }); };
  EXPECT_EQ(parse_json_object(R"({"a": 1})", "x.json", "a config").size(), 1U);
  EXPECT_TRUE(names(error(""), {"x.json", "a config", "truncated"}));
  EXPECT_TRUE(names(error(R"({"a": 1)"), {"x.json", "a config", "truncated", "byte 7"}));
  EXPECT_TRUE(names(error(R"({"a" 1})"), {"x.json", "a config", "byte 6"}));
  EXPECT_TRUE(names(error("[1]"), {"x.json", "a config", "array"}));
  EXPECT_TRUE(names(error(R"({"a": 1e999})"), {"x.json", "1.8e308"}));
  EXPECT_TRUE(names(error(R"({"a": )" + nested(32) + "}"), {"x.json", "nested", "32"}));
  EXPECT_TRUE(names(error("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"), {"x.json", "LFS"}));
}

/// Writes down what it receives.
class Recorder : public JsonWalker {
 public:
  std::string events{};

  void on_object() override { events += '{'; }
  void on_key(std::string_view key) override { append_to(events, concat(key, ':')); }
  void on_object_end() override { events += '}'; }
  void on_array() override { events += '['; }
  void on_array_end() override { events += ']'; }
  void on_text(std::string_view text) override { append_to(events, concat('\'', text, '\'')); }
  void on_number(std::optional<std::uint64_t> number) override { append_to(events, number ? concat('#', *number) : "#"); }
  void on_other() override { events += '?'; }
};

/// The events of a text, and the byte of its error.
std::pair<std::string, std::size_t> walked(std::string_view text, bool strict = true) {
  Recorder recorder;
  const std::size_t bad = walk_json(text, recorder, strict);
  return {recorder.events, bad};
}

TEST(WalkJson, HandsOverTheParts) {
  const std::string text = R"({"a": [1, -1, 0.5, 18446744073709551615], "a": {"b": "x"}, "c": [true, null]})";
  EXPECT_EQ(walked(text), (std::pair<std::string, std::size_t>("{a:[#1###18446744073709551615]a:{b:'x'}c:[??]}", 0)));
  const std::string deep = nested(1'000'000);
  EXPECT_EQ(walked(deep), std::pair(deep, std::size_t{0})) << "it does not recurse";
}

TEST(WalkJson, StopsAtTheFirstError) {
  const std::string text = R"({"a": [1, "x"], "b": null})";
  const std::string events = walked(text).first;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto [some, bad] = walked(text.substr(0, size));
    EXPECT_EQ(bad, size + 1) << size;
    EXPECT_TRUE(events.starts_with(some)) << some;
  }
  EXPECT_EQ(walked("[1]x").second, 4U);
  EXPECT_EQ(walked("[1]x", false).second, 0U);
  EXPECT_EQ(walked("{\"\xFF\": 1}").second, 3U);
  EXPECT_EQ(walked("[1e999]").first, "[");
  EXPECT_GT(walked("[1e999]").second, 0U);
}

TEST(JsonText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(json_text(json("a\xFF")), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(json_text(nlohmann::ordered_json{{"b", "\xFF"}}, 1), "{\n \"b\": \"\xEF\xBF\xBD\"\n}");
}

TEST(ShortText, IsShort) {
  EXPECT_EQ(short_text(json{{"a", 1}}), R"({"a":1})");
  EXPECT_EQ(short_text(json(std::string(58, 'x'))), '"' + std::string(58, 'x') + '"');
  EXPECT_EQ(short_text(json(std::string(59, 'x'))), '"' + std::string(59, 'x') + " ...");
  EXPECT_EQ(short_text(json(std::string(58, 'x') + "\xC3\xBC")), '"' + std::string(58, 'x') + " ...") << "characters stay whole";
  EXPECT_EQ(short_text(json::parse(nested(8))), nested(8));
  EXPECT_EQ(short_text(json::parse(nested(9))), "a JSON array");
  EXPECT_EQ(short_text(json::parse(R"({"a": )" + nested(200'000) + "}")), "a JSON object") << "the parser does not recurse, dump() does";
}

TEST(FindValue, TakesNullForMissing) {
  const json object = {{"a", nullptr}, {"b", 0}};
  EXPECT_EQ(find_value(object, "a"), nullptr);
  EXPECT_EQ(find_value(object, "c"), nullptr);
  EXPECT_EQ(*find_value(object, "b"), 0);
}

TEST(IsNothing, HoldsForEmptyValues) {
  for (const char* text : {"null", "false", "\"\"", "[]", "{}"}) {
    EXPECT_TRUE(is_nothing(json::parse(text))) << text;
  }
  for (const char* text : {"0", "true", "\"x\"", "[0]", R"({"a": null})"}) {
    EXPECT_FALSE(is_nothing(json::parse(text))) << text;
  }
}

}  // namespace
}  // namespace dikkat
