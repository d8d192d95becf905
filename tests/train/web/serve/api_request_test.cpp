#include "train/web/serve/api_request.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {
namespace {

using testing::names;

ApiRequest text(const std::string& body) { return read_api_request(body, Endpoint::completions, {"tiny"}); }
ApiRequest chat(const std::string& body) { return read_api_request(body, Endpoint::chat, {"tiny"}); }

/// "status param code: message" of a refusal.
std::string refusal(Endpoint endpoint, const std::string& body) {
  try {
    read_api_request(body, endpoint, {"tiny"});
  } catch (const ApiError& error) {
    return concat(error.status(), ' ', error.param(), ' ', error.code(), ": ", error.what());
  }
  return "accepted";
}
std::string of_text(const std::string& body) { return refusal(Endpoint::completions, body); }
std::string of_chat(const std::string& fields, const std::string& messages = R"([{"role": "user", "content": "hello"}])") {
  return refusal(Endpoint::chat, R"({"messages": )" + messages + (fields.empty() ? "" : ", ") + fields + "}");
}

/// A refusal must begin with "status param code: " as in `form`, and its message must name the parts.
void expect_refused(const std::string& refusal, const std::string& form, const std::vector<std::string>& parts) {
  EXPECT_TRUE(refusal.starts_with(form + ": ")) << refusal;
  EXPECT_TRUE(refusal.starts_with(form) && names(refusal.substr(form.size()), parts)) << refusal;
}

TEST(ApiRequest, HasTheProtocolsDefaults) {
  const ApiRequest request = text(R"({"prompt": "Once"})");
  ASSERT_EQ(request.prompts.size(), 1U);
  EXPECT_EQ(request.prompts[0].text, "Once");
  EXPECT_FALSE(request.max_tokens || request.seed || request.alternatives);
  EXPECT_FALSE(request.streams || request.echo || request.streams_usage || request.streams_timings);
  EXPECT_EQ(request.special_names, SpecialNames::tokens);
  EXPECT_TRUE(request.stops.empty());
  EXPECT_EQ(request.options.temperature, 1);
  EXPECT_EQ(request.options.top_p, 1);
  EXPECT_EQ(request.options.top_k, 0);
  EXPECT_EQ(request.options.num_samples, 1);
  EXPECT_EQ(text("{}").prompts.at(0).text, "");
}

TEST(ApiRequest, ReadsEveryField) {
  const ApiRequest request =
      text(R"({"model": "tiny", "prompt": ["Once"], "max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1,
      "repetition_penalty": 1.2, "seed": -1, "stop": ["a", "b"], "stream": true, "stream_options": {"include_usage": true}, "logprobs": 5, "n": 3, "best_of": 3,
      "presence_penalty": 1.5, "frequency_penalty": -2, "logit_bias": {"270": -100, "3": 0.5}, "suffix": null, "user": "me", "unknown": null})");
  ASSERT_EQ(request.prompts.size(), 1U);
  EXPECT_EQ(request.prompts[0].text, "Once");
  EXPECT_EQ(request.max_tokens, 7);
  EXPECT_EQ(request.options.temperature, 0.5);
  EXPECT_EQ(request.options.top_p, 0.9);
  EXPECT_EQ(request.options.top_k, 40);
  EXPECT_EQ(request.options.min_p, 0.1);
  EXPECT_EQ(request.options.repetition_penalty, 1.2);
  EXPECT_EQ(request.options.presence_penalty, 1.5);
  EXPECT_EQ(request.options.frequency_penalty, -2);
  EXPECT_EQ(request.options.logit_bias, (std::vector<LogitBias>{{3, 0.5}, {270, -100}}));
  EXPECT_TRUE(text(R"({"logit_bias": {}})").options.logit_bias.empty());
  EXPECT_EQ(request.options.num_samples, 3);
  EXPECT_EQ(request.seed, (Seed{.bits = std::numeric_limits<std::uint64_t>::max(), .is_negative = true}));
  EXPECT_EQ(request.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(request.streams && request.streams_usage);
  EXPECT_EQ(request.alternatives, 5);
  EXPECT_TRUE(text(R"({"echo": true})").echo);
  EXPECT_EQ(text(R"({"parse_special": false})").special_names, SpecialNames::text);
  EXPECT_EQ(text(R"({"logprobs": 20})").alternatives, 20);
  EXPECT_EQ(text(R"({"temperature": 1000})").options.temperature, 1000) << "as in sample";
  EXPECT_TRUE(text(R"({"stream": true, "timings_per_token": true})").streams_timings);
  EXPECT_EQ(text(R"({"max_tokens": 0})").max_tokens, 0);
  EXPECT_EQ(text(R"({"max_tokens": 3, "max_completion_tokens": 4})").max_tokens, 4);
  EXPECT_EQ(text(R"({"top_k": -1})").options.top_k, 0);
  EXPECT_EQ(text(R"({"seed": 18446744073709551615})").seed, Seed{.bits = std::numeric_limits<std::uint64_t>::max()});
}

TEST(ApiRequest, ReadsConversations) {
  const ApiRequest request =
      chat(R"({"messages": [{"role": "developer", "content": "be kind"}, {"role": "user", "content": [{"type": "text", "text": "a"},
      {"type": "text", "text": "b"}], "name": "x"}, {"role": "assistant", "content": "", "tool_calls": []}], "logprobs": true, "top_logprobs": 20, "tools": [],
      "tool_choice": "none", "response_format": {"type": "text"}, "modalities": ["text"], "store": false, "metadata": {}})");
  EXPECT_EQ(request.messages,
            (std::vector<Message>{{"developer", "be kind"}, {.role = "user", .content = "a\nb", .parts = {"a", "b"}}, {"assistant", ""}}));
  EXPECT_EQ(request.alternatives, 20);
  EXPECT_EQ(chat(R"({"messages": [{"role": "user", "content": "a"}], "logprobs": true})").alternatives, 0);
  EXPECT_FALSE(chat(R"({"messages": [{"role": "user", "content": "a"}], "logprobs": false, "top_logprobs": 0})").alternatives);
}

TEST(ApiRequest, WithoutRandomnessIgnoresFieldsThatWouldChangeNothing) {
  for (const char* body : {R"({"temperature": 0, "top_p": 0.5, "top_k": 3, "min_p": 0.2})", R"({"top_p": 0})", R"({"min_p": 1})"}) {
    const SampleOptions options = text(body).options;
    check(options);
    EXPECT_EQ(options.temperature, 0) << body;
  }
}

TEST(ApiRequest, RefusesTextThatIsNotJson) {
  const std::string code = "400  invalid_json: the body ";
  EXPECT_TRUE(names(of_text(""), {code, "JSON object", "truncated"}));
  EXPECT_TRUE(names(of_text(R"({"prompt": "a)"), {code, "JSON object", "truncated"}));
  EXPECT_TRUE(names(of_text(R"({"a": nan})"), {code, "JSON object", "byte 8"}));
  EXPECT_TRUE(names(of_text("[1]"), {code, "JSON object"}));
  EXPECT_TRUE(names(of_text("{\"prompt\": \"\xff\"}"), {code, "JSON object", "byte 13"}));
  EXPECT_TRUE(names(of_text(R"({"temperature": 1e999})"), {code, "1.8e308"}));
  EXPECT_TRUE(names(of_text(R"({"a": )" + std::string(40, '[')), {code, "nested", "32"}));
  EXPECT_TRUE(names(of_text(R"({"a": )" + std::string(3'000'000, '[')), {code, "nested", "32"}));
  std::string many = R"({"a": [0)";
  for (int i = 0; i < 200'000; ++i) {
    many += ",0";
  }
  EXPECT_TRUE(names(of_text(many + "]}"), {code, "131072"}));
  EXPECT_TRUE(names(of_text(std::string(kLargestRequest + 1, ' ')), {code, "4194305", "4194304"}));
}

TEST(ApiRequest, KnowsItsModel) {
  expect_refused(of_text(R"({"model": "gpt-4"})"), "404 model model_not_found", {"\"gpt-4\"", "\"tiny\""});
  expect_refused(of_text(R"({"model": 7})"), "404 model model_not_found", {"7", "\"tiny\""});
  EXPECT_EQ(of_text(R"({"model": null})"), "accepted");
  const std::vector<std::string> two = {"base", "tuned"};
  const auto model_of = [&](const std::string& body) { return read_api_request(body, Endpoint::completions, two).model; };
  EXPECT_EQ(model_of(R"({"model": "tuned"})"), "tuned");
  EXPECT_EQ(model_of(R"({"model": "base"})"), "base");
  EXPECT_EQ(model_of("{}"), "base") << "the first one by default";
  EXPECT_TRUE(names(testing::error_of([&] { model_of(R"({"model": "tiny"})"); }), {"\"tiny\"", "\"base\"", "\"tuned\""}));
}

TEST(ApiRequest, NamesTheFieldThatIsWrong) {
  const auto expect = [](const std::string& field, const std::string& value, std::vector<std::string> parts) {
    parts.push_back(field);
    expect_refused(of_text("{\"" + field + "\": " + value + "}"), "400 " + field + " invalid_value", parts);
  };
  expect("prompt", "7", {"7", "a string", "token id"});
  expect("prompt", "{}", {"an object", "a string", "token id"});
  expect("prompt", "[]", {"a list of 0", "one token id"});
  expect("prompt", R"(["a", []])", {"prompt[1]", "a list of 0", "one token id"});
  expect("prompt", R"(["a", 5])", {"prompt[1]", "5", "a string"});
  expect("prompt", "[1, 2.5]", {"prompt[1]", "2.5", "/tokenize"});
  expect("prompt", "[[1], [3, 4, -5]]", {"prompt[1][2]", "-5", "/tokenize"});
  expect("prompt", "[[1], [3, null]]", {"prompt[1][1]", "null", "/tokenize"});
  expect("prompt", "[18446744073709551615]", {"prompt[0]", "18446744073709551615"});
  expect("max_tokens", "-1", {"-1", "integer", "0", "1000000000"});
  expect("max_tokens", "1.5", {"1.5", "integer", "0", "1000000000"});
  expect("max_tokens", "1e300", {"1e+300", "integer", "0", "1000000000"});
  expect("max_tokens", "18446744073709551615", {"18446744073709551615", "integer", "0", "1000000000"});
  expect("max_completion_tokens", "\"7\"", {"\"7\"", "integer", "0", "1000000000"});
  expect("temperature", "1000.5", {"1000.5", "number", "0", "1000"});
  expect("temperature", "-0.1", {"-0.1", "number", "0", "1000"});
  expect("temperature", "true", {"true", "number", "0", "1000"});
  expect("parse_special", "1", {"1", "true or false"});
  expect("top_p", "1.1", {"1.1", "number", "0", "1"});
  expect("min_p", "\"a\"", {"\"a\"", "number", "0", "1"});
  expect("top_k", "-2", {"-2", "integer", "-1", "1000000000"});
  expect("repetition_penalty", "0", {"0", "number", "0.01", "100"});
  expect("presence_penalty", "2.1", {"2.1", "number", "-2", "2"});
  expect("frequency_penalty", "-3", {"-3", "number", "-2", "2"});
  expect("frequency_penalty", "\"1\"", {"\"1\"", "number", "-2", "2"});
  expect("logit_bias", "7", {"7", "object"});
  expect("logit_bias", R"([["a", 1]])", {"list of 1", "object"});
  expect("logit_bias", R"({"5": 100.5})", {"token 5", "100.5", "-100", "100"});
  expect("logit_bias", R"({"5": "1"})", {"token 5", "\"1\"", "-100", "100"});
  expect("logit_bias", R"({"5": null})", {"token 5", "null", "-100", "100"});
  for (const char* id : {"the", "", "-1", "05", "+5", "5 ", "1.5", "99999999999"}) {
    expect("logit_bias", concat("{\"", id, "\": 1}"), {concat('"', id, '"'), "id", "/tokenize"});
  }
  expect("seed", "1.5", {"1.5", "integer", "64 bits"});
  expect("seed", "{}", {"object", "integer", "64 bits"});
  expect("stop", "7", {"7", "string", "1", "1024", "16"});
  expect("stop", "\"\"", {"\"\"", "string", "1", "1024", "16"});
  expect("stop", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", {"[1,2,", "string", "1", "1024", "16"});
  expect("stop", "[1]", {"[1]", "string", "1", "1024", "16"});
  expect("stream", "1", {"1", "true or false"});
  expect("echo", "\"yes\"", {"\"yes\"", "true or false"});
  expect("stream_options", R"({"include_usage": true})", {"object", "\"stream\": true"});
  expect("logprobs", "21", {"21", "integer", "0", "20"});
  expect("logprobs", "true", {"true", "integer", "0", "20"});
  expect("n", "0", {"0", "integer", "1", "8"});
  expect("n", "9", {"9", "integer", "1", "8"});
  expect("best_of", "2", {"2", "1"});
  expect_refused(of_text(R"({"stream": true, "stream_options": 1})"), "400 stream_options invalid_value",
                 {"stream_options", "1", "object"});
  expect_refused(of_text(R"({"stream": true, "stream_options": {"include_usage": 1}})"), "400 include_usage invalid_value",
                 {"include_usage", "1", "true or false"});
}

TEST(ApiRequest, HasPromptsOfAllForms) {
  const auto prompts = [](const std::string& prompt) {
    std::string found;
    for (const ApiPrompt& one : text("{\"prompt\": " + prompt + "}").prompts) {
      found += one.text + '|';
      for (const Token token : one.tokens.value_or(std::vector<Token>{})) {
        append_to(found, concat(token, ' '));
      }
      found += one.tokens ? "ids;" : ";";
    }
    return found;
  };
  EXPECT_EQ(prompts("\"a\""), "a|;");
  EXPECT_EQ(prompts(R"(["a", "", "c"])"), "a|;|;c|;");
  EXPECT_EQ(prompts("[3, 0, 5]"), "|3 0 5 ids;");
  EXPECT_EQ(prompts("[[3], [4, 5]]"), "|3 ids;|4 5 ids;");
  const std::string many = [] {
    std::string list;
    for (int i = 0; i < 600; ++i) {
      list += concat(i == 0 ? "" : ",", "[1]");
    }
    return '[' + list + ']';
  }();
  EXPECT_EQ(text("{\"prompt\": " + many + "}").prompts.size(), 600U);
  expect_refused(of_text("{\"n\": 2, \"prompt\": " + many + "}"), "400 prompt invalid_value", {"600", "2", "1024"});
}

TEST(ApiRequest, ScoresPromptsOnlyIfTheyAreEchoed) {
  EXPECT_TRUE(text(R"({"echo": true, "logprobs": 0})").scores_prompts());
  EXPECT_FALSE(text(R"({"echo": true})").scores_prompts());
  EXPECT_FALSE(text(R"({"logprobs": 3})").scores_prompts());
}

TEST(ApiRequest, RefusesObjectsWithVeryManyFields) {
  const auto metadata = [](int count) {
    std::string fields;
    for (int i = 0; i < count; ++i) {
      fields += concat(i == 0 ? "" : ",", "\"", i, "\":0");
    }
    return of_text(concat(R"({"metadata": {)", fields, "}}"));
  };
  EXPECT_EQ(metadata(5000), "accepted");
  expect_refused(metadata(10'001), "400  invalid_value", {"10001", "10000"});
}

TEST(ApiRequest, RefusesUnsupportedFieldsByName) {
  for (const char* field :
       {"tools", "functions", "function_call", "suffix", "audio", "prediction", "web_search_options", "chat_template_kwargs", "documents",
        "grammar", "ebnf", "guided_grammar", "structural_tag", "stop_token_ids", "bad_words", "options"}) {
    expect_refused(of_text(concat("{\"", field, "\": [1]}")), concat("400 ", field, " invalid_value"), {field, "a list of 1", "supported"});
    EXPECT_EQ(of_text(concat("{\"", field, "\": null}")), "accepted");
  }
  const auto expect = [](const char* field, const char* refused, const char* neutral) {
    expect_refused(of_chat(concat('"', field, "\": ", refused)), concat("400 ", field, " invalid_value"), {});
    EXPECT_EQ(of_chat(concat('"', field, "\": ", neutral)), "accepted");
  };
  expect("continue_final_message", "true", "false");
  expect("add_generation_prompt", "false", "true");
  expect("min_tokens", "5", "0");
  expect("ignore_eos", "true", "false");
  expect("skip_special_tokens", "false", "true");
  expect("grammar", R"("root ::= x")", "\"\"");
  expect("repeat_penalty", "1.1", "1.0");
  expect("n_predict", "5", "null");
  expect("tool_choice", "\"required\"", "\"auto\"");
  expect("modalities", R"(["audio"])", R"(["text"])");
  expect("reasoning_format", "\"deepseek-legacy\"", "\"auto\"");
  expect("parse_tool_calls", "false", "true");
  expect("echo", "true", "false");
  expect_refused(of_text(R"({"min_tokens": 5})"), "400 min_tokens invalid_value", {"0"});
  expect_refused(of_text(R"({"n_predict": 5})"), "400 n_predict invalid_value", {"max_tokens"});
  EXPECT_TRUE(of_text(R"({"stream": true, "stream_options": {"continuous_usage_stats": true}})")
                  .starts_with("400 stream_options.continuous_usage_stats "));
}

TEST(ApiRequest, AcceptsFieldsThatDoNotChangeTheText) {
  for (const char* field :
       {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "cache_prompt", "id_slot", "mirostat_tau"}) {
    EXPECT_EQ(of_chat(concat('"', field, "\": {\"a\": [1]}")), "accepted") << field;
  }
}

TEST(ApiRequest, RefusesNamesThatItDoesNotKnow) {
  expect_refused(of_text(R"({"max_token": 5})"), "400 max_token unknown_parameter", {"\"max_token\"", "\"max_tokens\""});
  expect_refused(of_text(R"({"Temperature": 0})"), "400 Temperature unknown_parameter", {"\"Temperature\""});
  expect_refused(of_text(R"({"zzz": {}})"), "400 zzz unknown_parameter", {"\"zzz\""});
  expect_refused(of_text(R"({"messages": []})"), "400 messages unknown_parameter", {"\"messages\""});
  expect_refused(of_chat(R"("prompt": "a")"), "400 prompt unknown_parameter", {"\"prompt\""});
}

TEST(ApiRequest, NamesTheErrorInAConversation) {
  const auto expect = [](const std::string& messages, const std::string& where, std::vector<std::string> parts) {
    parts.push_back(where);
    expect_refused(of_chat("", messages), "400 " + where + " invalid_value", parts);
  };
  const std::string form = R"({"role": ..., "content": ...})";
  expect_refused(refusal(Endpoint::chat, "{}"), "400 messages invalid_value", {"no messages", form});
  expect("7", "messages", {"7", "1", "2048", form});
  expect("[]", "messages", {"0", "1", "2048", form});
  expect("[1]", "messages[0]", {"1", form});
  expect(R"([{"content": "a"}])", "messages[0].role", {"missing", "\"system\"", "\"tool\""});
  expect(R"([{"role": "critic", "content": "a"}])", "messages[0].role", {"\"critic\"", "\"system\"", "\"tool\""});
  expect(R"([{"role": "user"}])", "messages[0].content", {"missing", "string"});
  expect(R"([{"role": "user", "content": null}])", "messages[0].content", {"missing", "string"});
  expect(R"([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])", "messages[0].content[0].type",
         {"\"image_url\"", "\"text\""});
  expect(R"([{"role": "user", "content": [{"type": "text", "text": 1}]}])", "messages[0].content[0].text", {"1", "string"});
  expect(R"([{"role": "assistant", "content": "", "tool_calls": [1]}])", "messages[0].tool_calls[0]", {"1", "function"});
  EXPECT_EQ(of_chat("", R"([{"role": "user", "content": "a", "name": "x", "timestamp": 5}])"), "accepted");
  EXPECT_EQ(chat(R"({"messages": [{"role": "user", "content": "a", "timestamp": 5}]})").ignored, "\"timestamp\" in 1 message");
  std::string many = R"([{"role": "user", "content": "a"})";
  for (int i = 0; i < 2048; ++i) {
    many += R"(, {"role": "user", "content": "a"})";
  }
  expect(many + "]", "messages", {"2049", "1", "2048", form});
  expect_refused(of_chat(R"("max_tokens": 0)"), "400 max_tokens invalid_value", {"max_tokens", "0", "integer", "1", "1000000000"});
  expect_refused(of_chat(R"("logprobs": 3)"), "400 logprobs invalid_value", {"logprobs", "3", "true or false"});
  expect_refused(of_chat(R"("logprobs": true, "top_logprobs": 21)"), "400 top_logprobs invalid_value",
                 {"top_logprobs", "21", "integer", "0", "20"});
  expect_refused(of_chat(R"("top_logprobs": 2)"), "400 top_logprobs invalid_value", {"top_logprobs", "2", "\"logprobs\": true"});
}

/// The request of a short conversation with these fields.
ApiRequest with(const std::string& fields) { return chat(R"({"messages": [{"role": "user", "content": "a"}], )" + fields + "}"); }

constexpr const char* kTools =
    R"("tools": [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object", "b": 1, "a": 2}, "strict": true}},
    {"type": "function", "function": {"name": "now"}}])";

TEST(ApiRequest, ReadsTools) {
  const ToolRequest all = with(kTools).tools;
  EXPECT_EQ(all.choice, ToolChoice::automatic);
  EXPECT_TRUE(all.several);
  EXPECT_EQ(all.tools, (std::vector<Tool>{{"add", R"({"type":"object","b":1,"a":2})"}, {"now", ""}})) << "in the order of the keys";
  EXPECT_TRUE(all.text.starts_with(R"([{"type":"function","function":{"name":"add","description":"Adds.")")) << all.text;
  const auto chosen = [&](const char* choice) {
    return with(concat(kTools, R"(, "parallel_tool_calls": false, "tool_choice": )", choice)).tools;
  };
  EXPECT_EQ(chosen("\"auto\"").tools.size(), 2U);
  EXPECT_FALSE(chosen("\"auto\"").several);
  EXPECT_EQ(chosen("\"required\"").choice, ToolChoice::required);
  const ToolRequest named = chosen(R"({"type": "function", "function": {"name": "now"}})");
  EXPECT_EQ(named.choice, ToolChoice::required);
  EXPECT_EQ(named.tools, (std::vector<Tool>{{"now", ""}}));
  EXPECT_EQ(named.text, all.text) << "the template writes all of them";
  const ToolRequest none = chosen("\"none\"");
  EXPECT_EQ(none.choice, ToolChoice::none);
  EXPECT_TRUE(none.tools.empty() && none.text.empty());
  EXPECT_EQ(with(R"("tools": [], "tool_choice": "auto")").tools.choice, ToolChoice::none);
}

TEST(ApiRequest, NamesTheErrorInATool) {
  const auto expect = [](const std::string& tools, const std::string& where, std::vector<std::string> parts) {
    parts.push_back(where);
    expect_refused(of_chat("\"tools\": " + tools), "400 " + where + " invalid_value", parts);
  };
  const auto function = [](const std::string& fields) { return R"([{"type": "function", "function": {)" + fields + "}}]"; };
  expect("7", "tools", {"7", "128"});
  expect("[7]", "tools[0]", {"7", "function"});
  expect(R"([{"type": "web_search"}])", "tools[0].type", {"\"web_search\"", "\"function\""});
  expect(R"([{"type": "function"}])", "tools[0].function", {"missing"});
  expect(function(""), "tools[0].function.name", {"missing"});
  expect(function(R"("name": "a b")"), "tools[0].function.name", {"\"a b\"", "128"});
  expect(function(R"("name": "\"")"), "tools[0].function.name", {"128"});
  expect(function(R"("name": "a", "description": 5)"), "tools[0].function.description", {"5"});
  expect(function(R"("name": "a", "parameters": "x")"), "tools[0].function.parameters", {"\"x\"", "schema"});
  expect(function(R"("name": "a", "strict": 1)"), "tools[0].function.strict", {"1", "true or false"});
  expect(function(R"("name": "a", "input_schema": {"type": "object"})"), "tools[0].function.input_schema", {"parameters"});
  expect(R"([{"type": "function", "function": {"name": "a"}}, {"type": "function", "function": {"name": "a"}}])", "tools[1].function.name",
         {"\"a\""});
  const auto choice = [](const std::string& value, std::vector<std::string> parts) {
    parts.emplace_back("tool_choice");
    expect_refused(of_chat(concat(kTools, ", \"tool_choice\": ", value)), "400 tool_choice invalid_value", parts);
  };
  choice("7", {"7", "\"auto\"", "\"required\""});
  choice("\"any\"", {"\"any\"", "\"required\""});
  choice(R"({"type": "function", "name": "add"})", {"function"});
  choice(R"({"type": "function", "function": {"name": "other"}})", {"\"other\""});
  expect_refused(of_chat(R"("tool_choice": "required")"), "400 tool_choice invalid_value", {"\"required\"", "tools"});
  expect_refused(of_chat(R"("parallel_tool_calls": 1)"), "400 parallel_tool_calls invalid_value", {"1", "true or false"});
}

TEST(ApiRequest, ReadsHowAnAnswerReasons) {
  const ReasoningRequest nothing = with("\"n\": 1").reasoning;
  EXPECT_FALSE(nothing.is_on || nothing.stays_in_content || nothing.is_hidden);
  EXPECT_TRUE(nothing.effort.empty() && nothing.variables.empty());
  EXPECT_EQ(with(R"("enable_thinking": false)").reasoning.is_on, false);
  EXPECT_EQ(with(R"("think": true, "enable_thinking": true)").reasoning.is_on, true);
  const ReasoningRequest variables = with(R"("chat_template_kwargs": {"enable_thinking": false, "b": [1], "a": "x"})").reasoning;
  EXPECT_EQ(variables.is_on, false);
  EXPECT_EQ(variables.variables, R"({"b":[1],"a":"x"})");
  EXPECT_EQ(with(R"("reasoning_effort": "low")").reasoning.effort, "low");
  EXPECT_TRUE(with(R"("reasoning_format": "none")").reasoning.stays_in_content);
  EXPECT_TRUE(with(R"("separate_reasoning": false)").reasoning.stays_in_content);
  EXPECT_TRUE(with(R"("include_reasoning": false)").reasoning.is_hidden);
  const auto refused = [](const std::string& fields, const std::string& where) {
    expect_refused(of_chat(fields), "400 " + where + " invalid_value", {});
  };
  refused(R"("enable_thinking": 1)", "enable_thinking");
  refused(R"("think": "high")", "think");
  refused(R"("enable_thinking": true, "think": false)", "think");
  refused(R"("chat_template_kwargs": 1)", "chat_template_kwargs");
  refused(R"("chat_template_kwargs": {"enable_thinking": "no"})", "chat_template_kwargs.enable_thinking");
  refused(R"("enable_thinking": true, "chat_template_kwargs": {"enable_thinking": false})", "chat_template_kwargs.enable_thinking");
  refused(R"("reasoning_effort": "much")", "reasoning_effort");
}

}  // namespace
}  // namespace dikkat::serve
