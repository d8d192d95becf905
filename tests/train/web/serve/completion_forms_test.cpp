#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/call_templates.h"
#include "tests/train/web/serve/running_server.h"
#include "train/system/machine_memory.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;
using testing::HttpReply;

TEST(CompletionServer, AnswersHaveTheFormThatIsAskedFor) {
  const RunningServer server(small_model());
  const json schema = {
      {"type", "object"},
      {"properties", {{"name", {{"type", "string"}, {"maxLength", 8}}}, {"size", {{"type", "integer"}, {"minimum", 1}, {"maximum", 40}}}}},
      {"required", {"name", "size"}},
      {"additionalProperties", false}};
  // A model that has learned nothing writes these texts, too.
  for (int seed = 1; seed <= 5; ++seed) {
    const json chat = server.answer(
        kChat,
        {{"messages", kHello},
         {"seed", seed},
         {"response_format", {{"type", "json_schema"}, {"json_schema", {{"name", "thing"}, {"schema", schema}, {"strict", true}}}}}});
    EXPECT_EQ(chat["choices"][0]["finish_reason"], "stop") << chat;
    const json thing = json::parse(chat["choices"][0]["message"]["content"].get<std::string>());
    EXPECT_LE(thing["name"].get<std::string>().size(), 32U);
    EXPECT_TRUE(1 <= thing["size"] && thing["size"] <= 40) << thing;
    EXPECT_EQ(thing.size(), 2U);
    const json text = server.answer(
        kText, {{"prompt", "Once"}, {"max_tokens", 60}, {"seed", seed}, {"regex", "[a-f]{3,9}, 20\\d\\d"}, {"n", 3}, {"temperature", 2}});
    for (const json& choice : text["choices"]) {
      const std::string found = choice["text"];
      EXPECT_EQ(choice["finish_reason"], "stop");
      const std::size_t comma = found.find(", 20");
      EXPECT_TRUE(3 <= comma && comma <= 9 && found.size() == comma + 6) << found;
    }
    const json choice = server.answer(kText, {{"prompt", "Is it?"}, {"seed", seed}, {"guided_choice", {"yes", "no"}}});
    EXPECT_TRUE(choice["choices"][0]["text"] == "yes" || choice["choices"][0]["text"] == "no") << choice;
  }
  // Streams, and answers that are cut.
  std::string streamed;
  std::string last;
  for (const json& event : server.events(kChat, {{"messages", kHello}, {"seed", 2}, {"guided_json", schema}})) {
    const json& one = event["choices"][0];
    streamed += one["delta"].value("content", "");
    last = one["finish_reason"].is_string() ? one["finish_reason"].get<std::string>() : last;
  }
  EXPECT_TRUE(json::accept(streamed)) << streamed;
  EXPECT_EQ(last, "stop");
  const json cut = server.answer(kText, {{"prompt", "Once"}, {"max_tokens", 1}, {"response_format", {{"type", "json_object"}}}});
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(cut["choices"][0]["text"].get<std::string>().starts_with("{"));

  // Refusals.
  const auto param = [&](const json& body) {
    const HttpReply reply = server.post(kText, body);
    EXPECT_EQ(reply.status, 400) << reply.body;
    return json::parse(reply.body)["error"]["param"];
  };
  EXPECT_EQ(param({{"prompt", "a"}, {"guided_json", {{"type", "object"}, {"minProperties", 2}}}}), "guided_json.minProperties");
  EXPECT_EQ(param({{"prompt", "a"}, {"regex", "(?=(?:a*b){0,900}$)(?:b*a){0,900}"}}), "regex");
  EXPECT_EQ(param({{"prompt", "a"}, {"guided_json", {{"$ref", "#"}}}}), "guided_json.$ref");
  EXPECT_EQ(param({{"prompt", "a"}, {"ebnf", "root ::= a"}}), "ebnf");
}

TEST(CompletionServer, SchemasThatAreTooLargeTakeLittleMemory) {
  const RunningServer server(small_model());
  json names = {{"type", "object"}, {"properties", json::object()}, {"additionalProperties", {{"type", "string"}}}};
  json patterns = {{"type", "object"}, {"properties", json::object()}};
  for (int i = 0; i < 2500; ++i) {
    names["properties"][concat(std::string(250, 'x'), i)] = json::object();
  }
  for (int i = 0; i < 120; ++i) {
    patterns["properties"][concat("p", i)] = {{"type", "string"}, {"pattern", concat(i, std::string(9'000, '.'))}};
  }
  EXPECT_EQ(server.post(kText, {{"prompt", "a"}, {"guided_json", names}}).status, 400);
  const std::size_t before = process_memory().resident;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(server.post(kText, {{"prompt", "a"}, {"guided_json", names}}).status, 400);
    EXPECT_EQ(server.post(kText, {{"prompt", "a"}, {"guided_json", patterns}}).status, 400);
  }
  EXPECT_LT(process_memory().resident, before + (std::size_t{48} << 20)) << "it is given back";
  EXPECT_LT(process_memory().peak, before + (std::size_t{300} << 20));
  const HttpReply reply = server.post(kText, {{"prompt", "a"}, {"guided_json", patterns.dump()}});
  EXPECT_TRUE(json::parse(reply.body)["error"]["param"].get<std::string>().ends_with(".pattern")) << reply.body;
}

/// The small model with a template that has tools and reasoning.
ServedModel model_with_tools() {
  ServedModel model = small_model().served();
  model.form =
      ChatTemplate(TemplateName::own,
                   "{% for t in tools or [] %}{{ t.function.name }}{{ t.function.description }};{% endfor %}"
                   "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
                   "{{ m.content }}{% for c in m.tool_calls %}<c>{\"name\": \"{{ c.function.name }}\", \"arguments\": "
                   "{{ c.function.arguments | tojson }}}</c>{% endfor %}{{ '\\n' }}{% endfor %}"
                   "{% if add_generation_prompt %}<assistant>{% if enable_thinking is defined and not enable_thinking %}<think></think>"
                   "{% else %}<think>{% endif %}{% endif %}",
                   model.tokenizer);
  model.answers = answer_format_of(*model.form);
  return model;
}

TEST(CompletionServer, ForcesCallsOfTools) {
  const RunningServer server(model_with_tools());
  const json parameters = {
      {"type", "object"},
      {"properties", {{"city", {{"enum", {"Rome", "Oslo"}}}}, {"days", {{"type", "integer"}, {"minimum", 1}, {"maximum", 9}}}}},
      {"required", {"city", "days"}},
      {"additionalProperties", false}};
  const auto tool = [](const char* name, const json& schema) {
    return json{{"type", "function"}, {"function", {{"name", name}, {"description", ""}, {"parameters", schema}}}};
  };
  json request = {{"messages", kHello},
                  {"tools", {tool("weather", parameters), tool("now", {{"type", "object"}, {"properties", json::object()}})}},
                  {"tool_choice", "required"},
                  {"parallel_tool_calls", false},
                  {"enable_thinking", false}};
  for (const int seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    request["seed"] = seed;
    const json choice = server.answer(kChat, request)["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "tool_calls") << choice;
    EXPECT_TRUE(choice["message"]["content"].is_null()) << choice;
    ASSERT_EQ(choice["message"]["tool_calls"].size(), 1U) << choice;
    const json call = choice["message"]["tool_calls"][0];
    EXPECT_TRUE(call["id"].get<std::string>().starts_with("call_")) << call;
    const json arguments = json::parse(call["function"]["arguments"].get<std::string>(), nullptr, false);
    if (call["function"]["name"] == "weather") {
      EXPECT_TRUE(arguments["city"] == "Rome" || arguments["city"] == "Oslo") << arguments;
      EXPECT_TRUE(arguments["days"].is_number_integer() && arguments["days"] >= 1 && arguments["days"] <= 9) << arguments;
    } else {
      EXPECT_EQ(arguments, json::object());
    }
    // The stream has the name first, and then the same arguments.
    std::string name, streamed, ending;
    for (const json& event : server.events(kChat, request)) {
      const json part = event["choices"][0];
      EXPECT_EQ(part["delta"].value("content", ""), "");
      for (const json& one : part["delta"].value("tool_calls", json::array())) {
        EXPECT_EQ(one["index"], 0);
        EXPECT_EQ(one.contains("id"), one["function"].contains("name"));
        name += one["function"].value("name", "");
        EXPECT_FALSE(name.empty());
        streamed += one["function"]["arguments"].get<std::string>();
      }
      ending = part["finish_reason"].is_null() ? ending : part["finish_reason"].get<std::string>();
    }
    EXPECT_EQ(call["function"]["name"], name);
    EXPECT_EQ(call["function"]["arguments"], streamed);
    EXPECT_EQ(ending, "tool_calls");
  }

  request["tool_choice"] = {{"type", "function"}, {"function", {{"name", "now"}}}};
  const json named = server.answer(kChat, request)["choices"][0]["message"]["tool_calls"];
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0]["function"]["name"], "now");
  EXPECT_EQ(named[0]["function"]["arguments"], "{}");

  request["tools"][0]["function"]["parameters"]["properties"]["days"] = {{"type", "integer"}, {"multipleOf", 2.5}};
  request["tool_choice"] = "auto";
  const HttpReply refused = server.post(kChat, request);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json::parse(refused.body)["error"]["param"], "tools.weather.parameters.properties.days.multipleOf");
}

TEST(CompletionServer, ForcesCallsInOtherForms) {
  const json parameters = {{"type", "object"},
                           {"properties",
                            {{"city", {{"enum", {"Rome", "Oslo"}}}},
                             {"days", {{"type", "integer"}, {"minimum", 1}, {"maximum", 9}}},
                             {"note", {{"type", "string"}, {"maxLength", 8}}},
                             {"places", {{"type", "array"}, {"items", {{"type", "boolean"}}}, {"maxItems", 2}}}}},
                           {"required", {"city", "days", "note", "places"}},
                           {"additionalProperties", false}};
  const json tool = {{"type", "function"}, {"function", {{"name", "weather"}, {"description", "d"}, {"parameters", parameters}}}};
  for (const char* const form : {testing::kFunctionGemma, testing::kQwenCoder}) {
    static const SmallModel small(1000);
    ServedModel model = small.served();
    model.form = ChatTemplate(TemplateName::own, form, model.tokenizer);
    model.answers = answer_format_of(*model.form);
    ASSERT_TRUE(model.answers.calls) << model.answers.why_no_calls;
    const RunningServer server(model);
    json request = {
        {"messages", kHello}, {"tools", {tool}}, {"tool_choice", "required"}, {"parallel_tool_calls", false}, {"temperature", 2}};
    for (const int seed : {1, 2, 3}) {
      request["seed"] = seed;
      const json choice = server.answer(kChat, request)["choices"][0];
      EXPECT_EQ(choice["finish_reason"], "tool_calls") << choice;
      EXPECT_TRUE(choice["message"]["content"].is_null()) << choice;
      const json call = choice["message"]["tool_calls"].at(0)["function"];
      EXPECT_EQ(call["name"], "weather");
      const json arguments = json::parse(call["arguments"].get<std::string>());
      EXPECT_TRUE(arguments["city"] == "Rome" || arguments["city"] == "Oslo") << arguments;
      EXPECT_TRUE(arguments["days"].is_number_integer() && arguments["days"] >= 1 && arguments["days"] <= 9) << arguments;
      EXPECT_TRUE(arguments["note"].is_string() && arguments["places"].is_array()) << arguments;
      std::string streamed;
      int parts = 0;
      for (const json& event : server.events(kChat, request)) {
        for (const json& one : event["choices"][0]["delta"].value("tool_calls", json::array())) {
          streamed += one["function"]["arguments"].get<std::string>();
          ++parts;
        }
      }
      EXPECT_EQ(streamed, call["arguments"]);
      EXPECT_GT(parts, 5) << "they come in parts";
    }
    // The earlier call and its result are part of the next prompt.
    const json talk = {
        kHello[0],
        {{"role", "assistant"}, {"tool_calls", {{{"id", "1"}, {"function", {{"name", "weather"}, {"arguments", R"({"days": 2})"}}}}}}},
        {{"role", "tool"}, {"tool_call_id", "1"}, {"name", "weather"}, {"content", "sunny"}}};
    const HttpReply prompt = server.post("/apply-template", {{"messages", talk}, {"tools", {tool}}});
    EXPECT_NE(prompt.body.find(form == testing::kQwenCoder ? "<parameter=days>\\n2\\n</parameter>" : "call:weather{days:2}"),
              std::string::npos)
        << prompt.body;
  }
}

TEST(CompletionServer, LetsTheModelCallTools) {
  // The mark of a call is a byte that the model writes sooner or later.
  ServedModel model = small_model().served();
  model.form =
      ChatTemplate(TemplateName::own,
                   "{% for t in tools or [] %}{{ t.function.name }}{{ t.function.description }};{% endfor %}"
                   "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}!{\"name\": \"{{ c.function.name }}\", "
                   "\"arguments\": {{ c.function.arguments | tojson }}}{% endfor %}{{ '\\n' }}{% endfor %}<assistant>",
                   model.tokenizer);
  model.answers = answer_format_of(*model.form);
  ASSERT_TRUE(model.answers.calls) << model.answers.why_no_calls;
  const RunningServer server(model);
  const json parameters = {{"type", "object"}, {"properties", {{"a", {{"type", "boolean"}}}}}, {"required", {"a"}}};
  json request = {{"messages", kHello},
                  {"tools", {{{"type", "function"}, {"function", {{"name", "f"}, {"description", ""}, {"parameters", parameters}}}}}},
                  {"parallel_tool_calls", false},
                  {"temperature", 2},
                  {"max_tokens", 100}};
  int called = 0, answered = 0;
  for (int seed = 0; seed < 20 || (called == 0 && seed < 400); ++seed) {
    request["seed"] = seed;
    const json choice = server.answer(kChat, request)["choices"][0];
    const json& message = choice["message"];
    EXPECT_TRUE(message["content"].is_null() || message["content"].get<std::string>().find('!') == std::string::npos) << message;
    if (message.contains("tool_calls")) {
      ++called;
      EXPECT_EQ(message["tool_calls"].size(), 1U);
      const json function = message["tool_calls"][0]["function"];
      EXPECT_EQ(function["name"], "f");
      if (choice["finish_reason"] == "tool_calls") {
        EXPECT_TRUE(json::parse(function["arguments"].get<std::string>())["a"].is_boolean()) << function;
      }
    } else {
      ++answered;
      EXPECT_EQ(choice["finish_reason"], "length");
    }
  }
  EXPECT_GT(called, 0);
  request["tool_choice"] = "none";
  request["seed"] = 0;
  EXPECT_FALSE(server.answer(kChat, request)["choices"][0]["message"].contains("tool_calls"));
}

TEST(CompletionServer, SeparatesReasoning) {
  const RunningServer server(model_with_tools());
  const json request = {{"messages", kHello}, {"seed", 2}, {"max_tokens", 30}};
  const json thinks = server.answer(kChat, request)["choices"][0]["message"];
  EXPECT_FALSE(thinks["reasoning_content"].get<std::string>().empty()) << "the prompt begins it, and the model does not end it";
  EXPECT_EQ(thinks["content"], "");
  const auto with = [&](const json& fields) {
    json all = request;
    all.update(fields);
    return server.answer(kChat, all)["choices"][0]["message"];
  };
  const json left = with({{"reasoning_format", "none"}});
  EXPECT_FALSE(left.contains("reasoning_content"));
  EXPECT_NE(left["content"].get<std::string>().find(thinks["reasoning_content"].get<std::string>()), std::string::npos);
  EXPECT_EQ(with({{"include_reasoning", false}}), (json{{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}}));
  const json off = with({{"enable_thinking", false}});
  EXPECT_FALSE(off.contains("reasoning_content"));
  EXPECT_FALSE(off["content"].get<std::string>().empty());
}

}  // namespace
}  // namespace dikkat::serve
