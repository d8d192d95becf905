#include <cmath>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"
#include "tests/train/web/serve/running_server.h"
#include "train/model/text_vectors.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/embedding_queue.h"
#include "train/web/serve/embeddings_endpoint.h"

// POST /v1/embeddings: its fields, both encodings, and texts of several clients in one pass.
namespace dikkat::serve {
namespace {

using nlohmann::json;

ServedModel with_vectors() {
  ServedModel model = small_model().served();
  model.vectors = [compute = std::make_shared<TextVectors>(small_model().gpt, Pooling::mean)](std::span<const std::vector<Token>> texts) {
    return (*compute)(texts);
  };
  return model;
}

std::vector<float> vector_of(const std::string& text) {
  const std::vector<std::vector<Token>> texts = {small_model().tokenizer.encode(text)};
  return TextVectors(small_model().gpt, Pooling::mean)(texts);
}

std::vector<float> numbers_of_base64(const std::string& base64) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0, count = 0;
  for (const char c : base64.substr(0, base64.find('='))) {
    bits = bits << 6U | static_cast<unsigned>(digits.find(c));
    if (count += 6; count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 255U);
    }
  }
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

TEST(EmbeddingsOfServer, AreThoseOfTheModelInBothEncodings) {
  const RunningServer server(with_vectors());
  const json one = server.answer("/v1/embeddings", {{"input", "hello there"}, {"model", "tiny"}, {"user", "me"}});
  EXPECT_EQ(one["object"], "list");
  EXPECT_EQ(one["model"], "tiny");
  EXPECT_EQ(one["usage"], (json{{"prompt_tokens", 11}, {"total_tokens", 11}}));
  ASSERT_EQ(one["data"].size(), 1U);
  EXPECT_EQ(one["data"][0]["object"], "embedding");
  EXPECT_EQ(one["data"][0]["embedding"].get<std::vector<float>>(), vector_of("hello there")) << "the same bits";
  const json several = server.answer(
      "/embeddings", {{"input", {"a", "hello there", std::string(300, 'x')}}, {"encoding_format", "base64"}, {"dimensions", nullptr}});
  ASSERT_EQ(several["data"].size(), 3U);
  EXPECT_EQ(several["usage"]["total_tokens"], 312);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(several["data"][static_cast<std::size_t>(i)]["index"], i);
  }
  EXPECT_EQ(numbers_of_base64(several["data"][1]["embedding"]), vector_of("hello there"));
  EXPECT_EQ(numbers_of_base64(several["data"][2]["embedding"]), vector_of(std::string(300, 'x')));
  const json ids = server.answer("/v1/embeddings", {{"input", {'h', 'i'}}, {"encoding_format", "float"}});
  EXPECT_EQ(ids["data"][0]["embedding"].get<std::vector<float>>(), vector_of("hi"));
  const json lists = server.answer("/v1/embeddings", {{"input", json::array({json::array({'h', 'i'}), json::array({'a'})})}});
  EXPECT_EQ(lists["data"][0]["embedding"], ids["data"][0]["embedding"]);
}

TEST(EmbeddingsOfServer, AreCutToTheLengthOne) {
  const RunningServer server(with_vectors());
  const auto cut =
      server.answer("/v1/embeddings", {{"input", "hello"}, {"dimensions", 5}})["data"][0]["embedding"].get<std::vector<double>>();
  const std::vector<float> whole = vector_of("hello");
  ASSERT_EQ(cut.size(), 5U);
  double squares = 0, expected = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    squares += cut[i] * cut[i];
    expected += static_cast<double>(whole[i] * whole[i]);
  }
  EXPECT_NEAR(squares, 1, 1e-6);
  EXPECT_NEAR(cut[3], whole[3] / std::sqrt(expected), 1e-6);
}

TEST(EmbeddingsOfServer, RefuseBadRequests) {
  const RunningServer server(with_vectors());
  const auto refusal = [&](const json& body) {
    const testing::HttpReply reply = server.post("/v1/embeddings", body);
    EXPECT_EQ(reply.status, 400) << body << reply.body;
    const json error = json::parse(reply.body)["error"];
    return concat(error["param"].get<std::string>(), ": ", error["message"].get<std::string>());
  };
  using testing::names;
  EXPECT_TRUE(names(refusal(json::object()), {"input: "}));
  for (const json& input :
       {json(7), json::object(), json::array(), json::array({"a", 7}), json::array({json::array({1}), "a"}), json::array({true})}) {
    EXPECT_TRUE(names(refusal({{"input", input}}), {"input: "})) << input;
  }
  EXPECT_TRUE(names(refusal({{"input", {"a", ""}}}), {"input: ", "input[1]", "empty"}));
  EXPECT_TRUE(names(refusal({{"input", {1, 256}}}), {"input[1]", "255"}));
  EXPECT_TRUE(names(refusal({{"input", {1, -1}}}), {"input[1]"}));
  EXPECT_TRUE(names(refusal({{"input", {"a", std::string(401, 'x')}}}), {"input[1]", "401", "400"}));
  EXPECT_TRUE(names(refusal({{"input", std::vector<std::string>(2049, "a")}}), {"2049", "2048"}));
  EXPECT_TRUE(names(refusal({{"input", "a"}, {"encoding_format", "hex"}}), {"encoding_format: "}));
  EXPECT_TRUE(names(refusal({{"input", "a"}, {"dimensions", 17}}), {"dimensions: ", "16"}));
  EXPECT_TRUE(names(refusal({{"input", "a"}, {"dimensions", 0}}), {"dimensions: "}));
  EXPECT_TRUE(names(refusal({{"input", "a"}, {"inputs", "a"}}), {"inputs"}));
  EXPECT_EQ(server.post("/v1/embeddings", {{"input", "a"}, {"model", "other"}}).status, 404);
}

TEST(EmbeddingsOfServer, DoNotDependOnOtherRequests) {
  const RunningServer server(with_vectors());
  const std::string answer = server.answer(kText, {{"prompt", "hello"}, {"max_tokens", 40}, {"seed", 3}})["choices"][0]["text"];
  std::vector<std::thread> clients;
  std::atomic<int> right = 0;
  for (int client = 0; client < 6; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 4; ++i) {
        const std::string text(static_cast<std::size_t>(1 + client * 17 + i * 5), static_cast<char>('a' + client));
        const json found = server.answer("/v1/embeddings", {{"input", {text, "hello"}}});
        right += found["data"][0]["embedding"].get<std::vector<float>>() == vector_of(text) ? 1 : 0;
        right += found["data"][1]["embedding"].get<std::vector<float>>() == vector_of("hello") ? 1 : 0;
      }
    });
  }
  const json meanwhile = server.answer(kText, {{"prompt", "hello"}, {"max_tokens", 40}, {"seed", 3}});
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(right, 48);
  EXPECT_EQ(meanwhile["choices"][0]["text"], answer);
}

/// A model whose vectors are the lengths of texts, and the number of texts in the pass.
ServedModel with_lengths(std::vector<std::size_t>& passes) {
  ServedModel model = small_model().served();
  model.vectors = [&](std::span<const std::vector<Token>> texts) {
    passes.push_back(texts.size());
    std::vector<float> all;
    for (const std::vector<Token>& text : texts) {
      require(text.size() != 13, "an unlucky text");
      all.push_back(static_cast<float>(text.size()));
      all.push_back(static_cast<float>(texts.size()));
    }
    return all;
  };
  return model;
}

std::vector<std::vector<Token>> texts_of_lengths(const std::vector<std::size_t>& lengths) {
  std::vector<std::vector<Token>> texts;
  for (const std::size_t length : lengths) {
    texts.emplace_back(length, 1);
  }
  return texts;
}

TEST(EmbeddingQueue, SharesPassesAmongRequests) {
  std::vector<std::size_t> passes;
  const ServedModel model = with_lengths(passes);
  std::atomic<int> woken = 0;
  EmbeddingQueue queue(3, [&] { ++woken; });
  std::vector<std::vector<float>> found(3);
  std::vector<std::thread> clients;
  const std::vector<std::vector<std::size_t>> lengths = {{3, 4}, {700, 600, 5}, {6}};
  for (std::size_t i = 0; i < 3; ++i) {
    clients.emplace_back([&, i] { found[i] = queue.vectors(model, texts_of_lengths(lengths[i]), [] {}); });
    while (woken <= static_cast<int>(i)) {
      std::this_thread::yield();
    }
  }
  EXPECT_THROW(queue.vectors(model, texts_of_lengths({1}), [] {}), ApiError) << "three wait";
  EXPECT_TRUE(queue.step());
  EXPECT_FALSE(queue.step());
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(passes, (std::vector<std::size_t>{4, 2})) << "3, 4, 700 and 600 tokens, then the others";
  EXPECT_EQ(found[0], (std::vector<float>{3, 4, 4, 4}));
  EXPECT_EQ(found[1], (std::vector<float>{700, 4, 600, 4, 5, 2}));
  EXPECT_EQ(found[2], (std::vector<float>{6, 2}));
}

TEST(EmbeddingQueue, KeepsTheTextsOfAClassifierTogether) {
  std::vector<std::size_t> passes;
  ServedModel model = with_lengths(passes);
  model.labels = ServedLabels{.names = {"a", "b"}};
  std::atomic<int> woken = 0;
  EmbeddingQueue queue(3, [&] { ++woken; });
  std::vector<std::thread> clients;
  const std::vector<std::vector<std::size_t>> lengths = {{3, 4}, {700, 600, 5}, {6}};
  for (std::size_t i = 0; i < 3; ++i) {
    clients.emplace_back([&, i] { queue.vectors(model, texts_of_lengths(lengths[i]), [] {}); });
    while (woken <= static_cast<int>(i)) {
      std::this_thread::yield();
    }
  }
  while (queue.step()) {
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(passes, (std::vector<std::size_t>{2, 3, 1})) << "each request by itself, and whole";
}

TEST(EmbeddingQueue, EndsWithErrorsAndImpatience) {
  std::vector<std::size_t> passes;
  const ServedModel model = with_lengths(passes);
  EmbeddingQueue queue(3, [] {});
  EXPECT_THROW(queue.vectors(model, texts_of_lengths({2}), [] { throw ApiError(499, "gone"); }), ApiError);
  EXPECT_FALSE(queue.step());
  EXPECT_TRUE(passes.empty()) << "its client is gone";
  std::thread generating([&] {
    while (passes.empty()) {
      queue.step();
    }
  });
  EXPECT_THROW(queue.vectors(model, texts_of_lengths({1, 13}), [] {}), ApiError);
  generating.join();
}

}  // namespace
}  // namespace dikkat::serve
