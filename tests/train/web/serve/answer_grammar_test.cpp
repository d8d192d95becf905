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

const AnswerFormat kEscaped{.calls = CallFormat{.begin = "<c>",
                                                .lead = "call:",
                                                .end = "</c>",
                                                .several = true,
                                                .before = "<c>call:",
                                                .after = "</c>",
                                                .last = "<r>",
                                                .arguments = kJsonForms[1]}};
const AnswerFormat kTagged{.calls = CallFormat{.begin = "<c>",
                                               .lead = "<function=",
                                               .end = "</c>",
                                               .several = true,
                                               .before = "<c>\n<function=",
                                               .between = ">\n",
                                               .after = "\n</c>",
                                               .separator = "\n",
                                               .arguments = kJsonForms[3]}};

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
               {"", " ", "a", "            <b>", "<b>", "{", "{\"city\": 1}", "{}", "<|", "<|python", "Say {\"name\": \"add\"",
                R"({"name": "add", "parameters": {"a": 1}})", R"( <|python_tag|>{"name": "now", "parameters": {}})"},
               {R"({"name": "sub")", R"({"name": "add", "parameters": {}})", R"( {"name": "add", "parameters": {}})",
                R"({"name": "add", "parameters": {"a": 1}} so)", "<|python_tag|>print(1)", "            <|python_tag|>"});
}

/// A tool whose arguments have values of all kinds.
ToolRequest find_tool(ToolChoice choice) {
  return {.choice = choice,
          .tools = {
              {"find", R"({"properties": {"what": {"type": "string", "minLength": 2}, "Limit": {"type": ["integer", "null"], "maximum": 20},
                               "all": {"type": "boolean"}, "by": {"enum": ["name", "age"]}, "in": {"type": "array", "items": {"type": "string"}},
                               "more": {"type": "object", "properties": {"k": {"type": "boolean"}}}}, "required": ["what"]})"},
              {"now", ""}}};
}

TEST(AnswerGrammar, WritesArgumentsWithMarkedStrings) {
  const ToolRequest required = find_tool(ToolChoice::required), free = find_tool(ToolChoice::automatic);
  const auto call = [](const std::string& arguments) { return concat("<c>call:find{", arguments, "}</c>"); };
  expect_texts(
      kEscaped, {.tools = required},
      {call("what:<escape>a\"}\n<esc<escape>"),
       call("all:true,by:<escape>age<escape>,in:[<escape>a<escape>,<escape><escape>],Limit:-7,more:{k:false},what:<escape>ab<escape>"),
       call("Limit:None,what:<escape>ab<escape>"), call("what:<escape>ab<escape>") + call("what:<escape>cd<escape>"),
       call("what:<escape>ab<escape>") + "<r>", "<c>call:now{}</c>", "<c>call:now{x:[1,{y:null}],z:<escape>\"<escape>}</c>"},
      {"", call(""), call("what:ab"), call("what:\"ab\""), call("what:<escape>a<escape>"), call("what: <escape>ab<escape>"),
       call("what:<escape>ab<escape>,all:true"), call("Limit:21,what:<escape>ab<escape>"),
       call("by:<escape>size<escape>,what:<escape>ab<escape>"), call("what:<escape>ab<escape>") + "<r><r>", "<c>call:now{\"x\":1}</c>",
       "<c>call:now{x:y}</c>"});
  expect_texts(kEscaped, {.tools = free},
               {"a <c", "Well. " + call("what:<escape>ab<escape>") + "<r>", call("what:<escape>ab<escape>") + " so"},
               {"a <c>b", "<c>find{}"});
}

TEST(AnswerGrammar, WritesArgumentsBetweenTags) {
  const ToolRequest required = find_tool(ToolChoice::required);
  const auto tag = [](const char* name, const std::string& value) { return concat("<parameter=", name, ">\n", value, "\n</parameter>\n"); };
  const auto call = [](const std::string& arguments) { return concat("<c>\n<function=find>\n", arguments, "</function>\n</c>"); };
  const std::string what = tag("what", "12");
  expect_texts(
      kTagged, {.tools = required},
      {call(what), call(tag("what", "a \"b\"\n\n<parameter=x>\n</parameter")), call(what + tag("Limit", "12") + tag("all", "True")),
       call(what + tag("Limit", "None") + tag("all", "false") + tag("by", "name") + tag("in", "[\"a\", \"b\"]") +
            tag("more", "{\"k\": true}")),
       call(what) + "\n" + call(what), "<c>\n<function=now>\n</function>\n</c>",
       "<c>\n<function=now>\n<parameter=a b>\n[1\n</parameter>\n</function>\n</c>"},
      {"", call(""), call(tag("what", "a")), call(tag("all", "true")), call(what + what), call(what + tag("Limit", "21")),
       call(what + tag("Limit", "\"2\"")), call(what + tag("by", "\"name\"")), call(what + tag("in", "[True]")),
       call(what + tag("more", "{\"k\": True}")), call("<parameter=what>\n12</parameter>\n"), call(tag("what", "x\n</parameter>\ny")),
       "<c>\n<function=now>\n<parameter=a>b>\n1\n</parameter>\n</function>\n</c>"});
}

TEST(AnswerGrammar, AStringBetweenTagsIsNeverReadAsAnotherValue) {
  const auto expect_values = [](const char* schema, const std::vector<std::string>& values, const std::vector<std::string>& others,
                                const char* more = "") {
    const ToolRequest tools{.choice = ToolChoice::required,
                            .tools = {{"f", concat(R"({"properties": {"v": )", schema, R"(}, "required": ["v"])", more, '}')}}};
    const auto texts = [](const std::vector<std::string>& of) {
      std::vector<std::string> made;
      for (const std::string& value : of) {
        made.push_back(concat("<c>\n<function=f>\n<parameter=v>\n", value, "\n</parameter>\n</function>\n</c>"));
      }
      return made;
    };
    expect_texts(kTagged, {.tools = tools}, texts(values), texts(others));
  };
  expect_values(R"({"type": ["string", "null"]})", {"", "a", "5", "{", "null", "None", "nulls"}, {});
  expect_values(R"({"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "maximum": 9}]})",
                {"5", "abc", "5a", "-", "05", "{}"}, {"10", "1.5", "abcd"});
  expect_values(R"({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "boolean"}}, {"const": true}]})",
                {"x", "[true, false]", "true", "True", "truer", "5"}, {"[1]", "[x", "false"});
  expect_values(R"({"enum": ["5", 6, "x", null]})", {"6", "x", "None"}, {"5", "7", "\"x\""});
  expect_values(R"({"$ref": "#/$defs/a"})", {"a", "aa"}, {"", "b", "\"a\""}, R"(, "$defs": {"a": {"type": "string", "pattern": "^a+$"}})");
  expect_values("{}", {"", "x", "[1", "5"}, {"a\n</parameter>b"});
}

TEST(AnswerGrammar, RefusesWhatAFormCannotWrite) {
  const auto refusal = [](const AnswerFormat& form, const char* schema) -> std::string {
    try {
      answer_grammar(form, {.tools = {.choice = ToolChoice::required, .tools = {{"f", schema}}}});
      return "accepted";
    } catch (const ApiError& error) {
      return error.param();
    }
  };
  const char* const name = R"({"properties": {"a:b": {"type": "null"}}})";
  EXPECT_EQ(refusal(kEscaped, name), "tools.f.parameters.properties.a:b");
  EXPECT_EQ(refusal(kTagged, name), "accepted");
  EXPECT_EQ(refusal(kMarked, name), "accepted");
  const char* const whole = R"({"type": "object", "enum": [{"a": 1}]})";
  EXPECT_EQ(refusal(kTagged, whole), "tools.f.parameters.enum");
  EXPECT_EQ(refusal(kEscaped, whole), "accepted");
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
