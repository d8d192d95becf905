#include "train/web/serve/served_chat.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "autograd/tape/parameters.h"
#include "tests/support/throws.h"
#include "train/text/byte_tokenizer.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {
namespace {

// A template with everything: tools, calls, reasoning that can be switched off, and one more variable.
constexpr const char* kWholeTemplate =
    "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}{% if topic is defined %}<topic>{{ topic }}{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    "{% for c in m.tool_calls %}<c>{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}</c>{% endfor "
    "%}"
    "{{ '\\n' }}{% endfor %}{% if add_generation_prompt %}<assistant>{% if enable_thinking is defined and not enable_thinking "
    "%}<think></think>"
    "{% else %}<think>{% endif %}{% endif %}";
constexpr const char* kPlainTemplate =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

/// A model that is never computed.
struct ChatModel {
  ParameterStore store;
  ByteTokenizer tokenizer;
  Gpt gpt{Scope(store), {.n_layer = 1, .n_head = 1, .n_embd = 8, .block_size = 4000, .vocab_size = 256}};

  ServedModel served(const char* jinja) const {
    ServedModel model{
        .gpt = gpt, .tokenizer = tokenizer, .name = "tiny", .fingerprint = "", .form = ChatTemplate(TemplateName::own, jinja, tokenizer)};
    model.answers = answer_format_of(*model.form);
    return model;
  }
};

ApiRequest asked(const std::string& fields, const std::string& messages = R"([{"role": "user", "content": "Hi"}])") {
  return read_api_request(R"({"messages": )" + messages + (fields.empty() ? "" : ", ") + fields + "}", Endpoint::chat, {"tiny"});
}

std::string prompt_for(const char* jinja, const ApiRequest& request) {
  const ChatModel model;
  return model.tokenizer.decode(prompt_tokens(model.served(jinja), request).at(0));
}

/// "param: message" of the refusal of a request.
std::string refusal_of(const char* jinja, const ApiRequest& request) {
  try {
    prompt_for(jinja, request);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    return concat(error.param(), ": ", error.what());
  }
  return "accepted";
}

constexpr const char* kAddTool = R"("tools": [{"type": "function", "function": {"name": "add"}}])";

TEST(ChatForm, GivesTheTemplateToolsAndVariables) {
  EXPECT_EQ(prompt_for(kWholeTemplate, asked("")), "<user>Hi\n<assistant><think>");
  EXPECT_EQ(prompt_for(kWholeTemplate, asked(kAddTool)),
            "<tools>[{\"type\": \"function\", \"function\": {\"name\": \"add\"}}]</tools><user>Hi\n<assistant><think>");
  EXPECT_EQ(prompt_for(kWholeTemplate, asked(concat(kAddTool, R"(, "tool_choice": "none")"))), "<user>Hi\n<assistant><think>");
  for (const char* off : {R"("enable_thinking": false)", R"("think": false)", R"("chat_template_kwargs": {"enable_thinking": false})",
                          R"("reasoning_effort": "none")"}) {
    EXPECT_EQ(prompt_for(kWholeTemplate, asked(off)), "<user>Hi\n<assistant><think></think>") << off;
  }
  EXPECT_EQ(prompt_for(kWholeTemplate, asked(R"("enable_thinking": true, "chat_template_kwargs": {"topic": "sums"})")),
            "<topic>sums<user>Hi\n<assistant><think>");
}

TEST(ChatForm, WritesEarlierCallsAndReasoning) {
  EXPECT_EQ(
      prompt_for(kWholeTemplate,
                 asked("", R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": null, "reasoning_content": "Hm",
                "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"b\": 1, \"a\": 2}"}}]},
                {"role": "tool", "tool_call_id": "call_1", "content": "3"}])")),
      "<user>Hi\n<assistant><think>Hm</think><c>{\"name\": \"add\", \"arguments\": {\"b\": 1, \"a\": 2}}</c>\n<tool>3\n<assistant><think>");
}

TEST(ChatForm, RefusesWhatTheTemplateWouldLose) {
  using testing::names;
  EXPECT_TRUE(refusal_of(kPlainTemplate, asked(kAddTool)).starts_with("tools: "));
  EXPECT_EQ(refusal_of(kPlainTemplate, asked(concat(kAddTool, R"(, "tool_choice": "none")"))), "accepted");
  EXPECT_TRUE(refusal_of(kPlainTemplate, asked("", R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "so",
      "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}])"))
                  .starts_with("messages[1].tool_calls: "));
  EXPECT_TRUE(names(refusal_of(kWholeTemplate, asked(R"("chat_template_kwargs": {"topics": 1})")), {"chat_template_kwargs.topics"}));
  EXPECT_TRUE(names(refusal_of(kWholeTemplate, asked(R"("chat_template_kwargs": {"messages": []})")), {"chat_template_kwargs.messages"}));
  EXPECT_TRUE(refusal_of(kWholeTemplate, asked(R"("reasoning_effort": "low")")).starts_with("reasoning_effort: "));
  EXPECT_TRUE(refusal_of(kPlainTemplate, asked(R"("enable_thinking": true)")).starts_with("enable_thinking: "));
  EXPECT_EQ(refusal_of(kPlainTemplate, asked(R"("enable_thinking": false, "reasoning_effort": "none")")), "accepted");
}

TEST(ChatForm, ReadsAnswersThatMayHaveMoreThanContent) {
  const ChatModel model;
  const auto read = [&](const char* jinja, const std::string& fields, const std::string& answer) -> std::string {
    const ServedModel served = model.served(jinja);
    const ApiRequest request = asked(fields);
    std::optional<AnswerReader> reader = reader_of(served, request, prompt_tokens(served, request).at(0));
    if (!reader) {
      return "none";
    }
    AnswerParts parts = reader->push(answer), rest = reader->finish();
    return concat(parts.reasoning, '|', parts.content, rest.content, '|', parts.calls.empty() ? "" : parts.calls.front().name);
  };
  const std::string answer = "Hm</think>Yes<c>{\"name\": \"add\"}</c>";
  EXPECT_EQ(read(kWholeTemplate, "", answer), "Hm|Yes<c>{\"name\": \"add\"}</c>|");
  EXPECT_EQ(read(kWholeTemplate, kAddTool, answer), "Hm|Yes|add");
  EXPECT_EQ(read(kWholeTemplate, R"("enable_thinking": false)", answer), "|" + answer + "|");
  EXPECT_EQ(read(kWholeTemplate, concat(kAddTool, R"(, "reasoning_format": "none")"), answer), "|Hm</think>Yes|add");
  EXPECT_EQ(read(kPlainTemplate, "", answer), "none");
}

}  // namespace
}  // namespace dikkat::serve
