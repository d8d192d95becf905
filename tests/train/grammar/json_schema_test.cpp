#include "train/grammar/json_schema.h"

#include <algorithm>
#include <cmath>
#include <regex>

#include <nlohmann/json.hpp>

#include "tests/train/grammar/support.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using nlohmann::ordered_json;

std::shared_ptr<const TokenGrammar> grammar_of(std::string_view schema) {
  return over_bytes(json_schema(parse_json<ordered_json>(schema)));
}

void expect(std::string_view schema, const std::vector<std::string>& valid, const std::vector<std::string>& invalid) {
  const auto grammar = grammar_of(schema);
  for (const std::string& text : valid) {
    EXPECT_TRUE(grammar->matches(text)) << schema << ' ' << text;
  }
  for (const std::string& text : invalid) {
    EXPECT_FALSE(grammar->matches(text)) << schema << ' ' << text;
  }
}

/// The path of a refusal.
std::string path_refused(const ordered_json& schema) {
  try {
    json_schema(schema);
  } catch (const SchemaError& error) {
    if (!error.path().empty()) {
      EXPECT_TRUE(testing::names(error.what(), {error.path()}));
    }
    return error.path().empty() ? "(the schema)" : error.path();
  }
  return "";
}

std::string refused(std::string_view schema) { return path_refused(ordered_json::parse(schema)); }

TEST(JsonSchema, Types) {
  expect(R"({"type": "string"})", {R"("é\n")"}, {"1", "null"});
  expect(R"({"type": "integer"})", {"0", "-17"}, {"1.5", "1e3", "01"});
  expect(R"({"type": "number"})", {"0", "-1.5", "1e3"}, {"\"1\""});
  expect(R"({"type": "boolean"})", {"true", "false"}, {"null"});
  expect(R"({"type": "null"})", {"null"}, {"0"});
  expect(R"({"type": "object"})", {"{}", R"({"a": [1]})"}, {"[]"});
  expect(R"({"type": "array"})", {"[]", R"([1, {}])"}, {"{}"});
  expect(R"({"type": ["string", "null"]})", {"null", R"("")"}, {"0"});
  expect(R"({"type": "integer", "nullable": true})", {"null", "5"}, {"\"\""});
  expect(R"({"type": "string", "enum": ["a"], "nullable": true})", {R"("a")"}, {"null"});
  expect(R"({"type": "string", "enum": ["a", null], "nullable": true})", {R"("a")", "null"}, {});
  expect(R"({"allOf": [{"$ref": "#/$defs/a"}], "nullable": true, "$defs": {"a": {"type": "integer", "nullable": false}}})", {"null", "5"},
         {"\"\""});
  expect("{}", {"1", "{}", "[null]"}, {""});
  expect("true", {"1", "{}", "[null]"}, {""});
  expect(
      R"({"type": "string", "title": "t", "description": "d", "default": "", "examples": ["a"], "$comment": "", "x-order": 1, "minimum": 3})",
      {R"("a")"}, {"3"});
}

TEST(JsonSchema, Objects) {
  const char* schema =
      R"({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "b": {"type": "null"}}, "required": ["name"]})";
  expect(schema,
         {R"({"name": "a"})", R"({"name":"a","age":3})", R"({"name": "a", "age": 3, "b": null})", R"({"name": "a", "b": null})",
          "{\n  \"name\": \"a\",\n  \"age\": 3\n}"},
         {"{}", R"({"age": 3})", R"({"age": 3, "name": "a"})", R"({"name": "a", "c": 1})", R"({"name": 1})", R"({"name": "a",})",
          R"({"name": "a", "name": "a"})"});
  expect(R"({"properties": {"a": {"const": 1}, "b": {"const": 2}}})", {"{}", R"({"a": 1})", R"({"b": 2})", R"({"a": 1, "b": 2})"},
         {R"({, "b": 2})", "1"});
  expect(R"({"type": "object", "properties": {}})", {"{}"}, {R"({"a": 1})"});
  expect(R"({"type": "object", "additionalProperties": false})", {"{}"}, {R"({"a": 1})"});
  expect(R"({"type": "object", "additionalProperties": {"type": "integer"}})", {"{}", R"({"a": 1, "b": 2})"}, {R"({"a": "1"})"});
  expect(R"({"type": "object", "required": ["x"]})", {R"({"x": [1]})", R"({"x": 1, "y": 2})"},
         {"{}", R"({"y": 2})", R"({"x": 1, "x": 2})"});
  expect(R"({"type": "object", "properties": {"a\"b": {"type": "null"}}, "required": ["a\"b"]})", {R"({"a\"b": null})"}, {});
}

TEST(JsonSchema, AdditionalPropertiesHaveOtherNames) {
  expect(
      R"({"properties": {"ab": {"type": "null"}, "abc": {"type": "null"}, "é": {"type": "null"}}, "additionalProperties": {"type": "integer"}})",
      {"{}", R"({"ab": null, "x": 1})", R"({"a": 1})", R"({"abcd": 1, "b": 2, "": 3})",
       R"({"ab": null, "abc": null, "é": null, "éé": 1, "è": 2})"},
      {R"({"ab": 1})", R"({"abc": 1})", R"({"é": 1})", R"({"x": null})", R"({"x": 1, "ab": null})", R"({"\u0061b": 1})"});
}

TEST(JsonSchema, Lists) {
  expect(R"({"type": "array", "items": {"type": "integer"}})", {"[]", "[1]", "[1, 2,3]"}, {"[\"a\"]", "[1,]"});
  expect(R"({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3})", {"[1, 2]", "[1,2,3]"},
         {"[]", "[1]", "[1,2,3,4]"});
  expect(R"({"type": "array", "items": {"type": "integer"}, "maxItems": 1})", {"[]", "[1]"}, {"[1,2]"});
  expect(R"({"type": "array", "maxItems": 0})", {"[]"}, {"[1]"});
  expect(R"({"type": "array", "items": false})", {"[]"}, {"[1]"});
  expect(R"({"prefixItems": [{"type": "integer"}, {"type": "string"}]})", {"[]", "[1]", R"([1, "a"])"}, {R"([1, "a", 2])", R"(["a"])"});
  expect(R"({"prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "items": {"type": "null"}, "maxItems": 4})",
         {R"([1, "a"])", R"([1, "a", null, null])"}, {"[1]", R"([1, "a", null, null, null])", R"([1, "a", 1])"});
  expect(R"({"prefixItems": [{"type": "integer"}, {"type": "string"}], "maxItems": 1})", {"[]", "[1]"}, {R"([1, "a"])"});
  expect(
      R"({"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "array", "maxItems": 500}, "maxItems": 500}, "maxItems": 500}, "maxItems": 500}, "maxItems": 500})",
      {"[[[[[1]]]]]"}, {"[[[[1]]]]"});
}

TEST(JsonSchema, Strings) {
  expect(R"({"type": "string", "minLength": 2, "maxLength": 3})", {R"("ab")", R"("éé😀")"}, {R"("a")", R"("abcd")"});
  expect(R"({"type": "string", "maxLength": 65536})", {R"("")", concat('"', std::string(65536, 'x'), '"')},
         {concat('"', std::string(65537, 'x'), '"')});
  expect(R"({"type": "string", "pattern": "^[a-z\\n\"]+$", "minLength": 2, "maxLength": 3})", {R"("a\n")", R"("ab\"")"},
         {R"("a")", R"("\n")", R"("abcd")", R"("aB")"});
  expect(R"({"type": "string", "allOf": [{"pattern": "a"}, {"pattern": "b"}]})", {R"("ab")", R"("xbya")"}, {R"("a")", R"("b")"});
  expect(R"({"type": "string", "format": "starts_with", "pattern": "^ab.*"})", {R"("ab")", R"("abc")"}, {R"("a")"});
  expect(R"({"type": "string", "format": "date-time", "pattern": "Z$"})", {R"("2026-02-28T23:59:59Z")"},
         {R"("2026-02-28T23:59:59+01:00")", R"("Z")"});
  expect(R"({"type": "string", "format": "hostname", "maxLength": 4})", {R"("a.bc")"}, {R"("a.bcd")", R"("a..b")"});
  expect(R"({"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083})",
         {R"("https://a.example/b%20c?d=%C3%A9#e/f")", R"("http://a.example#")"},
         {R"("https://a.example/b%2")", R"("https://a.example/b c")"});
  expect(R"({"type": "string", "format": "ipv6"})", {R"("::1")", R"("2001:db8::ff00:42:8329")", R"("::")"},
         {R"("1::2::3")", R"("12345::")"});
  expect(R"({"type": "string", "format": "uuid4"})", {R"("123e4567-e89b-42d3-a456-426614174000")"},
         {R"("123e4567-e89b-12d3-a456-426614174000")"});
  expect(R"({"type": "string", "pattern": "^[a-z]+\"?$"})", {R"("abc")", R"("abc\"")"}, {R"("")", R"("abc"")", R"("A")"});
  expect(R"({"pattern": "b"})", {R"("abc")", R"("\n\"b")"}, {R"("ac")", R"("\u0062")"});
  expect(R"({"type": "string", "format": "date"})", {R"("2026-02-28")", R"("2026-11-30")"},
         {R"("2026-11-31")", R"("2026-02-30")", R"("2026-13-01")"});
  expect(R"({"type": "string", "format": "date-time"})", {R"("2026-02-28T23:59:59Z")", R"("2026-02-28T00:00:00.5+01:00")"},
         {R"("2026-02-28")", R"("2026-02-28T24:00:00Z")"});
  expect(R"({"type": "string", "format": "uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567")"});
  expect(R"({"type": "string", "format": "ipv4"})", {R"("255.0.10.199")"}, {R"("256.0.0.1")", R"("1.2.3")"});
  expect(R"({"type": "string", "format": "email"})", {R"("a.b+c@d-e.org")"}, {R"("a@b")", R"("a b@c.de")"});
  expect(R"({"type": "string", "format": "uri"})", {R"("https://a.example/b?c=d")"}, {R"("a.example")"});
  expect(R"({"type": "integer", "format": "int32"})", {"1"}, {"\"1\""});
}

TEST(JsonSchema, NumbersBetweenBounds) {
  expect(R"({"type": "integer", "minimum": 0, "maximum": 120})", {"0", "9", "120"}, {"-1", "121", "01", "5.0"});
  expect(R"({"type": "integer", "exclusiveMinimum": 0})", {"1", "1000"}, {"0", "-1"});
  expect(R"({"type": "integer", "minimum": 3, "exclusiveMinimum": 3, "maximum": 9, "exclusiveMaximum": 8})", {"4", "7"}, {"3", "8"});
  expect(R"({"type": "number", "minimum": 0, "maximum": 1})", {"0", "0.25", "1", "1.0"}, {"1.01", "-0.5", "2"});
  expect(R"({"type": "number", "minimum": 0.5, "exclusiveMaximum": 2})", {"0.5", "1", "1.999999"}, {"0.49", "2", "2.0"});
  expect(R"({"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991})", {"9007199254740991", "-1", "0"},
         {"9007199254740992", "-9007199254740992"});
  expect(R"({"type": "number", "minimum": -3.4028234663852886e+38, "maximum": 3.4028234663852886e+38})", {"0.5", "-17"}, {"1e39"});
  expect(R"({"type": "integer"})", {"123456789012345678", "-340282366920938463463374607431768211455"}, {});
  expect(R"({"type": "integer", "minimum": 0.5, "maximum": 1e30})", {"1", "1000000000000000000000000000000"},
         {"0", "1000000000000000000000000000001"});
  expect(R"({"type": "integer", "maximum": 18446744073709551617})", {"18446744073709551617"}, {"18446744073709551618"});
}

TEST(JsonSchema, Values) {
  expect(R"({"enum": ["a", "b\"", 3, null, [1, 2], {"x": 1}]})", {R"("a")", R"("b\"")", "3", "null", "[1, 2]", "[1,2]", R"({"x": 1})"},
         {"4", R"("c")", "[1]"});
  expect(R"({"const": "only"})", {R"("only")"}, {R"("onl")"});
  expect(R"({"const": "a", "enum": ["a", "b"], "type": "string"})", {R"("a")"}, {R"("b")"});
  expect(R"({"allOf": [{"enum": [1, 2, {"a": 1, "b": 2}]}, {"enum": [2.0, 3, {"b": 2, "a": 1}]}]})", {"2.0", R"({"b": 2, "a": 1})"},
         {"1", "3"});
  expect(R"({"enum": [18446744073709551617, -9223372036854775809]})", {"18446744073709551617", "-9223372036854775809"},
         {"18446744073709551616", "-9223372036854775808"});
  expect(R"({"type": "string", "enum": ["a", 1]})", {R"("a")"}, {"1"});
}

TEST(JsonSchema, Choices) {
  expect(R"({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null, "title": "t"})", {"1", "null"}, {"true"});
  expect(R"({"allOf": [{"type": "integer"}]})", {"1"}, {"true"});
  expect(R"({"type": "object", "anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}]})",
         {"{}", R"({"a": 1})", R"({"b": 2})"}, {"1", R"({"a": 1, "b": 2})"});
  expect(
      R"({"allOf": [{"properties": {"a": {"type": "number"}}, "required": ["a"]}, {"properties": {"b": {"const": 2}, "a": {"minimum": 3}}},
                       {"anyOf": [{"required": ["c"], "properties": {"c": {}}}, {"properties": {"d": {}}}]}]})",
      {R"({"a": 3, "b": 2, "c": 1})", R"({"a": 4.5, "d": null})", R"({"a": 3})"}, {R"({"a": 2})", R"({"b": 2})", R"({"a": 3, "b": 3})"});
  expect(R"({"allOf": [{"properties": {"a": {}}, "additionalProperties": false}, {"properties": {"a": {"const": 1}, "b": {}}}]})",
         {"{}", R"({"a": 1})"}, {R"({"b": 1})", R"({"a": 2})"});
  expect(
      R"({"allOf": [{"items": {"type": "integer"}, "minItems": 1}, {"prefixItems": [{"minimum": 3}], "items": {"maximum": 9}, "maxItems": 2}]})",
      {"[3]", "[17, 9]"}, {"[]", "[2]", "[3, 10]", "[3, 4, 5]"});
  expect(R"({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}], "description": "d", "discriminator": {"propertyName": "a"}})",
         {R"("a")", "null"}, {R"("ab")"});
  expect(R"({"oneOf": [{"type": "integer"}, {"type": "string"}]})", {"1", R"("a")"}, {"true"});
  expect(R"({"oneOf": [{"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind", "x"]},
                       {"properties": {"kind": {"enum": ["b", "c"]}, "y": {"type": "string"}}, "required": ["kind", "y"]}]})",
         {R"({"kind": "a", "x": 1})", R"({"kind": "c", "y": ""})"}, {R"({"kind": "a", "y": ""})"});
  expect(R"({"oneOf": [{"const": 1}, {"enum": [2, 3]}]})", {"1", "3"}, {"4"});
  expect(R"({"oneOf": [{"properties": {"a": {}}, "required": ["a"], "additionalProperties": false},
                       {"properties": {"b": {}}, "required": ["b"], "additionalProperties": false}]})",
         {R"({"a": 1})", R"({"b": 1})"}, {"{}", R"({"a": 1, "b": 1})"});
  expect(
      R"({"oneOf": [{"type": "object", "properties": {"a": {"type": "object", "properties": {"k": {"const": 1}}, "required": ["k"]}}, "required": ["a"]},
                       {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}]})",
      {R"({"a": {"k": 1}})", R"({"a": ""})"}, {R"({"a": 1})"});
}

TEST(JsonSchema, References) {
  expect(
      R"({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/definitions/b"}}}, "definitions": {"b": {"type": "integer"}}})",
      {"[1,2]"}, {"1"});
  expect(
      R"({"type": "object", "properties": {"value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["value", "next"]})",
      {R"({"value": 1, "next": null})", R"({"value": 1, "next": {"value": 2, "next": {"value": 3, "next": null}}})"},
      {R"({"value": 1})", R"({"value": 1, "next": 2})"});
  expect(
      R"({"$defs": {"tree/x": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree~1x"}, "right": {"$ref": "#/$defs/tree%2Fx"}}}}, "$ref": "#/$defs/tree~1x"})",
      {"{}", R"({"left": {"right": {}}, "right": {"left": {}}})"}, {R"({"left": 1})"});
}

TEST(JsonSchema, ReferencesBelowAnIdBeginThere) {
  expect(
      R"({"properties": {"a": {"$id": "inner", "type": "object", "properties": {"b": {"$ref": "#/$defs/c"}}, "$defs": {"c": {"const": "inner"}}}},
             "$defs": {"c": {"const": "outer"}}})",
      {R"({"a": {"b": "inner"}})"}, {R"({"a": {"b": "outer"}})"});
  expect(R"({"properties": {"a": {"$ref": "#/$defs/x/$defs/y"}},
             "$defs": {"c": {"const": 1}, "x": {"$id": "x", "$defs": {"c": {"const": 2}, "y": {"items": {"$ref": "#/$defs/c"}}}}}})",
         {R"({"a": [2]})"}, {R"({"a": [1]})"});
}

TEST(JsonSchema, FalseMatchesNothing) {
  expect(R"({"properties": {"a": false, "b": {"not": {}}, "c": {"const": 1}}})", {"{}", R"({"c": 1})"}, {R"({"a": 1})", R"({"b": 1})"});
  expect(R"({"anyOf": [false, {"type": "integer"}]})", {"1"}, {"null"});
  expect(R"({"prefixItems": [{"const": 1}, false], "items": {"const": 2}})", {"[]", "[1]"}, {"[1, 2]"});
  expect(R"({"type": "array", "items": {"allOf": [{"type": "string"}, {"type": "null"}]}})", {"[]"}, {"[null]"});
  expect(R"({"type": "object", "additionalProperties": {"type": "string", "allOf": [{"type": "null"}]}})", {"{}"}, {R"({"a": ""})"});
}

TEST(JsonSchema, NamesOfProperties) {
  expect(R"({"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {"const": 1}})", {"{}", R"({"é\n": 1})"},
         {R"({"a": 2})"});
  expect(R"({"type": "object", "propertyNames": {"enum": ["a", "b\""]}, "additionalProperties": {"const": 1}, "required": ["b\""]})",
         {R"({"a": 1, "b\"": 1})", R"({"b\"": 1})"}, {"{}", R"({"a": 1})", R"({"b\"": 1, "c": 1})"});
  expect(R"({"type": "object", "propertyNames": {"pattern": "^a+$", "maxLength": 3}, "properties": {"aa": {"const": 2}, "b": {}},
             "additionalProperties": {"const": 1}})",
         {"{}", R"({"aa": 2, "a": 1, "aaa": 1})"}, {R"({"aa": 1})", R"({"b": 1})", R"({"aaaa": 1})"});
  expect(R"({"type": "object", "minProperties": 1, "additionalProperties": {"const": 1}})", {R"({"a": 1})"}, {"{}", "{ }"});
  expect(R"({"properties": {"a": {}, "b": {}}, "minProperties": 1, "maxProperties": 2})", {R"({"b": 1})"}, {"{}", "{ }"});
  // Names that JSON writes with escapes.
  expect(R"({"properties": {"a\"b": {"type": "null"}, "\\": {"type": "null"}, "\n": {"type": "null"}, "a": {"type": "null"}},
             "additionalProperties": {"type": "integer"}})",
         {R"({"a\"b": null, "x": 1})", R"({"\\": null, "\n": null, "a\"": 2, "\n\n": 3})"},
         {R"({"a\"b": 1})", R"({"a"b": 1})", R"({"\\": 1})", R"({"\n": 1})", "{\"\n\": 1}", R"({"a": 1})", R"({"\u000a": 1})"});
}

TEST(JsonSchema, TuplesOfDraft7) {
  expect(R"({"type": "array", "items": [{"type": "integer"}, {"type": "string"}], "additionalItems": false, "minItems": 2})",
         {R"([1, "a"])"}, {"[1]", R"([1, "a", 1])"});
  expect(R"({"items": [{"type": "integer"}], "additionalItems": {"type": "null"}})", {"[1, null, null]", "[]"}, {"[1, 1]"});
  expect(R"({"items": {"type": "integer"}, "additionalItems": false})", {"[1, 2, 3]"}, {"[null]"});
}

TEST(JsonSchema, WhatIsTooLargeIsRefusedAtOnce) {
  // Each would take gigabytes if all of it were read first.
  ordered_json names = {{"type", "object"}, {"properties", ordered_json::object()}, {"additionalProperties", {{"type", "string"}}}};
  for (int i = 0; i < 1000; ++i) {
    names["properties"][concat(std::string(250, 'x'), i)] = ordered_json::object();
  }
  EXPECT_TRUE(refused(names.dump()).starts_with("properties.xxx"));
  ordered_json patterns = {{"type", "object"}, {"properties", ordered_json::object()}};
  for (int i = 0; i < 60; ++i) {
    patterns["properties"][concat("p", i)] = {{"type", "string"}, {"pattern", concat(i, std::string(9'800, '.'))}};
  }
  EXPECT_TRUE(refused(patterns.dump()).ends_with(".pattern"));
  ordered_json items = {{"prefixItems", ordered_json::array()}};
  for (int i = 0; i < 1001; ++i) {
    items["prefixItems"].push_back(true);
  }
  EXPECT_EQ(refused(items.dump()), "prefixItems");
  // Each level doubles the schemas that must hold, or the ways.
  ordered_json doubling = {{"$ref", "#/$defs/a0"}, {"$defs", ordered_json::object()}};
  for (int i = 0; i < 40; ++i) {
    const ordered_json next = {{"$ref", concat("#/$defs/a", i + 1)}};
    doubling["$defs"][concat("a", i)] = {{"allOf", {next, next}}};
  }
  doubling["$defs"]["a40"] = {{"type", "string"}};
  EXPECT_NE(refused(doubling.dump()), "");
  ordered_json choices = ordered_json::object();
  choices["allOf"] = ordered_json::array();
  for (int i = 0; i < 50; ++i) {
    choices["allOf"].push_back({{"anyOf", {{{"minLength", i}}, {{"maxLength", 100 + i}}}}});
  }
  EXPECT_NE(refused(choices.dump()), "");
  // Small results of much work.
  ordered_json work = {{"type", "object"}, {"properties", ordered_json::object()}};
  for (int i = 0; i < 2000; ++i) {
    work["properties"][concat("p", i)] = {{"type", "string"}, {"pattern", concat("^(?!.*a.{11}b)[ab", i, "]{0,3}$")}};
  }
  EXPECT_EQ(refused(work.dump()), "") << "only its automaton needs the work";
  input_error_of([&] { over_bytes(json_schema(work)); });
  for (auto& [name, property] : work["properties"].items()) {
    property["maxLength"] = 2;
  }
  EXPECT_NE(refused(work.dump()), "");
  // Work can be ended, and several schemas have one limit.
  EXPECT_THROW(json_schema(names, {.on_progress = [] { throw std::runtime_error("enough"); }}), std::runtime_error);
  SchemaEffort effort{.states = 99'990};
  EXPECT_THROW(json_schema(ordered_json::parse(R"({"properties": {"a long name": {}}})"), {.effort = &effort}), SchemaError);
}

/// What $ref leads to is read again for each property. Few states are needed, or none, so that only the work can be limited.
TEST(JsonSchema, WhatTakesTooMuchWorkIsRefusedAtOnce) {
  constexpr int kProperties = 1000, kMany = 2000;
  const auto read_often = [](const ordered_json& definition, const ordered_json& beside) {
    ordered_json schema = {{"$defs", {{"d", definition}}}, {"type", "object"}, {"properties", ordered_json::object()}};
    for (int i = 0; i < kProperties; ++i) {
      schema["properties"][concat("p", i)] = {{"allOf", {{{"$ref", "#/$defs/d"}}, beside}}};
    }
    return path_refused(schema);
  };
  ordered_json values = ordered_json::array(), names = ordered_json::array(), types = ordered_json::array();
  ordered_json annotated = {{"type", "string"}}, nothing = ordered_json::array();
  for (int i = 0; i < kMany; ++i) {
    values.push_back(concat("value ", i));
    names.push_back("a");
    types.push_back("string");
    nothing.push_back(false);
    annotated[concat("x-", i)] = 0;
  }
  EXPECT_NE(read_often({{"enum", values}}, {{"type", "integer"}}), "");
  EXPECT_NE(read_often({{"enum", {std::string(100'000, 'x'), 1}}}, {{"type", "integer"}}), "");
  EXPECT_NE(read_often({{"const", values}}, {{"type", "array"}}), "");
  EXPECT_NE(read_often({{"properties", {{"a", {{"type", "null"}}}}}, {"required", names}}, {{"type", "object"}}), "");
  EXPECT_NE(read_often({{"type", types}}, {{"minLength", 1}}), "");
  EXPECT_NE(read_often({{"anyOf", nothing}}, {{"type", "null"}}), "");
  EXPECT_NE(read_often(annotated, {{"minLength", 1}}), "");
  EXPECT_NE(read_often({{"oneOf", {{{"enum", values}}, {{"type", "null"}}}}}, {{"type", "null"}}), "");
  // Long names are part of each path below them.
  ordered_json long_name = {{"properties", {{std::string(90'000, 'x'), {{"anyOf", ordered_json::array()}}}}}};
  for (int i = 0; i < kMany; ++i) {
    long_name["properties"].front()["anyOf"].push_back({{"type", "string"}, {"maxLength", i}});
  }
  EXPECT_LT(path_refused(long_name).size(), 300);
  // References within one another use the stack.
  ordered_json chain = {{"$ref", "#/$defs/d0"}, {"$defs", ordered_json::object()}};
  for (int i = 0; i < 1'000; ++i) {
    chain["$defs"][concat("d", i)] = {{"$ref", concat("#/$defs/d", i + 1)}};
  }
  EXPECT_NE(path_refused(chain), "");
  // The bounds of numbers need states of their own.
  ordered_json numbers = {{"type", "object"}, {"properties", ordered_json::object()}};
  for (int i = 0; i < kMany; ++i) {
    numbers["properties"][concat("p", i)] = {{"type", "number"}, {"minimum", -12345678.12345 - i}, {"maximum", 98765432.54321 + i}};
  }
  EXPECT_TRUE(path_refused(numbers).starts_with("properties.p"));
}

TEST(JsonSchema, TheLargestPartIsNamed) {
  const ordered_json schema = ordered_json::parse(
      R"({"properties": {"a": {"type": "string"}, "b": {"type": "object", "properties": {"c": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]{3,9000}$"}, "maxItems": 20}}}}})");
  EXPECT_EQ(refused(schema.dump()), "");
  const Grammar items = json_schema(schema, {.name = "tools.f.parameters"});
  over_bytes(items);
  ordered_json large = schema;
  large["properties"]["b"]["properties"]["c"] = {{"prefixItems", ordered_json::array()}};
  for (int i = 0; i < 110; ++i) {
    large["properties"]["b"]["properties"]["c"]["prefixItems"].push_back(
        {{"type", "string"}, {"pattern", concat("^([a-z]", 100 + i, "){250}$")}});
  }
  try {
    over_bytes(json_schema(large, {.name = "tools.f.parameters"}));
    ADD_FAILURE();
  } catch (const GrammarTooLarge& error) {
    EXPECT_EQ(error.name(), "tools.f.parameters.properties.b.properties.c");
  }
}

TEST(JsonSchema, RefusesByPath) {
  const std::pair<const char*, const char*> cases[] = {
      {"7", "(the schema)"},
      {"false", "(the schema)"},
      {R"({"not": {}})", "(the schema)"},
      {R"({"not": {"type": "string"}})", "not"},
      {R"({"type": "float"})", "type"},
      {R"({"type": []})", "type"},
      {R"({"properties": {"a": {"multipleOf": 3}}})", "properties.a.multipleOf"},
      {R"({"properties": {"a": {"properties": {"b": {"type": "strin"}}}}})", "properties.a.properties.b.type"},
      {R"({"anyOf": [{}, {"if": {}}]})", "anyOf[1].if"},
      {R"({"anyOf": []})", "anyOf"},
      {R"({"anyOf": [{"type": "integer"}], "type": "string"})", "(the schema)"},
      {R"({"allOf": [{"type": "string"}, {"if": {}}]})", "allOf[1].if"},
      {R"({"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"a": {"type": "null"}}}]})",
       "allOf[0].properties.a"},
      {R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})", "oneOf"},
      {R"({"oneOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"a": {"const": 2}}}]})", "oneOf"},
      {R"({"oneOf": [{"minLength": 2}, {"minimum": 2}]})", "oneOf"},
      {R"({"oneOf": [{"maxItems": 2}, {"type": "string"}]})", "oneOf"},
      {R"({"type": ["string", "object"], "oneOf": [{"properties": {"k": {"const": 1}}, "required": ["k"]},
                                                  {"properties": {"k": {"const": 2}}, "required": ["k"]}]})",
       "oneOf"},
      {R"({"properties": {"b": {}}, "oneOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]})",
       "oneOf"},
      {R"({"oneOf": [{"enum": 3}, {"type": "null"}]})", "oneOf[0].enum"},
      {R"({"oneOf": [{"$ref": "#/$defs/a"}, {"type": "null"}], "$defs": {"a": {"enum": 3, "required": 1, "properties": []}}})",
       "$defs.a.enum"},
      {R"({"oneOf": [{"$ref": 3}, {"type": "null"}]})", "oneOf[0].$ref"},
      {R"({"$ref": "#/$defs/none"})", "$ref"},
      {R"({"$ref": "https://example.com/schema"})", "$ref"},
      {R"({"$ref": 3})", "$ref"},
      {R"({"$ref": "#"})", "$ref"},
      {R"({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}})", "$defs.a.allOf[0].$ref"},
      {R"({"$ref": "#/$defs/a", "$defs": {"a": {"uniqueItems": true}}})", "$defs.a.uniqueItems"},
      {R"({"properties": {"a": {"$id": "x", "properties": {"b": {"$ref": "#/$defs/c"}}}}, "$defs": {"c": {}}})",
       "properties.a.properties.b.$ref"},
      {R"({"enum": []})", "enum"},
      {R"({"enum": 3})", "enum"},
      {R"({"type": "integer", "const": "a"})", "const"},
      {R"({"minLength": 3, "minItems": 3})", "(the schema)"},
      {R"({"type": "string", "minLength": -1})", "minLength"},
      {R"({"type": "string", "minLength": 2.5})", "minLength"},
      {R"({"type": "string", "minLength": 3, "maxLength": 2})", "minLength"},
      {R"({"type": "string", "maxLength": 1000000000})", "maxLength"},
      {R"({"type": "string", "pattern": "^\\bb"})", "pattern"},
      {R"({"type": "string", "pattern": 1})", "pattern"},
      {R"({"type": "string", "pattern": "^a$", "minLength": 3})", "(the schema)"},
      {R"({"type": "string", "pattern": "a", "format": "date"})", "(the schema)"},
      {R"({"type": "string", "pattern": "^(a|b)*c", "maxLength": 99999})", "(the schema)"},
      {R"({"type": "string", "format": "idn-email"})", "format"},
      {R"({"type": "string", "pattern": "a", "format": "idn-email"})", "format"},
      {R"({"type": "string", "format": "own-name"})", "format"},
      {R"({"type": "integer", "minimum": "1"})", "minimum"},
      {R"({"type": "number", "exclusiveMinimum": 1234567890.5})", "(the schema)"},
      {R"({"type": "integer", "minimum": 0, "exclusiveMinimum": true})", "exclusiveMinimum"},
      {R"({"type": "integer", "minimum": 3, "maximum": 2})", "(the schema)"},
      {R"({"type": "array", "items": [{}], "prefixItems": [{}]})", "items"},
      {R"({"type": "array", "prefixItems": {"type": "string"}})", "prefixItems"},
      {R"({"type": "array", "items": false, "minItems": 1})", "minItems"},
      {R"({"type": "array", "minItems": 3, "maxItems": 2})", "minItems"},
      {R"({"prefixItems": [{}], "minItems": 2})", "minItems"},
      {R"({"properties": []})", "properties"},
      {R"({"required": "a"})", "required"},
      {R"({"properties": {"a": {}}, "required": ["b"]})", "required"},
      {R"({"patternProperties": {}})", "patternProperties"},
      {R"({"type": "object", "minProperties": 2})", "minProperties"},
      {R"({"type": "object", "maxProperties": 2})", "maxProperties"},
      {R"({"properties": {"a": {}, "b": {}}, "maxProperties": 1})", "maxProperties"},
      {R"({"properties": {"a": false}, "required": ["a"]})", "properties.a"},
      {R"({"properties": {"a": {"type": "string"}}, "required": ["a"], "propertyNames": {"enum": ["b"]}})", "properties.a"},
      {R"({"propertyNames": {"minimum": true, "anyOf": [{}]}, "type": "object"})", "propertyNames.anyOf"},
      {R"({"enum": ["a", "b"], "minLength": 1})", "minLength"},
      {R"({"nullable": 1})", "nullable"},
      {R"({"additionalProperties": 3})", "additionalProperties"},
  };
  for (const auto& [schema, path] : cases) {
    EXPECT_EQ(refused(schema), path) << schema;
  }
  // Much to compare, which must not take long.
  ordered_json values = ordered_json::array(), schemas = ordered_json::array(), properties = ordered_json::object(),
               required = ordered_json::array();
  for (int i = 0; i < 3000; ++i) {
    values.push_back(i);
    schemas.push_back({{"const", i}});
    properties[concat("p", i)] = {{"const", i}};
    required.push_back(concat("p", i));
  }
  EXPECT_EQ(refused(ordered_json{{"oneOf", schemas}}.dump()), "") << "different values, however many";
  schemas.push_back({{"enum", {-1, 17.0}}});
  EXPECT_EQ(refused(ordered_json{{"oneOf", schemas}}.dump()), "oneOf");
  EXPECT_EQ(refused(ordered_json{{"oneOf", {{{"enum", values}}, {{"enum", values}}}}}.dump()), "oneOf");
  const ordered_json wide = {{"type", "object"}, {"properties", properties}, {"required", required}};
  EXPECT_EQ(refused(ordered_json{{"oneOf", {wide, wide}}}.dump()), "oneOf");
  EXPECT_EQ(refused(wide.dump()), "");
  std::string deep = "{}";
  for (int i = 0; i < 90; ++i) {
    deep = concat(R"({"items": )", deep, "}");
  }
  EXPECT_NE(refused(deep), "");
  // No end, and a circle without any text: only the automaton finds these.
  input_error_of([] { grammar_of(R"({"properties": {"a": {"$ref": "#"}}, "required": ["a"]})"); });
  input_error_of([] { grammar_of(R"({"$ref": "#"})"); });
  input_error_of([] {
    grammar_of(
        R"({"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "integer"}]}}})");
  });
}

// An independent check of values, for the keywords that random_schema() uses.

bool is_type(const ordered_json& value, const std::string& type) {
  return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) || (type == "string" && value.is_string()) ||
         (type == "null" && value.is_null()) || (type == "boolean" && value.is_boolean()) || (type == "number" && value.is_number()) ||
         (type == "integer" && value.is_number() && value.get<double>() == std::floor(value.get<double>()));
}

index length_of(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

bool is_valid(const ordered_json& schema, const ordered_json& value, const ordered_json& root) {
  const auto has = [&](const char* name) { return schema.contains(name); };
  if (schema.is_boolean()) {
    return schema.get<bool>();
  }
  if (has("$ref")) {
    const std::string pointer = schema["$ref"];
    return is_valid(pointer == "#" ? root : root.at(ordered_json::json_pointer(pointer.substr(1))), value, root);
  }
  if (has("anyOf")) {
    return std::ranges::any_of(schema["anyOf"], [&](const ordered_json& one) { return is_valid(one, value, root); });
  }
  if (has("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end()) {
    return false;
  }
  if (has("type")) {
    const ordered_json types = schema["type"].is_array() ? schema["type"] : ordered_json::array({schema["type"]});
    if (std::ranges::none_of(types, [&](const ordered_json& type) { return is_type(value, type); })) {
      return false;
    }
  }
  if (value.is_object()) {
    for (const ordered_json& name : has("required") ? schema["required"] : ordered_json::array()) {
      if (!value.contains(name.get<std::string>())) {
        return false;
      }
    }
    for (const auto& [name, field] : value.items()) {
      const bool is_known = has("properties") && schema["properties"].contains(name);
      const ordered_json part = is_known                      ? schema["properties"][name]
                                : has("additionalProperties") ? schema["additionalProperties"]
                                                              : ordered_json(true);
      if (!is_valid(part, field, root)) {
        return false;
      }
    }
  }
  if (value.is_array()) {
    const auto size = value.size();
    if ((has("minItems") && size < schema["minItems"]) || (has("maxItems") && size > schema["maxItems"])) {
      return false;
    }
    for (const ordered_json& item : value) {
      if (has("items") && !is_valid(schema["items"], item, root)) {
        return false;
      }
    }
  }
  if (value.is_string()) {
    const std::string text = value;
    if ((has("minLength") && length_of(text) < schema["minLength"]) || (has("maxLength") && length_of(text) > schema["maxLength"]) ||
        (has("pattern") && !std::regex_search(text, std::regex(schema["pattern"].get<std::string>())))) {
      return false;
    }
  }
  if (value.is_number()) {
    const double number = value;
    if ((has("minimum") && number < schema["minimum"]) || (has("maximum") && number > schema["maximum"]) ||
        (has("exclusiveMinimum") && number <= schema["exclusiveMinimum"]) ||
        (has("exclusiveMaximum") && number >= schema["exclusiveMaximum"])) {
      return false;
    }
  }
  return true;
}

/// A random schema, and random values that are valid under it and within the limits of the grammar.
class RandomSchemas {
 public:
  explicit RandomSchemas(std::uint64_t seed) : dice_(seed) {}

  ordered_json root() {
    ordered_json schema = one(0);
    if (schema.is_boolean()) {
      schema = ordered_json::object();
    }
    schema["$defs"] = {{"n",
                        {{"type", "object"},
                         {"properties", {{"v", {{"type", "integer"}}}, {"n", {{"anyOf", {{{"$ref", "#/$defs/n"}}, {{"type", "null"}}}}}}}},
                         {"required", {"v"}},
                         {"additionalProperties", false}}}};
    return schema;
  }

  ordered_json value(const ordered_json& schema, const ordered_json& root, int level = 0) {
    const auto count = [&](const char* name, index by_default) { return schema.contains(name) ? schema[name].get<index>() : by_default; };
    if (schema.contains("$ref")) {
      return value(root.at(ordered_json::json_pointer(schema["$ref"].get<std::string>().substr(1))), root, level + 1);
    }
    if (schema.contains("anyOf")) {
      return value(level > 4 ? schema["anyOf"].back() : pick(schema["anyOf"]), root, level);
    }
    if (schema.contains("enum")) {
      return pick(schema["enum"]);
    }
    if (!schema.contains("type")) {
      return pick(ordered_json::array({1, "x", nullptr, ordered_json::array({1, ordered_json::object()}), {{"k", 2.5}}}));
    }
    const std::string type = schema["type"].is_array() ? pick(schema["type"]).get<std::string>() : schema["type"].get<std::string>();
    if (type == "object") {
      ordered_json object = ordered_json::object();
      for (const auto& [name, part] : schema["properties"].items()) {
        if (dice_.coin() ||
            (schema.contains("required") && std::ranges::find(schema["required"], ordered_json(name)) != schema["required"].end())) {
          object[name] = value(part, root, level + 1);
        }
      }
      if (schema["additionalProperties"] != ordered_json(false)) {
        for (index i = dice_.roll(3); i > 0; --i) {
          object[concat("extra", i)] = value(schema["additionalProperties"], root, level + 1);
        }
      }
      return object;
    }
    if (type == "array") {
      ordered_json list = ordered_json::array();
      const index least = count("minItems", 0);
      for (index i = least + dice_.roll(count("maxItems", least + 2) - least + 1); i > 0; --i) {
        list.push_back(value(schema["items"], root, level + 1));
      }
      return list;
    }
    if (type == "string") {
      if (schema.contains("pattern")) {
        return pick(ordered_json::array({"ab-1", "zz-99", "q-5"}));
      }
      std::string text;
      const index least = count("minLength", 0);
      for (index i = least + dice_.roll(count("maxLength", least + 3) - least + 1); i > 0; --i) {
        text += pick(ordered_json::array({"a", "\"", "\\", "\n", "é", "😀", " ", "/", "\u0001"})).get<std::string>();
      }
      return text;
    }
    if (type == "integer" || type == "number") {
      const index low = count("minimum", -50), high = count("maximum", 50);
      return low + dice_.roll(high - low + 1);
    }
    return type == "boolean" ? ordered_json(dice_.coin()) : ordered_json(nullptr);
  }

 private:
  ordered_json pick(const ordered_json& list) { return list[static_cast<std::size_t>(dice_.roll(std::ssize(list)))]; }

  ordered_json one(int level) {
    switch (dice_.roll(level > 2 ? 6 : 10)) {
      case 0: {
        ordered_json schema = {{"type", "string"}};
        if (dice_.coin()) {
          schema["minLength"] = dice_.roll(3);
          schema["maxLength"] = 2 + dice_.roll(4);
        } else if (dice_.coin()) {
          schema["pattern"] = "^[a-z]+-[0-9]{1,2}$";
        }
        return schema;
      }
      case 1: {
        ordered_json schema = {{"type", dice_.coin() ? "integer" : "number"}};
        if (dice_.coin()) {
          schema["minimum"] = -dice_.roll(40);
          schema["maximum"] = dice_.roll(120);
        }
        return schema;
      }
      case 2: return {{"type", {"boolean", "null"}}};
      case 3: return {{"enum", {"red", "green", 3, nullptr, ordered_json::array({1, 2}), {{"a", "b"}}}}};
      case 4: return {{"$ref", "#/$defs/n"}};
      case 5: return dice_.coin() ? ordered_json::object() : ordered_json{{"type", "boolean"}};
      case 6: return {{"anyOf", {one(level + 1), one(level + 1), {{"type", "null"}}}}};
      case 7: {
        ordered_json schema = {{"type", "array"}, {"items", one(level + 1)}};
        if (dice_.coin()) {
          schema["minItems"] = dice_.roll(3);
          schema["maxItems"] = 2 + dice_.roll(2);
        }
        return schema;
      }
      default: {
        ordered_json schema = {{"type", "object"},
                               {"properties", ordered_json::object()},
                               {"required", ordered_json::array()},
                               {"additionalProperties", false}};
        for (index i = dice_.roll(4); i > 0; --i) {
          const std::string name = pick(ordered_json::array({"id", "name", "na", "é", "a b", "x\"y"}));
          schema["properties"][name] = one(level + 1);
          if (dice_.coin()) {
            schema["required"].push_back(name);
          }
        }
        if (dice_.roll(3) == 0) {
          schema["additionalProperties"] = one(level + 1);
        }
        return schema;
      }
    }
  }

  Dice dice_;
};

TEST(JsonSchema, RandomWalksAreValidAndValidTextsMatch) {
  int walks = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomSchemas schemas(seed);
    const ordered_json schema = schemas.root();
    const auto grammar = over_bytes(json_schema(schema));
    Dice dice(seed);
    for (int i = 0; i < 4; ++i) {
      const auto [text, is_complete] = random_walk(*grammar, *byte_trie(), dice, 1500);
      if (is_complete) {
        ++walks;
        ASSERT_TRUE(ordered_json::accept(text)) << schema << '\n' << text;
        ASSERT_TRUE(is_valid(schema, ordered_json::parse(text), schema)) << schema << '\n' << text;
      }
      const ordered_json value = schemas.value(schema, schema);
      ASSERT_TRUE(is_valid(schema, value, schema)) << schema << '\n' << value;
      for (const std::string& whole : {value.dump(), value.dump(1), value.dump(2)}) {
        ASSERT_TRUE(grammar->matches(whole)) << schema << '\n' << whole;
        for (std::size_t length = 0; length < whole.size(); ++length) {
          ASSERT_TRUE(grammar->can_continue(whole.substr(0, length)));
        }
      }
    }
  }
  EXPECT_GE(walks, 200);
}

}  // namespace
}  // namespace dikkat
