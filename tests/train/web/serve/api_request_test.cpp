#include "train/web/serve/api_request.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/web/serve/api_error.h"

namespace dikkat {
namespace {

using testing::names;

ApiRequest text(const std::string& body) { return read_api_request(body, Endpoint::completions, "tiny"); }
ApiRequest chat(const std::string& body) { return read_api_request(body, Endpoint::chat, "tiny"); }

/// "status param code: sentence" of a refusal.
std::string refusal(Endpoint endpoint, const std::string& body) {
  try {
    read_api_request(body, endpoint, "tiny");
  } catch (const ApiError& error) {
    return concat(error.status(), ' ', error.param(), ' ', error.code(), ": ", error.what());
  }
  return "accepted";
}
std::string of_text(const std::string& body) { return refusal(Endpoint::completions, body); }
std::string of_chat(const std::string& fields, const std::string& messages = R"([{"role": "user", "content": "hello"}])") {
  return refusal(Endpoint::chat, R"({"messages": )" + messages + (fields.empty() ? "" : ", ") + fields + "}");
}

TEST(ApiRequest, HasTheProtocolsDefaults) {
  const ApiRequest request = text(R"({"prompt": "Once"})");
  EXPECT_EQ(request.prompt, "Once");
  EXPECT_FALSE(request.max_tokens || request.seed || request.alternatives);
  EXPECT_FALSE(request.streams || request.echo || request.streams_usage);
  EXPECT_TRUE(request.stops.empty());
  EXPECT_EQ(request.options.temperature, 1);
  EXPECT_EQ(request.options.top_p, 1);
  EXPECT_EQ(request.options.top_k, 0);
  EXPECT_EQ(request.options.num_samples, 1);
  EXPECT_EQ(text("{}").prompt, "");
}

TEST(ApiRequest, ReadsEveryField) {
  const ApiRequest request =
      text(R"({"model": "tiny", "prompt": ["Once"], "max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1,
      "repetition_penalty": 1.2, "seed": -1, "stop": ["a", "b"], "stream": true, "stream_options": {"include_usage": true}, "logprobs": 5, "n": 3, "best_of": 3,
      "presence_penalty": 0, "frequency_penalty": 0.0, "logit_bias": {}, "suffix": null, "user": "me", "unknown": null})");
  EXPECT_EQ(request.prompt, "Once");
  EXPECT_EQ(request.max_tokens, 7);
  EXPECT_EQ(request.options.temperature, 0.5);
  EXPECT_EQ(request.options.top_p, 0.9);
  EXPECT_EQ(request.options.top_k, 40);
  EXPECT_EQ(request.options.min_p, 0.1);
  EXPECT_EQ(request.options.repetition_penalty, 1.2);
  EXPECT_EQ(request.options.num_samples, 3);
  EXPECT_EQ(request.seed, (Seed{.bits = std::numeric_limits<std::uint64_t>::max(), .is_negative = true}));
  EXPECT_EQ(request.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(request.streams && request.streams_usage);
  EXPECT_EQ(request.alternatives, 5);
  EXPECT_TRUE(text(R"({"echo": true})").echo);
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
  EXPECT_EQ(request.messages, (std::vector<Message>{{"system", "be kind"}, {"user", "ab"}, {"assistant", ""}}));
  EXPECT_EQ(request.alternatives, 20);
  EXPECT_EQ(chat(R"({"messages": [{"role": "user", "content": "a"}], "logprobs": true})").alternatives, 0);
  EXPECT_FALSE(chat(R"({"messages": [{"role": "user", "content": "a"}], "logprobs": false, "top_logprobs": 0})").alternatives);
}

TEST(ApiRequest, WithoutRandomnessIgnoresWhatWouldChangeNothing) {
  for (const char* body : {R"({"temperature": 0, "top_p": 0.5, "top_k": 3, "min_p": 0.2})", R"({"top_p": 0})", R"({"min_p": 1})"}) {
    const SampleOptions options = text(body).options;
    check(options);
    EXPECT_EQ(options.temperature, 0) << body;
  }
}

TEST(ApiRequest, RefusesWhatIsNoJson) {
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
  EXPECT_EQ(of_text(R"({"model": "gpt-4"})"),
            R"(404 model model_not_found: the model "gpt-4" is not served here, expected "tiny", or no model at all)");
  EXPECT_EQ(of_text(R"({"model": 7})").substr(0, 25), "404 model model_not_found");
  EXPECT_EQ(of_text(R"({"model": null})"), "accepted");
}

TEST(ApiRequest, NamesTheFieldThatIsWrong) {
  const auto expect = [](const std::string& field, const std::string& value, const std::string& sentence) {
    EXPECT_EQ(of_text("{\"" + field + "\": " + value + "}"), "400 " + field + " invalid_value: " + sentence);
  };
  expect("prompt", "7",
         "prompt is 7, expected a string, or a list of one string: send several prompts one by one, and text instead of tokens");
  expect("prompt", R"(["a", "b"])",
         "prompt is a list of 2, expected a string, or a list of one string: send several prompts one by one, and text instead of tokens");
  expect("prompt", "[1, 2, 3]",
         "prompt is a list of 3, expected a string, or a list of one string: send several prompts one by one, and text instead of tokens");
  expect("max_tokens", "-1", "max_tokens is -1, expected an integer from 0 to 1000000000");
  expect("max_tokens", "1.5", "max_tokens is 1.5, expected an integer from 0 to 1000000000");
  expect("max_tokens", "1e300", "max_tokens is 1e+300, expected an integer from 0 to 1000000000");
  expect("max_tokens", "18446744073709551615", "max_tokens is 18446744073709551615, expected an integer from 0 to 1000000000");
  expect("max_completion_tokens", "\"7\"", "max_completion_tokens is \"7\", expected an integer from 0 to 1000000000");
  expect("temperature", "2.1", "temperature is 2.1, expected a number from 0 to 2");
  expect("temperature", "-0.1", "temperature is -0.1, expected a number from 0 to 2");
  expect("temperature", "true", "temperature is true, expected a number from 0 to 2");
  expect("top_p", "1.1", "top_p is 1.1, expected a number from 0 to 1");
  expect("min_p", "\"a\"", "min_p is \"a\", expected a number from 0 to 1");
  expect("top_k", "-2", "top_k is -2, expected an integer from -1 to 1000000000");
  expect("repetition_penalty", "0", "repetition_penalty is 0, expected a number from 0.01 to 100");
  expect("seed", "1.5", "seed is 1.5, expected an integer of 64 bits");
  expect("seed", "{}", "seed is an object, expected an integer of 64 bits");
  expect("stop", "7", "stop is 7, expected a string of 1 to 1024 bytes, or a list of up to 4");
  expect("stop", "\"\"", "stop is \"\", expected a string of 1 to 1024 bytes, or a list of up to 4");
  expect("stop", R"(["a", "b", "c", "d", "e"])",
         R"(stop is ["a","b","c","d","e"], expected a string of 1 to 1024 bytes, or a list of up to 4)");
  expect("stop", "[1]", "stop is [1], expected a string of 1 to 1024 bytes, or a list of up to 4");
  expect("stream", "1", "stream is 1, expected true or false");
  expect("echo", "\"yes\"", "echo is \"yes\", expected true or false");
  EXPECT_TRUE(of_text(R"({"stream_options": {"include_usage": true}})").starts_with("400 stream_options invalid_value: "));
  expect("logprobs", "6", "logprobs is 6, expected an integer from 0 to 5");
  expect("logprobs", "true", "logprobs is true, expected an integer from 0 to 5");
  expect("n", "0", "n is 0, expected an integer from 1 to 8");
  expect("n", "9", "n is 9, expected an integer from 1 to 8");
  expect("best_of", "2", "best_of is 2, expected 1, as n: this server returns all that it generates");
  EXPECT_EQ(of_text(R"({"stream": true, "stream_options": 1})"),
            "400 stream_options invalid_value: stream_options is 1, expected an object");
  EXPECT_EQ(of_text(R"({"stream": true, "stream_options": {"include_usage": 1}})"),
            "400 include_usage invalid_value: include_usage is 1, expected true or false");
  EXPECT_EQ(of_text(R"({"echo": true, "logprobs": 0})").substr(0, 23), "400 echo invalid_value:");
}

TEST(ApiRequest, RefusesWhatItDoesNotDoByName) {
  for (const char* field :
       {"tools", "functions", "function_call", "logit_bias", "suffix", "audio", "prediction", "web_search_options", "chat_template_kwargs",
        "documents", "grammar", "json_schema", "guided_json", "structured_outputs", "stop_token_ids", "bad_words", "options"}) {
    EXPECT_TRUE(of_text(concat("{\"", field, "\": [1]}"))
                    .starts_with(concat("400 ", field, " invalid_value: ", field, " is a list of 1, which is not supported")))
        << of_text(concat("{\"", field, "\": [1]}"));
    EXPECT_EQ(of_text(concat("{\"", field, "\": null}")), "accepted");
  }
  const auto expect = [](const char* field, const char* refused, const char* neutral) {
    EXPECT_TRUE(of_chat(concat('"', field, "\": ", refused)).starts_with(concat("400 ", field, " invalid_value: ")))
        << of_chat(concat('"', field, "\": ", refused));
    EXPECT_EQ(of_chat(concat('"', field, "\": ", neutral)), "accepted");
  };
  expect("presence_penalty", "0.5", "0");
  expect("frequency_penalty", "0.5", "0.0");
  expect("continue_final_message", "true", "false");
  expect("add_generation_prompt", "false", "true");
  expect("chat_template_kwargs", R"({"enable_thinking": false})", "{}");
  expect("min_tokens", "5", "0");
  expect("ignore_eos", "true", "false");
  expect("skip_special_tokens", "false", "true");
  expect("grammar", R"("root ::= x")", "\"\"");
  expect("repeat_penalty", "1.1", "1.0");
  expect("n_predict", "5", "null");
  expect("tool_choice", "\"required\"", "\"auto\"");
  expect("response_format", R"({"type": "json_object"})", R"({"type": "text"})");
  expect("modalities", R"(["audio"])", R"(["text"])");
  expect("reasoning_effort", "\"high\"", "\"none\"");
  expect("echo", "true", "false");
  EXPECT_TRUE(of_text(R"({"min_tokens": 5})").ends_with("leave it out or set it to 0")) << of_text(R"({"min_tokens": 5})");
  EXPECT_TRUE(of_text(R"({"n_predict": 5})").ends_with("leave it out, and use max_tokens"));
  EXPECT_TRUE(of_text(R"({"stream": true, "stream_options": {"continuous_usage_stats": true}})")
                  .starts_with("400 stream_options.continuous_usage_stats "));
}

TEST(ApiRequest, TakesWhatDoesNotChangeTheText) {
  for (const char* field : {"user", "metadata", "store", "service_tier", "parallel_tool_calls", "safety_identifier", "prompt_cache_key",
                            "cache_prompt", "id_slot", "mirostat_tau"}) {
    EXPECT_EQ(of_chat(concat('"', field, "\": {\"a\": [1]}")), "accepted") << field;
  }
}

TEST(ApiRequest, RefusesNamesThatItDoesNotKnow) {
  EXPECT_EQ(of_text(R"({"max_token": 5})"),
            R"(400 max_token unknown_parameter: "max_token" is not a field that this server knows; did you mean "max_tokens"?)");
  EXPECT_EQ(of_text(R"({"Temperature": 0})").substr(0, 34), "400 Temperature unknown_parameter:");
  EXPECT_EQ(of_text(R"({"zzz": {}})"), R"(400 zzz unknown_parameter: "zzz" is not a field that this server knows; leave it out)");
  EXPECT_TRUE(of_text(R"({"messages": []})").starts_with("400 messages unknown_parameter: "));
  EXPECT_TRUE(of_chat(R"("prompt": "a")").starts_with("400 prompt unknown_parameter: "));
}

TEST(ApiRequest, NamesWhatIsWrongInAConversation) {
  const auto expect = [](const std::string& messages, const std::string& refusal) { EXPECT_EQ(of_chat("", messages), "400 " + refusal); };
  EXPECT_EQ(refusal(Endpoint::chat, "{}"),
            R"(400 messages invalid_value: there are no messages, expected a list of {"role": ..., "content": ...})");
  expect("7", R"(messages invalid_value: messages is 7, expected a list of 1 to 2048 of {"role": ..., "content": ...})");
  expect("[]", R"(messages invalid_value: messages is a list of 0, expected a list of 1 to 2048 of {"role": ..., "content": ...})");
  expect("[1]", R"(messages[0] invalid_value: messages[0] is 1, expected {"role": ..., "content": ...})");
  expect(R"([{"content": "a"}])",
         R"(messages[0].role invalid_value: messages[0].role is missing, expected "system", "user" or "assistant")");
  expect(R"([{"role": "tool", "content": "a"}])",
         R"(messages[0].role invalid_value: messages[0].role is "tool", expected "system", "user" or "assistant")");
  expect(R"([{"role": "user"}])",
         "messages[0].content invalid_value: messages[0].content is missing, expected a string or a list of parts of text");
  expect(R"([{"role": "user", "content": null}])",
         "messages[0].content invalid_value: messages[0].content is null, expected a string or a list of parts of text");
  expect(
      R"([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])",
      R"(messages[0].content[0].type invalid_value: messages[0].content[0].type is "image_url", expected "text": only text is supported)");
  expect(R"([{"role": "user", "content": [{"type": "text", "text": 1}]}])",
         "messages[0].content[0].text invalid_value: messages[0].content[0].text is 1, expected a string");
  expect(R"([{"role": "assistant", "content": "", "tool_calls": [1]}])",
         "messages[0].tool_calls invalid_value: messages[0].tool_calls is given, but tool calls are not supported; leave it out only if "
         "the text is right without it");
  EXPECT_EQ(of_chat("", R"([{"role": "user", "content": "a", "name": "x", "timestamp": 5}])"), "accepted");
  EXPECT_EQ(chat(R"({"messages": [{"role": "user", "content": "a", "timestamp": 5}]})").ignored, "\"timestamp\" in 1 message");
  std::string many = R"([{"role": "user", "content": "a"})";
  for (int i = 0; i < 2048; ++i) {
    many += R"(, {"role": "user", "content": "a"})";
  }
  expect(many + "]",
         R"(messages invalid_value: messages is a list of 2049, expected a list of 1 to 2048 of {"role": ..., "content": ...})");
  EXPECT_EQ(of_chat(R"("max_tokens": 0)"), "400 max_tokens invalid_value: max_tokens is 0, expected an integer from 1 to 1000000000");
  EXPECT_EQ(of_chat(R"("logprobs": 3)"), "400 logprobs invalid_value: logprobs is 3, expected true or false");
  EXPECT_EQ(of_chat(R"("logprobs": true, "top_logprobs": 21)"),
            "400 top_logprobs invalid_value: top_logprobs is 21, expected an integer from 0 to 20");
  EXPECT_EQ(of_chat(R"("top_logprobs": 2)"),
            "400 top_logprobs invalid_value: top_logprobs is 2 without logprobs, expected \"logprobs\": true beside it");
}

}  // namespace
}  // namespace dikkat
