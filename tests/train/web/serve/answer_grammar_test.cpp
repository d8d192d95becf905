#include "train/web/serve/answer_grammar.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/grammar/token_grammar.h"
#include "train/text/byte_tokenizer.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {
namespace {

const AnswerFormat kMarked{.calls = CallFormat{.begin = "<call>",
                                               .end = "</call>",
                                               .name_key = "name",
                                               .arguments_key = "arguments",
                                               .several = true,
                                               .before = "<call>{\"name\": \"",
                                               .between = "\", \"arguments\": ",
                                               .after = "}</call>",
                                               .separator = "\n"}};
const AnswerFormat kUnmarked{
    .calls = CallFormat{
        .name_key = "name", .arguments_key = "parameters", .before = "{\"name\": \"", .between = "\", \"parameters\": ", .after = "}"}};
const AnswerFormat kListed{.calls = CallFormat{.begin = "[CALLS]",
                                               .name_key = "name",
                                               .arguments_key = "arguments",
                                               .is_list = true,
                                               .several = true,
                                               .before = "{\"name\": \"",
                                               .between = "\", \"arguments\": ",
                                               .after = "}",
                                               .open = "[CALLS][",
                                               .separator = ", ",
                                               .close = "]"}};

AnswerFormat thinking(AnswerFormat form) {
  form.think_begin = "<think>";
  form.think_end = "</think>";
  return form;
}

ToolRequest some_tools(ToolChoice choice, bool several = true) {
  return {.choice = choice,
          .tools = {{"add",
                     R"({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false})"},
                    {"now", ""}},
          .several = several};
}

std::shared_ptr<const TokenGrammar> compiled(const AnswerFormat& form, const AnswerRules& rules) {
  const ByteTokenizer tokenizer;
  const std::optional<Grammar> grammar = answer_grammar(form, rules);
  return grammar ? std::make_shared<const TokenGrammar>(*grammar, std::make_shared<const TokenTrie>(tokenizer), std::vector<Token>{})
                 : nullptr;
}

/// Checks which texts match.
void expect_texts(const AnswerFormat& form, const AnswerRules& rules, const std::vector<std::string>& matching,
                  const std::vector<std::string>& others) {
  const auto grammar = compiled(form, rules);
  ASSERT_TRUE(grammar);
  for (const std::string& text : matching) {
    EXPECT_TRUE(grammar->matches(text)) << text;
  }
  for (const std::string& text : others) {
    EXPECT_FALSE(grammar->matches(text)) << text;
  }
}

const std::string kAddCall = R"(<call>{"name": "add", "arguments": {"a": 1}}</call>)",
                  kNowCall = R"(<call>{"name": "now", "arguments": {"x": [1, {}]}}</call>)";

TEST(AnswerGrammar, ForcesCalls) {
  const ToolRequest several = some_tools(ToolChoice::required), one = some_tools(ToolChoice::required, false);
  expect_texts(kMarked, {.tools = several}, {kAddCall, kNowCall, kAddCall + "\n" + kNowCall + "\n" + kAddCall},
               {"", "a", kAddCall + kNowCall, "a" + kAddCall, kAddCall + "a", R"(<call>{"name": "sub", "arguments": {}}</call>)",
                R"(<call>{"name": "add", "arguments": {}}</call>)", R"(<call>{"name": "add", "arguments": {"a": "1"}}</call>)",
                R"(<call>{"name": "now", "arguments": 1}</call>)"});
  expect_texts(kMarked, {.tools = one}, {kAddCall}, {kAddCall + "\n" + kAddCall});
  expect_texts(kListed, {.tools = several}, {R"([CALLS][{"name": "add", "arguments": {"a": 1}}, {"name": "now", "arguments": {}}])"},
               {R"([CALLS][])", R"([CALLS][{"name": "add", "arguments": {"a": 1}})"});
  AnswerFormat turned = kMarked;
  turned.calls->arguments_first = true;
  turned.calls->before = R"(<call>{"arguments": )";
  turned.calls->between = R"(, "name": ")";
  turned.calls->after = "\"}</call>";
  expect_texts(
      turned, {.tools = several},
      {R"(<call>{"arguments": {"a": 1}, "name": "add"}</call>)", R"(<call>{"arguments": {"a": "b"}, "name": "now"}</call>)"},
      {kAddCall, R"(<call>{"arguments": {"a": "b"}, "name": "add"}</call>)", R"(<call>{"arguments": {"a": 1}, "name": "sub"}</call>)"});
  expect_texts(kUnmarked, {.tools = several}, {R"({"name": "add", "parameters": {"a": 1}})"},
               {"", R"({"name": "add", "parameters": {"a": 1}}{"name": "add", "parameters": {"a": 1}})"});
}

TEST(AnswerGrammar, LeavesTheChoiceToTheModel) {
  const ToolRequest several = some_tools(ToolChoice::automatic), one = some_tools(ToolChoice::automatic, false);
  expect_texts(kMarked, {.tools = several},
               {"", "a", "1 < 2 <cal", kAddCall, "Well.\n" + kAddCall + "\n" + kNowCall + " so", "{\"name\": 1}"},
               {"<call>", "a <call>b</call>", kAddCall + "<call>"});
  expect_texts(kMarked, {.tools = one}, {"a", kAddCall, "a" + kAddCall + "b"}, {kAddCall + kAddCall});
  expect_texts(kUnmarked, {.tools = several},
               {"", " ", "a", "<b>", "{", "{\"city\": 1}", "{}", "<|", "<|python", "Say {\"name\": \"add\"",
                R"({"name": "add", "parameters": {"a": 1}})", R"( <|python_tag|>{"name": "now", "parameters": {}})"},
               {R"({"name": "sub")", R"({"name": "add", "parameters": {}})", R"( {"name": "add", "parameters": {}})",
                R"({"name": "add", "parameters": {"a": 1}} so)", "<|python_tag|>print(1)"});
}

TEST(AnswerGrammar, ReasoningComesFirst) {
  const ToolRequest required = some_tools(ToolChoice::required), free = some_tools(ToolChoice::automatic);
  const AnswerFormat form = thinking(kMarked);
  expect_texts(form, {.tools = required}, {kAddCall, "<think>a <call> b</think>\n\n" + kAddCall, "\n<think></think>" + kAddCall},
               {"<think>a</think>", "<think>" + kAddCall, "<think>a</think>b" + kAddCall});
  expect_texts(form, {.tools = required, .reasons = false}, {kAddCall}, {"<think>a</think>" + kAddCall});
  expect_texts(form, {.tools = required, .begins_in_reasoning = true}, {"</think>" + kAddCall, "a\n</think>\n" + kAddCall},
               {kAddCall, "a"});
  expect_texts(form, {.tools = free}, {"<think>a <call>b</think>c", "a", "<think>a</think>" + kAddCall + kNowCall},
               {"<think>a</think><call>"});
  const ToolRequest none;
  expect_texts(form, {.tools = none, .content = literal("yes")}, {"yes", "<think>no</think> yes"}, {"no", "<think>yes"});
  expect_texts(kMarked, {.tools = free, .content = literal("yes")}, {"yes", kAddCall, kAddCall + "\n" + kAddCall},
               {"no", "yes" + kAddCall});
  EXPECT_FALSE(answer_grammar(form, {.tools = none}));
}

TEST(AnswerGrammar, RefusesASchemaByItsPath) {
  const auto refusal = [](const char* schema) {
    try {
      answer_grammar(kMarked, {.tools = {.choice = ToolChoice::required, .tools = {{"f", schema}}}});
    } catch (const ApiError& error) {
      EXPECT_EQ(error.status(), 400);
      return error.param();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal(R"({"type": "string"})"), "tools.f.parameters.type");
  EXPECT_EQ(refusal(R"({"type": "object", "properties": {"a": {"type": "number", "multipleOf": 3}}})"),
            "tools.f.parameters.properties.a.multipleOf");
  EXPECT_EQ(refusal(R"({"properties": {"a": {"type": "number"}}})"), "accepted");
  EXPECT_EQ(refusal(R"({"type": "object", "properties": {}})"), "accepted");
}

}  // namespace
}  // namespace dikkat::serve
