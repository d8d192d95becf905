#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/sentence_piece.h"
#include "tests/support/throws.h"
#include "tests/train/web/serve/running_server.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;
using testing::HttpReply;

/// What EleutherAI's harness sends to score prompts.
json scoring(const json& prompt) {
  return {{"model", "tiny"}, {"prompt", prompt}, {"temperature", 0}, {"max_tokens", 1}, {"logprobs", 1}, {"seed", 1234}, {"echo", true}};
}

json ids_of(const std::string& text) {
  json ids = json::array();
  for (const char c : text) {
    ids.push_back(static_cast<unsigned char>(c));
  }
  return ids;
}

/// Returns the log probability of the last byte of a text under the small model.
double expected_of_last(const std::string& text) {
  const std::vector<float> logits = small_model().logits(text.substr(0, text.size() - 1));
  long double total = 0;
  for (const float logit : logits) {
    total += std::exp(static_cast<long double>(logit));
  }
  return static_cast<double>(logits[static_cast<unsigned char>(text.back())] - std::log(total));
}

void expect_scores_of(const json& choice, const std::string& prompt) {
  const json& scores = choice["logprobs"];
  const std::size_t count = prompt.size() + 1;
  for (const char* field : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
    ASSERT_EQ(scores[field].size(), count) << field;
  }
  EXPECT_TRUE(scores["token_logprobs"][0].is_null() && scores["top_logprobs"][0].is_null());
  EXPECT_TRUE(choice["text"].get<std::string>().starts_with(prompt));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(scores["text_offset"][i], i);
    if (i < prompt.size()) {
      EXPECT_EQ(scores["tokens"][i], std::string(1, prompt[i]));
    }
    if (i == 0) {
      continue;
    }
    if (i < prompt.size()) {
      EXPECT_NEAR(scores["token_logprobs"][i].get<double>(), expected_of_last(prompt.substr(0, i + 1)), 2e-5);
    }
    double largest = -1e9;
    for (const auto& [name, value] : scores["top_logprobs"][i].items()) {
      largest = std::max(largest, value.get<double>());
    }
    const std::string name = scores["tokens"][i];
    EXPECT_EQ(scores["top_logprobs"][i].value(name, 1.0), scores["token_logprobs"][i]) << "it is always among them";
    EXPECT_EQ(largest == scores["token_logprobs"][i].get<double>(), scores["top_logprobs"][i].size() == 1)
        << "the same number if likeliest";
  }
}

TEST(CompletionScores, AreThoseOfTheModelInEveryFormOfAPrompt) {
  const RunningServer server(small_model(), {.streams = 3});
  const std::vector<std::string> texts = {"Once upon a time", "a", "The king said that", "Once upon a king"};
  json lists = json::array(), strings = json::array();
  for (const std::string& one : texts) {
    lists.push_back(ids_of(one));
    strings.push_back(one);
  }
  const json answer = server.answer(kText, scoring(lists));
  ASSERT_EQ(answer["choices"].size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const json& choice = answer["choices"][i];
    EXPECT_EQ(choice["index"], i);
    EXPECT_EQ(choice["finish_reason"], "length");
    expect_scores_of(choice, texts[i]);
    json alone = server.answer(kText, scoring(texts[i]))["choices"][0];
    EXPECT_EQ(server.answer(kText, scoring(lists[i]))["choices"][0], alone) << "a list of ids";
    EXPECT_EQ(server.answer(kText, scoring(json::array({lists[i]})))["choices"][0], alone) << "a list of one list";
    alone["index"] = i;
    EXPECT_EQ(choice, alone);
  }
  EXPECT_EQ(server.answer(kText, scoring(strings))["choices"], answer["choices"]);
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 16 + 1 + 18 + 16);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 4);
}

TEST(CompletionScores, NeedNoAnswer) {
  const RunningServer server(small_model());
  const std::string whole(400, 'x');  // a full context
  json request = scoring({ids_of(whole), ids_of("ab")});
  request["max_tokens"] = 0;
  request["logprobs"] = 20;
  const json answer = server.answer(kText, request);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 0);
  EXPECT_GE(answer["timings"]["prompt_ms"], 0);
  for (const std::size_t i : {0, 1}) {
    const json& choice = answer["choices"][i];
    EXPECT_EQ(choice["text"], i == 0 ? whole : "ab");
    EXPECT_EQ(choice["finish_reason"], "length");
    EXPECT_EQ(choice["logprobs"]["tokens"].size(), i == 0 ? 400U : 2U);
    const std::size_t alternatives = choice["logprobs"]["top_logprobs"][1].size();
    EXPECT_TRUE(alternatives == 20 || alternatives == 21);
  }
  EXPECT_NEAR(answer["choices"][0]["logprobs"]["token_logprobs"][399].get<double>(), expected_of_last(whole), 2e-5);
  // One token has no score at all.
  request["prompt"] = {7};
  EXPECT_EQ(server.answer(kText, request)["choices"][0]["logprobs"]["token_logprobs"], json::array({nullptr}));
}

TEST(CompletionScores, HaveTheSameBitsWithAnyNeighbors) {
  const RunningServer first(small_model(), {.streams = 1, .prompt_positions = 0}), second(small_model(), {.streams = 6});
  const auto prompt_of = [](int i) {
    return ids_of(std::string(120, 'a') + std::string(static_cast<std::size_t>(3 + 17 * i), static_cast<char>('a' + i % 3)));
  };
  json all = json::array();
  for (int i = 0; i < 12; ++i) {
    all.push_back(prompt_of(i));
  }
  const json expected = first.answer(kText, scoring(all))["choices"];
  EXPECT_EQ(second.answer(kText, scoring(all))["choices"], expected);
  std::vector<std::thread> clients;
  for (int i = 0; i < 12; ++i) {
    clients.emplace_back([&, i] {
      json choice = second.answer(kText, scoring(json::array({prompt_of(i)})))["choices"][0];
      choice["index"] = i;
      EXPECT_EQ(choice, expected[static_cast<std::size_t>(i)]);
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_GT(second.answer(kText, scoring(all))["usage"]["prompt_tokens_details"]["cached_tokens"], 1000);
}

TEST(CompletionScores, AStreamHasThemBeforeTheAnswer) {
  const RunningServer server(small_model());
  json request = scoring({"Once", "upon"});
  request["max_tokens"] = 6;
  request["n"] = 2;
  const json expected = server.answer(kText, request)["choices"];
  ASSERT_EQ(expected.size(), 4U);
  EXPECT_EQ(expected[0]["text"].get<std::string>().substr(0, 4), "Once");
  EXPECT_EQ(expected[1]["text"].get<std::string>().substr(0, 4), "Once");
  EXPECT_EQ(expected[3]["text"].get<std::string>().substr(0, 4), "upon") << "prompt after prompt";
  json found = expected;
  for (json& choice : found) {
    choice["text"] = "";
    for (const char* field : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
      choice["logprobs"][field] = json::array();
    }
  }
  for (const json& event : server.events(kText, request)) {
    const json part = event["choices"][0];
    json& choice = found[part["index"].get<std::size_t>()];
    choice["text"] = choice["text"].get<std::string>() + part["text"].get<std::string>();
    for (const auto& [field, list] : part["logprobs"].items()) {
      choice["logprobs"][field].insert(choice["logprobs"][field].end(), list.begin(), list.end());
    }
  }
  EXPECT_EQ(found, expected);
}

// A token that begins every text is not part of a string's echo.
TEST(CompletionScores, OffsetsAreThoseOfTheEcho) {
  const PipelineTokenizer tokenizer = testing::sentence_piece_tokenizer();
  const SmallModel& small = small_model();
  const RunningServer server(
      ServedModel{.gpt = small.gpt, .tokenizer = tokenizer, .name = "tiny", .fingerprint = "print", .why_no_form = "it is plain"});
  json request = scoring("a b");
  request["logit_bias"] = {{"6", 100}};
  const json choice = server.answer(kText, request)["choices"][0];
  const std::string text = choice["text"];
  EXPECT_TRUE(text.starts_with("a b"));
  const json& scores = choice["logprobs"];
  const json ids = server.answer("/tokenize", {{"prompt", "a b"}})["tokens"];
  ASSERT_EQ(scores["tokens"].size(), ids.size() + 1);
  const std::size_t count = ids.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string token = scores["tokens"][i];
    const std::size_t offset = scores["text_offset"][i];
    EXPECT_TRUE(text.substr(offset).starts_with(token) || offset == 0) << i;
    EXPECT_LE(offset, scores["text_offset"][i + 1].get<std::size_t>());
  }
  EXPECT_EQ(scores["text_offset"][count], 3) << "the answer begins after the prompt";
}

// EleutherAI's harness drops the last entry, which must be that of the generated token, also if this token ends the text.
TEST(CompletionScores, HaveAnEntryForATokenThatEndsTheText) {
  const PipelineTokenizer tokenizer = testing::sentence_piece_tokenizer();
  const RunningServer server(
      ServedModel{.gpt = small_model().gpt, .tokenizer = tokenizer, .name = "tiny", .fingerprint = "print", .why_no_form = "it is plain"});
  const Token end = tokenizer.text_tokens().ends.front();
  const json ids = server.answer("/tokenize", {{"prompt", "a b"}})["tokens"];
  for (const bool is_forced : {true, false}) {
    json request = scoring("a b");
    request["max_tokens"] = 3;
    request["logit_bias"] = {{std::to_string(is_forced ? end : 6), 100}};
    const json choice = server.answer(kText, request)["choices"][0];
    const json& scores = choice["logprobs"];
    const std::size_t count = ids.size() + (is_forced ? 1 : 3);
    for (const char* field : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
      EXPECT_EQ(scores[field].size(), count) << field;
    }
    EXPECT_EQ(choice["text"] == "a b", is_forced);
    EXPECT_EQ(choice["finish_reason"], is_forced ? "stop" : "length");
    const std::string name = tokenizer.decode(std::span(&end, 1));
    EXPECT_EQ(scores["tokens"].back() == name, is_forced);
    EXPECT_EQ(scores["top_logprobs"].back()[scores["tokens"].back().get<std::string>()], scores["token_logprobs"].back());
    EXPECT_EQ(scores["text_offset"][ids.size()], 3);
  }
}

TEST(CompletionScores, RefuseWhatCannotBeScored) {
  const RunningServer server(small_model());
  const auto expect = [&](const json& fields, const std::vector<std::string>& parts, const char* code = "invalid_value",
                          const char* param = "prompt") {
    json request = scoring("a");
    request.update(fields);
    const HttpReply reply = server.post(kText, request);
    EXPECT_EQ(reply.status, 400);
    const json error = json::parse(reply.body)["error"];
    EXPECT_EQ(error["param"], param);
    EXPECT_EQ(error["code"], code);
    EXPECT_TRUE(testing::names(error["message"].get<std::string>(), parts)) << error;
  };
  expect({{"prompt", {1, 256}}}, {"prompt[1]", "256", "255"});
  expect({{"prompt", {{1}, {2, 3}, {4, 5, 999}}}}, {"prompt[2][2]", "999", "255"});
  expect({{"prompt", json::array()}}, {"prompt", "list of 0"});
  expect({{"prompt", {{1}, json::array()}}}, {"prompt[1]", "list of 0"});
  expect({{"prompt", {std::string(3, 'x'), std::string(400, 'x')}}}, {"prompt[1]", "400 tokens", "fewer than", "context of 400"},
         "context_length_exceeded");
  expect({{"prompt", {std::string(401, 'x')}}, {"max_tokens", 0}}, {"401 tokens", "at most", "context of 400"}, "context_length_exceeded");
  expect({{"logprobs", 21}}, {"21", "20"}, "invalid_value", "logprobs");
  expect({{"prompt", std::vector<std::string>(1025, "a")}}, {"1025", "1024"});
  expect({{"prompt", std::vector<std::string>(100, std::string(300, 'x'))}, {"logprobs", 20}}, {"632100", "524288", "logprobs"});
  EXPECT_EQ(server.answer(kText, scoring("a"))["choices"].size(), 1U) << "it goes on";
}

}  // namespace
}  // namespace dikkat::serve
