#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "tests/support/sentence_piece.h"
#include "tests/support/throws.h"
#include "tests/train/web/serve/running_server.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;
using testing::HttpReply;

TEST(CompletionServer, HonorsPenaltiesAndBiases) {
  const RunningServer server(small_model());
  const json forced = server.answer(kText, {{"prompt", "Once"}, {"max_tokens", 5}, {"logit_bias", {{"120", 100}}}, {"logprobs", 0}});
  EXPECT_EQ(forced["choices"][0]["text"], "xxxxx");
  EXPECT_LT(forced["choices"][0]["logprobs"]["token_logprobs"][0], -0.1) << "the model's own";
  json request = {{"messages", kHello}, {"max_tokens", 100}, {"temperature", 0}};
  const auto distinct = [&] {
    const std::string text = server.answer(kChat, request)["choices"][0]["message"]["content"];
    return std::set<char>(text.begin(), text.end()).size();
  };
  const std::size_t before = distinct();
  request["frequency_penalty"] = 2;
  request["presence_penalty"] = 2;
  EXPECT_GT(distinct(), before);
  const HttpReply unknown = server.post(kText, {{"prompt", "a"}, {"logit_bias", {{"256", 1}}}});
  EXPECT_EQ(unknown.status, 400);
  EXPECT_TRUE(testing::names(unknown.body, {"logit_bias", "256", "255"}));
}

TEST(CompletionServer, ASeedGivesItsText) {
  const RunningServer server(small_model());
  const auto text = [&](json request) {
    request["prompt"] = "It was";
    request["max_tokens"] = 40;
    return server.answer(kText, request);
  };
  const json first = text({{"seed", 11}});
  EXPECT_EQ(text({{"seed", 11}})["choices"], first["choices"]);
  EXPECT_NE(text({{"seed", 12}})["choices"], first["choices"]);
  const json drawn = text({}), again = text({});
  EXPECT_NE(drawn["choices"], again["choices"]) << "without a seed one is drawn";
  EXPECT_EQ(text({{"seed", drawn["seed"]}})["choices"], drawn["choices"]) << "and reported";
  const json three = text({{"seed", 11}, {"n", 3}});
  ASSERT_EQ(three["choices"].size(), 3U);
  EXPECT_EQ(three["choices"][0], first["choices"][0]);
  EXPECT_EQ(three["choices"][2]["index"], 2);
  EXPECT_NE(three["choices"][1]["text"], three["choices"][0]["text"]);
  EXPECT_EQ(three["usage"]["completion_tokens"], 120);
  for (const int threads : {1, 2}) {
    const WithThreads with(threads, Work{0});
    EXPECT_EQ(text({{"seed", 11}})["choices"], first["choices"]);
  }
}

/// The events of a stream, combined to the form of a whole response.
json whole(const std::vector<json>& events, bool is_chat, const json& like) {
  // Begin with empty choices.
  json choices = json::array();
  for (const json& choice : like["choices"]) {
    json one = {{"index", choice["index"]}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
    is_chat ? one["message"] = {{"role", ""}, {"content", ""}, {"refusal", nullptr}} : one["text"] = "";
    choices.push_back(one);
  }
  const auto append = [](json& to, const json& from) {
    if (from.is_null()) {
      return;
    }
    if (to.is_null()) {
      to = from;
      return;
    }
    for (const auto& [name, list] : from.items()) {
      if (list.is_array()) {
        to[name].insert(to[name].end(), list.begin(), list.end());
      }
    }
  };
  // Append the parts of each event.
  for (const json& event : events) {
    for (const json& part : event["choices"]) {
      json& choice = choices[part["index"].get<std::size_t>()];
      EXPECT_TRUE(choice["finish_reason"].is_null()) << "nothing comes after the end";
      if (is_chat) {
        choice["message"]["role"] = part["delta"].value("role", choice["message"]["role"].get<std::string>());
        choice["message"]["content"] = choice["message"]["content"].get<std::string>() + part["delta"].value("content", "");
      } else {
        choice["text"] = choice["text"].get<std::string>() + part["text"].get<std::string>();
      }
      append(choice["logprobs"], part["logprobs"]);
      choice["finish_reason"] = part["finish_reason"];
    }
  }
  return choices;
}

TEST(CompletionServer, AStreamIsTheWholeAnswerInParts) {
  const RunningServer server(small_model());
  for (const json& more :
       {json{{"seed", 1}}, json{{"seed", 2}, {"n", 2}}, json{{"seed", 3}, {"stop", {"e", "a"}}}, json{{"seed", 4}, {"temperature", 2}}}) {
    for (const bool is_chat : {false, true}) {
      json request = more;
      request["max_tokens"] = 60;
      is_chat ? request["messages"] = kHello : request["prompt"] = "Once";
      is_chat ? request["logprobs"] = true : request["logprobs"] = 2;
      if (is_chat) {
        request["top_logprobs"] = 3;
      }
      const json expected = server.answer(is_chat ? kChat : kText, request);
      request["stream_options"] = {{"include_usage", true}};
      std::vector<json> events = server.events(is_chat ? kChat : kText, request);
      ASSERT_GT(events.size(), 2U);
      for (const char* count : {"prompt_tokens", "completion_tokens", "total_tokens"}) {
        EXPECT_EQ(events.back()["usage"][count], expected["usage"][count]);
      }
      EXPECT_TRUE(events.back()["choices"].empty());
      EXPECT_TRUE(events.front()["usage"].is_null());
      events.pop_back();
      EXPECT_EQ(whole(events, is_chat, expected), expected["choices"]) << more;
    }
  }
}

TEST(CompletionServer, StopsBeforeAStopString) {
  const RunningServer server(small_model());
  const json request = {{"prompt", "Once"}, {"max_tokens", 200}, {"seed", 6}};
  const std::string all = server.answer(kText, request)["choices"][0]["text"];
  std::size_t at = 40;  // a stop string of three ASCII tokens
  while (!std::all_of(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at) + 3,
                      [](char c) { return 32 <= c && c < 127; })) {
    ++at;
    ASSERT_LT(at + 3, all.size());
  }
  const std::string stop = all.substr(at, 3), expected = all.substr(0, all.find(stop));
  json with = request;
  with["stop"] = stop;
  with["logprobs"] = 0;
  const json stopped = server.answer(kText, with);
  EXPECT_EQ(stopped["choices"][0]["text"], expected);
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  const json tokens = stopped["choices"][0]["logprobs"]["tokens"];
  EXPECT_EQ(stopped["usage"]["completion_tokens"].get<std::size_t>(), tokens.size() + 3)
      << "the stop string was generated, and is not reported";
  std::string streamed;
  for (const json& event : server.events(kText, with)) {
    streamed += event["choices"][0]["text"].get<std::string>();
    EXPECT_TRUE(expected.starts_with(streamed)) << "no part of the stop string is ever sent";
  }
  EXPECT_EQ(streamed, expected);
}

TEST(CompletionServer, LogProbabilitiesAreThoseOfTheModel) {
  // A completion's scores are those of the model, token by token.
  const RunningServer server(small_model());
  const json answer =
      server.answer(kText, {{"prompt", "Once"}, {"max_tokens", 12}, {"seed", 1}, {"logprobs", 5}, {"temperature", 0.7}, {"top_k", 50}});
  const json scores = answer["choices"][0]["logprobs"];
  ASSERT_EQ(scores["tokens"].size(), 12U);
  const auto bytes_of = [](const std::string& name) {
    return name.starts_with("bytes:\\x") ? std::string(1, static_cast<char>(std::stoi(name.substr(8), nullptr, 16))) : name;
  };
  std::string text = "Once";
  for (std::size_t i = 0; i < 12; ++i) {
    const std::vector<float> logits = small_model().logits(text);
    long double total = 0;
    for (const float logit : logits) {
      total += std::exp(static_cast<long double>(logit));
    }
    const auto expected = [&](const std::string& token) {
      return static_cast<double>(logits[static_cast<unsigned char>(token[0])] - std::log(total));
    };
    const std::string token = bytes_of(scores["tokens"][i]);
    ASSERT_EQ(token.size(), 1U);
    EXPECT_NEAR(scores["token_logprobs"][i].get<double>(), expected(token), 2e-4);
    const json& top = scores["top_logprobs"][i];
    EXPECT_GE(top.size(), 5U);
    EXPECT_LE(top.size(), 6U);
    double largest = -1e9;
    for (const auto& [name, value] : top.items()) {
      EXPECT_NEAR(value.get<double>(), expected(bytes_of(name)), 2e-4);
      largest = std::max(largest, value.get<double>());
    }
    EXPECT_NEAR(largest, static_cast<double>(*std::ranges::max_element(logits) - std::log(total)), 2e-4) << "the likeliest is among them";
    text += token;
  }
  // So are a conversation's.
  const json chat = server.answer(kChat, {{"messages", kHello}, {"max_tokens", 3}, {"seed", 1}, {"logprobs", true}, {"top_logprobs", 4}});
  const json first = chat["choices"][0]["logprobs"]["content"][0];
  ASSERT_EQ(first["top_logprobs"].size(), 4U);
  const std::vector<float> logits = small_model().logits("<user>hello\n<assistant>");
  long double total = 0;
  for (const float logit : logits) {
    total += std::exp(static_cast<long double>(logit));
  }
  double before = 0;
  for (const json& one : first["top_logprobs"]) {
    EXPECT_NEAR(one["logprob"].get<double>(), static_cast<double>(logits[one["bytes"][0].get<std::size_t>()] - std::log(total)), 2e-4);
    EXPECT_LE(one["logprob"].get<double>(), before) << "likeliest first";
    before = one["logprob"];
  }
}

TEST(CompletionServer, ReportsWhatAnAnswerHasTaken) {
  const RunningServer server(small_model(), {.streams = 2, .prompt_positions = 1024});
  const std::string prompt(300, 'x');
  const json request = {{"prompt", prompt}, {"max_tokens", 20}, {"seed", 1}};
  const auto cached = [](const json& answer) { return answer["usage"]["prompt_tokens_details"]["cached_tokens"].get<index>(); };
  EXPECT_EQ(cached(server.answer(kText, request)), 0);
  const json again = server.answer(kText, request);
  EXPECT_EQ(cached(again), 300) << "a stream still has all of it";
  json other = request;
  other["prompt"] = prompt.substr(0, 290) + "yz";
  EXPECT_EQ(cached(server.answer(kText, other)), 256) << "two whole chunks";
  other["prompt"] = "new" + prompt;
  other["n"] = 2;
  EXPECT_EQ(cached(server.answer(kText, other)), 0) << "the second choice has the prompt of the first one";

  const json times = again["timings"];
  EXPECT_EQ(times["cache_n"], 300);
  EXPECT_EQ(times["prompt_n"], 0);
  EXPECT_EQ(times["predicted_n"], 20);
  const double milliseconds = times["predicted_ms"], rate = times["predicted_per_second"];
  EXPECT_GT(milliseconds, 0);
  EXPECT_NEAR(rate * milliseconds / 1000, 19, 0.1) << "tokens after the first one";

  json streamed = request;
  streamed["stream_options"] = {{"include_usage", true}};
  streamed["timings_per_token"] = true;
  const std::vector<json> events = server.events(kText, streamed);
  EXPECT_EQ(events.back()["timings"]["predicted_n"], 20);
  index before = 0;
  for (const json& event : events) {
    const index now = event["timings"]["predicted_n"].get<index>();
    EXPECT_GE(now, before);
    before = now;
  }
  EXPECT_FALSE(server.events(kText, request).front().contains("timings")) << "only if it is asked for";
}

// A tokenizer of SentencePiece's kind puts a space before a text, which is no part of it.
TEST(CompletionServer, LeavesOutTheSpaceBeforeAnAnswer) {
  const PipelineTokenizer tokenizer = testing::sentence_piece_tokenizer();
  const SmallModel& small = small_model();
  const RunningServer server(
      ServedModel{.gpt = small.gpt,
                  .tokenizer = tokenizer,
                  .name = "pieces",
                  .fingerprint = "print",
                  .form = ChatTemplate(TemplateName::own, "{% for m in messages %}a{{ m.content }}b{% endfor %}", tokenizer)});
  const json talk = json::array({{{"role", "user"}, {"content", "a b"}}});
  const auto text_of = [&](json request, const json& first) {
    request["max_tokens"] = 4;
    request["logit_bias"] = {{first, 100}};
    request["temperature"] = 0;
    const bool is_chat = request.contains("messages");
    const json whole = server.answer(is_chat ? kChat : kText, request)["choices"][0];
    const std::string text = is_chat ? whole["message"]["content"] : whole["text"];
    std::string streamed;
    for (const json& event : server.events(is_chat ? kChat : kText, request)) {
      const json choice = event["choices"][0];
      streamed += is_chat ? choice["delta"].value("content", "") : choice["text"].get<std::string>();
    }
    EXPECT_EQ(streamed, text) << "the stream has the same text";
    return text;
  };
  EXPECT_EQ(text_of({{"messages", talk}}, "6"), "a a a a");
  EXPECT_EQ(text_of({{"messages", talk}}, "4"), "aaaa");
  EXPECT_EQ(text_of({{"messages", talk}}, "3"), "   ") << "only the first space is the tokenizer's";
  EXPECT_EQ(text_of({{"prompt", "b"}}, "6"), " a a a a") << "it continues the prompt";
  EXPECT_EQ(text_of({{"prompt", "b"}, {"echo", true}}, "6"), "b a a a a");
  EXPECT_EQ(text_of({{"prompt", ""}}, "6"), "a a a a") << "there is nothing to continue";
  EXPECT_EQ(text_of({{"messages", talk}, {"regex", " a( a)*"}}, "6"), " a a a a") << "an expression counts every character";
}

}  // namespace
}  // namespace dikkat::serve
