#include "train/chat/answer_format.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/call_templates.h"
#include "tests/support/shared_data.h"
#include "tests/support/throws.h"
#include "train/text/byte_tokenizer.h"

namespace dikkat {
namespace {

const ByteTokenizer& bytes() {
  static const ByteTokenizer tokenizer;
  return tokenizer;
}

/// The fields of a form, or the reason why there is none.
std::string text_of(const AnswerFormat& form) {
  if (!form.calls) {
    return form.why_no_calls;
  }
  const CallFormat& c = *form.calls;
  return concat("begin ", c.begin, ", lead ", c.lead, ", end ", c.end, ", keys ", c.name_key, ' ', c.arguments_key, ", list ", c.is_list,
                ", several ", c.several, ", arguments first ", c.arguments_first, ", short ids ", c.short_ids, ", text ", c.open, '|',
                c.before, '|', c.between, '|', c.after, '|', c.separator, '|', c.close, ", last ", c.last, ", form ",
                std::ranges::find(kJsonForms, c.arguments) - std::begin(kJsonForms));
}
std::string text_of(const CallFormat& calls) { return text_of(AnswerFormat{.calls = calls}); }

AnswerFormat form_of(const std::string& jinja) { return answer_format_of(ChatTemplate(TemplateName::own, jinja, bytes())); }

/// The form of a template in ../shared/data/templates.
AnswerFormat form_of_file(const std::string& name) {
  std::ifstream file(shared_data("templates/" + name + ".jinja"));
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return form_of(text.str());
}

TEST(AnswerFormat, OfQwen) {
  DIKKAT_NEEDS_SHARED_DATA("templates/qwen3.jinja");
  const CallFormat hermes{.begin = "<tool_call>",
                          .end = "</tool_call>",
                          .name_key = "name",
                          .arguments_key = "arguments",
                          .several = true,
                          .before = "<tool_call>\n{\"name\": \"",
                          .between = "\", \"arguments\": ",
                          .after = "}\n</tool_call>",
                          .separator = "\n"};
  for (const char* name : {"qwen2_5", "qwen3"}) {
    EXPECT_EQ(text_of(form_of_file(name)), text_of(hermes)) << name;
  }
  EXPECT_EQ(form_of_file("qwen2_5").think_begin, "");
  for (const char* name : {"qwen3", "qwen3_5_think"}) {
    const AnswerFormat form = form_of_file(name);
    EXPECT_EQ(form.think_begin, "<think>") << name;
    EXPECT_EQ(form.think_end, "</think>") << name;
  }
  EXPECT_EQ(text_of(form_of_file("qwen3_5_think")), text_of(CallFormat{.begin = "<tool_call>",
                                                                       .lead = "<function=",
                                                                       .end = "</tool_call>",
                                                                       .several = true,
                                                                       .before = "<tool_call>\n<function=",
                                                                       .between = ">\n",
                                                                       .after = "\n</tool_call>",
                                                                       .separator = "\n",
                                                                       .arguments = kJsonForms[3]}));
}

TEST(AnswerFormat, OfFunctionGemma) {
  EXPECT_EQ(text_of(form_of(testing::kFunctionGemma)), text_of(CallFormat{.begin = "<start_function_call>",
                                                                          .lead = "call:",
                                                                          .end = "<end_function_call>",
                                                                          .several = true,
                                                                          .before = "<start_function_call>call:",
                                                                          .after = "<end_function_call>",
                                                                          .last = "<start_function_response>",
                                                                          .arguments = kJsonForms[1]}));
}

TEST(AnswerFormat, OfLlama) {
  DIKKAT_NEEDS_SHARED_DATA("templates/llama3_1.jinja");
  const CallFormat bare{
      .name_key = "name", .arguments_key = "parameters", .before = "{\"name\": \"", .between = "\", \"parameters\": ", .after = "}"};
  for (const char* name : {"llama3_1", "llama3_2"}) {
    const AnswerFormat form = form_of_file(name);
    EXPECT_EQ(text_of(form), text_of(bare)) << name;
    EXPECT_EQ(form.think_begin, "") << name;
  }
}

TEST(AnswerFormat, OfTemplatesThatCannotCallTools) {
  DIKKAT_NEEDS_SHARED_DATA("templates/gemma3.jinja");
  for (const char* name : {"cohere2", "deepseekv3", "gemma", "gemma3", "lfm2", "llama3", "phi3"}) {
    const AnswerFormat form = form_of_file(name);
    EXPECT_FALSE(form.calls) << name;
    EXPECT_FALSE(form.why_no_calls.empty()) << name;
    EXPECT_EQ(form.think_begin, std::string(name) == "deepseekv3" ? "<think>" : "") << name;
  }
}

// Like that of Mistral 7B v0.3: the calls are a list, and ids have nine letters and digits.
constexpr const char* kList =
    "{% if tools %}[AVAILABLE_TOOLS] {{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}{% for m in messages %}{% if m.role == 'user' %}"
    "[INST] {{ m.content }}[/INST]{% elif m.tool_calls %}[TOOL_CALLS] [{% for c in m.tool_calls %}{% if c.id | length != 9 %}"
    "{{ raise_exception('ids') }}{% endif %}{{ (c.function | tojson)[:-1] + ', \"id\": \"' + c.id + '\"}' }}{{ ', ' if not loop.last }}"
    "{% endfor %}]</s>{% else %} {{ m.content }}</s>{% endif %}{% endfor %}";

TEST(AnswerFormat, OfAListOfCalls) {
  EXPECT_EQ(text_of(form_of(kList)), text_of(CallFormat{.begin = "[TOOL_CALLS]",
                                                        .name_key = "name",
                                                        .arguments_key = "arguments",
                                                        .is_list = true,
                                                        .several = true,
                                                        .before = "{\"name\": \"",
                                                        .between = "\", \"arguments\": ",
                                                        .after = "}",
                                                        .open = "[TOOL_CALLS] [",
                                                        .separator = ", ",
                                                        .close = "]",
                                                        .short_ids = true}));
}

/// A template that writes each call as `call`.
std::string with_calls(const std::string& call) {
  return "{{ tools | tojson if tools }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}" + call +
         "{% endfor %}<end>\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
}

TEST(AnswerFormat, OfANameBeforeTheArguments) {
  EXPECT_EQ(text_of(form_of(with_calls("{{ '\\n' }}<call>{{ c.function.name }}<args>{{ c.function.arguments | tojson }}</call>"))),
            text_of(CallFormat{.begin = "<call>",
                               .end = "</call>",
                               .several = true,
                               .before = "<call>",
                               .between = "<args>",
                               .after = "</call>",
                               .separator = "\n"}));
}

// As Hermes 2 Pro writes them.
TEST(AnswerFormat, OfArgumentsBeforeTheName) {
  CallFormat expected{.begin = "<tool_call>",
                      .end = "</tool_call>",
                      .name_key = "name",
                      .arguments_key = "arguments",
                      .several = true,
                      .arguments_first = true,
                      .before = "<tool_call>\n{\"arguments\": ",
                      .between = ", \"name\": \"",
                      .after = "\"}\n</tool_call>",
                      .separator = "\n"};
  const std::string object = R"({"arguments": {{ c.function.arguments | tojson }}, "name": "{{ c.function.name }}")";
  EXPECT_EQ(text_of(form_of(with_calls("{{ '\\n' }}<tool_call>\n" + object + "}\n</tool_call>"))), text_of(expected));
  EXPECT_EQ(text_of(form_of(with_calls("{{ '\\n' }}<tool_call>\n" + object + R"(, "id": "{{ c.id }}"}</tool_call>)"))), text_of([&] {
              expected.after = "\"}</tool_call>";
              expected.several = false;
              expected.separator = "";
              return expected;
            }()));
}

TEST(AnswerFormat, OfOtherKeysAndFields) {
  const AnswerFormat form =
      form_of(with_calls("<<{\"kind\": 1, \"tool\": \"{{ c.function.name }}\", \"with\": {{ c.function.arguments | tojson }}}>>"));
  ASSERT_TRUE(form.calls) << form.why_no_calls;
  EXPECT_EQ(form.calls->name_key, "tool");
  EXPECT_EQ(form.calls->arguments_key, "with");
  EXPECT_EQ(form.calls->before, "<<{\"kind\": 1, \"tool\": \"");
  EXPECT_TRUE(form.calls->several);
}

TEST(AnswerFormat, OfCallsThatCannotBeRead) {
  for (const char* call :
       {"", "<f>{{ c.function.name }}</f>", "{{ c.function.name }}({{ c.function.arguments | tojson }})", "{{ c | tojson }}",
        "<c>{{ c.function.arguments | tojson }} for {{ c.function.name }}</c>",
        "<c>{\"name\": \"{{ c.function.name }}\", \"id\": \"{{ c.id }}\", \"arguments\": {{ c.function.arguments | tojson }}}</c>"}) {
    const AnswerFormat form = form_of(with_calls(call));
    EXPECT_FALSE(form.calls) << call;
    EXPECT_FALSE(form.why_no_calls.empty()) << call;
  }
}

TEST(AnswerFormat, ThinksWhereThePromptOrTheTemplateDoes) {
  const AnswerFormat form = form_of(
      "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}[THINK]{{ m.reasoning_content }}[/THINK]\n{% endif %}{{ m.content "
      "}}{% endfor %}");
  EXPECT_EQ(form.think_begin, "[THINK]");
  EXPECT_EQ(form.think_end, "[/THINK]");
  EXPECT_TRUE(begins_in_reasoning(form, "<assistant>[THINK]\n"));
  EXPECT_FALSE(begins_in_reasoning(form, "<assistant>[THINK]\n\n[/THINK]\n\n"));
  EXPECT_FALSE(begins_in_reasoning({}, ""));
}

}  // namespace
}  // namespace dikkat
