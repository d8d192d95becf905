#include "train/web/serve/structured_request.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"
#include "train/grammar/token_grammar.h"
#include "train/text/byte_tokenizer.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/structured_fields.h"

namespace dikkat::serve {
namespace {

using Kind = StructuredRequest::Kind;

StructuredRequest structure_of(std::string_view request) { return read_structured_request(nlohmann::ordered_json::parse(request)); }

/// The param of a refusal.
std::string refused_param(std::string_view request) {
  try {
    content_grammar(structure_of(request));
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    EXPECT_TRUE(testing::names(error.what(), {error.param().substr(error.param().rfind('.') + 1)}));
    return error.param();
  }
  return "";
}

TEST(StructuredRequest, ReadsTheFieldsOfAllServers) {
  const char* const schema = R"({"type":"object","properties":{"b":{},"a":{}}})";
  const std::pair<std::string, StructuredRequest> cases[] = {
      {R"({})", {}},
      {R"({"response_format": null, "regex": null, "guided_choice": null, "structured_outputs": null})", {}},
      {R"({"structured_outputs": {"json_object": true, "json": null}})", {Kind::object, "", "structured_outputs.json_object"}},
      {R"({"response_format": {"type": "text"}})", {}},
      {R"({"response_format": {"type": "json_object"}})", {Kind::object, "", "response_format"}},
      {concat(R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": )", schema, "}}}"),
       {Kind::schema, schema, "response_format.json_schema.schema"}},
      {concat(R"({"response_format": {"type": "json_object", "schema": )", schema, "}}"), {Kind::schema, schema, "response_format.schema"}},
      {concat(R"({"json_schema": )", schema, "}"), {Kind::schema, schema, "json_schema"}},
      {concat(R"({"guided_json": )", schema, "}"), {Kind::schema, schema, "guided_json"}},
      {R"({"guided_json": "{\"type\": \"object\"}"})", {Kind::schema, R"({"type":"object"})", "guided_json"}},
      {concat(R"({"structured_outputs": {"json": )", schema, "}}"), {Kind::schema, schema, "structured_outputs.json"}},
      {R"({"structured_outputs": {"json_object": true}})", {Kind::object, "", "structured_outputs.json_object"}},
      {R"({"structured_outputs": {"json": null, "regex": "a+"}})", {Kind::regex, "a+", "structured_outputs.regex"}},
      {R"({"structured_outputs": {"choice": ["a", "b"]}})", {Kind::choice, R"(["a","b"])", "structured_outputs.choice"}},
      {R"({"regex": "a+"})", {Kind::regex, "a+", "regex"}},
      {R"({"guided_regex": "a+"})", {Kind::regex, "a+", "guided_regex"}},
      {R"({"guided_choice": ["a", "b"]})", {Kind::choice, R"(["a","b"])", "guided_choice"}},
  };
  for (const auto& [request, expected] : cases) {
    const StructuredRequest found = structure_of(request);
    EXPECT_EQ(found.kind, expected.kind) << request;
    EXPECT_EQ(found.text, expected.text) << request;
    EXPECT_EQ(found.field, expected.field) << request;
  }
}

TEST(StructuredRequest, RefusesByField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"response_format": "json"})", "response_format"},
      {R"({"response_format": {"type": "grammar"}})", "response_format.type"},
      {R"({"response_format": {"type": "json_object", "more": 1}})", "response_format.more"},
      {R"({"response_format": {"type": "json_schema"}})", "response_format.json_schema"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}})", "response_format.json_schema.schema"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "strict": 1}}})", "response_format.json_schema.strict"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"schema": {"properties": {"a": {"not": {"type": "null"}}}}}}})",
       "response_format.json_schema.schema.properties.a.not"},
      {R"({"guided_json": {"anyOf": [{"type": "x"}]}})", "guided_json.anyOf[0].type"},
      {R"({"guided_json": "{"})", "guided_json"},
      {R"({"guided_json": 3})", "guided_json"},
      {R"({"regex": 3})", "regex"},
      {R"_({"regex": "(?<=a)b"})_", "regex"},
      {R"({"guided_choice": "a"})", "guided_choice"},
      {R"({"guided_choice": []})", "guided_choice"},
      {R"({"guided_json": false})", "guided_json"},
      {R"({"json_schema": false})", "json_schema"},
      {R"({"guided_json": ""})", "guided_json"},
      {R"({"regex": ""})", "regex"},
      {R"({"structured_outputs": {}})", "structured_outputs"},
      {R"({"structured_outputs": {"json_object": false}})", "structured_outputs"},
      {R"({"structured_outputs": {"choice": []}})", "structured_outputs.choice"},
      {R"({"guided_choice": ["a", ""]})", "guided_choice"},
      {R"({"structured_outputs": {"grammar": "root ::= a"}})", "structured_outputs.grammar"},
      {R"({"structured_outputs": {"regex": "a", "choice": ["a"]}})", "structured_outputs.choice"},
      {R"({"regex": "a", "guided_json": {}})", "guided_json"},
      {R"({"response_format": {"type": "json_object"}, "regex": "a"})", "regex"},
  };
  for (const auto& [request, param] : cases) {
    EXPECT_EQ(refused_param(request), param) << request;
  }
}

TEST(StructuredRequest, ASchemaInAStringHasTheLimitsOfABody) {
  std::string fields;
  for (int i = 0; i < 10'001; ++i) {
    fields += concat(i == 0 ? "" : ",", R"(\")", i, R"(\":1)");
  }
  EXPECT_EQ(refused_param(concat(R"({"guided_json": "{)", fields, R"(}"})")), "guided_json");
}

TEST(StructuredRequest, RestrictsTheContent) {
  const auto matches = [](std::string_view request, std::string_view text) {
    const ByteTokenizer tokenizer;
    const std::optional<Grammar> grammar = content_grammar(structure_of(request));
    return !grammar || std::make_shared<const TokenGrammar>(*grammar, std::make_shared<const TokenTrie>(tokenizer), std::vector<Token>{})
                           ->matches(text);
  };
  EXPECT_TRUE(matches("{}", "anything"));
  EXPECT_TRUE(matches(R"({"response_format": {"type": "json_object"}})", R"({"a": [1]})"));
  EXPECT_FALSE(matches(R"({"response_format": {"type": "json_object"}})", "[1]"));
  EXPECT_TRUE(matches(R"({"guided_json": {"properties": {"b": {"const": 1}, "a": {"const": 2}}}})", R"({"b": 1, "a": 2})"))
      << "in the order of the request";
  EXPECT_TRUE(matches(R"({"guided_choice": ["yes", "no"]})", "no"));
  EXPECT_FALSE(matches(R"({"guided_choice": ["yes", "no"]})", "maybe"));
  EXPECT_TRUE(matches(R"({"regex": "[ab]+"})", "abba"));
  EXPECT_FALSE(matches(R"({"regex": "[ab]+"})", "abc"));
}

}  // namespace
}  // namespace dikkat::serve
