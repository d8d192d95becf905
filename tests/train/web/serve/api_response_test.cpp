#include "train/web/serve/api_response.h"

#include <gtest/gtest.h>

namespace dikkat::serve {
namespace {

ResponseHead head(Endpoint endpoint, bool has_scores = false) {
  return {.endpoint = endpoint,
          .id = "id-1",
          .created = 12,
          .model = "tiny",
          .fingerprint = "print",
          .seed = {.bits = 7},
          .has_scores = has_scores};
}

const std::string kBegun = R"("created":12,"model":"tiny","system_fingerprint":"print","seed":7,"choices":)";
const std::vector<TokenScore> kScores = {
    {.text = "a\xC4", .log_probability = -0.5, .likeliest = {{"b", -0.25}, {"\xC4", -1}}, .offset = 3}};

const Usage kUsage{.prompt = 3, .cached = 2, .completion = 5, .reading = 0.25, .generating = 0.5};
const std::string kUsageText =
    R"("usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":2}},)"
    R"("timings":{"cache_n":2,"prompt_n":1,"prompt_ms":250.0,"prompt_per_second":4.0,"predicted_n":5,"predicted_ms":500.0,)"
    R"("predicted_per_second":8.0})";

TEST(ApiResponse, OfAText) {
  const AnswerDelta piece{.text = "a \"b\"\n", .tokens = kScores, .ending = Ending::length};
  EXPECT_EQ(response_json(head(Endpoint::completions), {piece}, kUsage),
            R"({"id":"id-1","object":"text_completion",)" + kBegun +
                R"([{"index":0,"text":"a \"b\"\n","logprobs":null,"finish_reason":"length"}],)" + kUsageText + '}');
  EXPECT_EQ(
      piece_event(head(Endpoint::completions, true), piece, false),
      R"(data: {"id":"id-1","object":"text_completion",)" + kBegun +
          R"([{"index":0,"text":"a \"b\"\n","logprobs":{"tokens":["bytes:\\x61\\xc4"],"token_logprobs":[-0.5],"top_logprobs":[{"b":-0.25,"bytes:\\xc4":-1.0,)"
          R"("bytes:\\x61\\xc4":-0.5}],"text_offset":[3]},"finish_reason":"length"}]})"
          "\n\n");
}

TEST(ApiResponse, OfTheScoresOfAPrompt) {
  // The first token has no score. Of two tokens with one name, the likelier one counts.
  const AnswerDelta piece{
      .text = "ab", .tokens = {{.text = "a"}, {.text = "b", .log_probability = -2, .likeliest = {{"x", -1}, {"b", -1.5}}, .offset = 1}}};
  const std::string body = response_json(head(Endpoint::completions, true), {piece}, kUsage);
  const std::string expected =
      R"("logprobs":{"tokens":["a","b"],"token_logprobs":[null,-2.0],"top_logprobs":[null,{"x":-1.0,"b":-1.5}],"text_offset":[0,1]})";
  EXPECT_NE(body.find(expected), std::string::npos) << body;
}

TEST(ApiResponse, OfAConversation) {
  const AnswerDelta piece{.choice = 1, .text = "so", .tokens = kScores, .ending = Ending::end};
  EXPECT_EQ(response_json(head(Endpoint::chat, true), {piece}, kUsage),
            R"({"id":"id-1","object":"chat.completion",)" + kBegun +
                R"([{"index":1,"message":{"role":"assistant","content":"so","refusal":null},"logprobs":{"content":[{"token":"a)"
                "\xEF\xBF\xBD"
                R"(","logprob":-0.5,"bytes":[97,196],"top_logprobs":[{"token":"b","logprob":-0.25,"bytes":[98]},{"token":")"
                "\xEF\xBF\xBD"
                R"(","logprob":-1.0,"bytes":[196]}]}],"refusal":null},"finish_reason":"stop"}],)" +
                kUsageText + '}');
  const std::string chunk = R"(data: {"id":"id-1","object":"chat.completion.chunk",)" + kBegun;
  EXPECT_EQ(role_event(head(Endpoint::chat), 0, false),
            chunk + R"([{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]})"
                    "\n\n");
  EXPECT_EQ(piece_event(head(Endpoint::chat), {.text = "so"}, true),
            chunk + R"([{"index":0,"delta":{"content":"so"},"logprobs":null,"finish_reason":null}],"usage":null})"
                    "\n\n");
  EXPECT_EQ(piece_event(head(Endpoint::chat), {.ending = Ending::stop}, false),
            chunk + R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]})"
                    "\n\n");
  EXPECT_EQ(usage_event(head(Endpoint::chat), kUsage), chunk + "[]," + kUsageText + "}\n\n");
  EXPECT_EQ(piece_event(head(Endpoint::chat), {.text = "so", .usage = kUsage}, false),
            chunk + R"([{"index":0,"delta":{"content":"so"},"logprobs":null,"finish_reason":null}],)" +
                kUsageText.substr(kUsageText.find("\"timings")) + "}\n\n");
  EXPECT_EQ(last_event(), "data: [DONE]\n\n");
}

TEST(ApiResponse, HasNoRateWithoutTwoTokens) {
  EXPECT_EQ((Usage{.completion = 3, .generating = 0.5}).rate(), 4);
  EXPECT_EQ((Usage{.completion = 1, .generating = 0}).rate(), 0);
  EXPECT_EQ((Usage{.completion = 2, .generating = 0}).rate(), 0);
  EXPECT_EQ(Usage().rate(), 0);
}

TEST(ApiResponse, OfARefusal) {
  EXPECT_EQ(
      error_json({400, "n is \xFF", "n", "invalid_value"}),
      "{\"error\":{\"message\":\"n is \xEF\xBF\xBD\",\"type\":\"invalid_request_error\",\"param\":\"n\",\"code\":\"invalid_value\"}}");
  EXPECT_EQ(error_json({503, "busy"}), R"({"error":{"message":"busy","type":"server_error","param":null,"code":null}})");
  EXPECT_EQ(error_event({500, "broken"}),
            "data: {\"error\":{\"message\":\"broken\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n");
}

TEST(ApiResponse, OfTheModels) {
  const ListedModel base{.name = "a\"b", .created = 5, .context = 64}, adapted{.name = "m", .created = 6, .context = 64, .base = "b"};
  const std::string of_base = R"({"id":"a\"b","object":"model","created":5,"owned_by":"dikkat","context_length":64})";
  const std::string of_adapted = R"({"id":"m","object":"model","created":6,"owned_by":"dikkat","context_length":64,"parent":"b"})";
  EXPECT_EQ(models_json({base}), R"({"object":"list","data":[)" + of_base + "]}");
  EXPECT_EQ(models_json({base, adapted}), R"({"object":"list","data":[)" + of_base + ',' + of_adapted + "]}");
  EXPECT_EQ(model_json(adapted), of_adapted);
}

TEST(ApiResponse, OfReasoningAndCalls) {
  AnswerDelta all{.text = "So.", .reasoning = "Hm"};
  all.append({.calls = {{.number = 0, .name = "add"}}});
  all.append({.calls = {{.number = 0, .arguments = "{\"a\""}}});
  all.append({.choice = 1, .calls = {{.number = 0, .arguments = ": 1}"}, {.number = 1, .name = "now", .arguments = "{}"}}});
  all.append({.choice = 1, .ending = Ending::end, .has_called = true});
  EXPECT_EQ(all.calls, (std::vector<CallPart>{{.number = 0, .name = "add", .arguments = "{\"a\": 1}"},
                                              {.number = 1, .name = "now", .arguments = "{}"}}));
  EXPECT_FALSE(all.is_empty());
  const std::string body = response_json(head(Endpoint::chat), {all}, {});
  const std::string choices =
      R"([{"index":1,"message":{"role":"assistant","content":"So.","refusal":null,"reasoning_content":"Hm","tool_calls":[)"
      R"({"id":"call_11_0","type":"function","function":{"name":"add","arguments":"{\"a\": 1}"}},)"
      R"({"id":"call_11_1","type":"function","function":{"name":"now","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}])";
  EXPECT_NE(body.find(choices), std::string::npos) << body;

  const auto delta = [](const AnswerDelta& piece) {
    const std::string event = piece_event(head(Endpoint::chat), piece, false);
    const std::size_t begin = event.find("\"delta\":") + 8;
    return event.substr(begin, event.find(",\"logprobs\"") - begin);
  };
  EXPECT_EQ(delta({.reasoning = "H"}), R"({"reasoning_content":"H"})");
  EXPECT_EQ(delta({.calls = {{.number = 1, .name = "now"}}}),
            R"({"tool_calls":[{"index":1,"id":"call_10_1","type":"function","function":{"name":"now","arguments":""}}]})");
  EXPECT_EQ(delta({.calls = {{.number = 1, .arguments = "{"}}}), R"({"tool_calls":[{"index":1,"function":{"arguments":"{"}}]})");

  AnswerDelta only_calls{.calls = {{.name = "now", .arguments = "{}"}}, .ending = Ending::length, .has_called = true};
  ResponseHead short_head = head(Endpoint::chat);
  short_head.id = "chatcmpl-0123456789abcdef";
  short_head.has_short_ids = true;
  const std::string cut = response_json(short_head, {only_calls}, {});
  EXPECT_NE(cut.find(R"("content":null)"), std::string::npos) << cut;
  EXPECT_NE(cut.find(R"("id":"012345000")"), std::string::npos) << cut;
  EXPECT_NE(cut.find(R"("finish_reason":"length")"), std::string::npos) << "a call that may not be complete";
}

}  // namespace
}  // namespace dikkat::serve
