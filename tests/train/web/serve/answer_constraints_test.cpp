#include "train/web/serve/answer_constraints.h"

#include <future>
#include <limits>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "train/text/bpe_tokenizer.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {
namespace {

/// A byte is a token; <call>, </call> and <end> are special tokens.
BpeTokenizer tokenizer_with_marks() {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.emplace_back(1, static_cast<char>(byte));
  }
  BpeVocabulary vocabulary{.bpe = Bpe(bytes, {})};
  for (const char* name : {"<call>", "</call>", "<end>"}) {
    vocabulary.added_tokens[static_cast<Token>(256 + vocabulary.added_tokens.size())] = {.name = name};
  }
  return BpeTokenizer(std::move(vocabulary));
}

constexpr const char* kForm =
    "{% for t in tools or [] %}{{ t.function.name }}{{ t.function.description }};{% endfor %}{% for m in messages %}{{ m.content }}"
    "{% for c in m.tool_calls %}<call>{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}</call>{% "
    "endfor %}"
    "<end>{% endfor %}";

/// The tokens that a constraint allows next.
std::vector<Token> allowed(TokenConstraint& constraint) {
  std::vector<float> logits(259, 0.0F);
  constraint.mask(logits);
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > -std::numeric_limits<float>::infinity()) {
      tokens.push_back(static_cast<Token>(i));
    }
  }
  return tokens;
}

TEST(AnswerConstraints, AllowMarksThatAreSpecialTokens) {
  const BpeTokenizer tokenizer = tokenizer_with_marks();
  ParameterStore store;
  const Gpt gpt(Scope(store), {.n_layer = 1, .n_head = 1, .n_embd = 8, .block_size = 400, .vocab_size = 259});
  ServedModel model{
      .gpt = gpt, .tokenizer = tokenizer, .name = "tiny", .fingerprint = "", .form = ChatTemplate(TemplateName::own, kForm, tokenizer)};
  model.answers = answer_format_of(*model.form);
  ASSERT_TRUE(model.answers.calls) << model.answers.why_no_calls;
  EXPECT_EQ(model.answers.calls->end, "</call>");
  AnswerConstraints constraints(model);
  const auto request = [&](const char* choice) {
    return read_api_request(
        concat(
            R"({"messages": [{"role": "user", "content": "a"}], "parallel_tool_calls": false, "tools": [{"type": "function", "function": )",
            R"({"name": "f", "parameters": {"type": "object", "properties": {}}}}], "tool_choice": )", choice, '}'),
        Endpoint::chat, {"tiny"});
  };
  const std::vector<Token> prompt = {'a'};

  // A call that is forced begins with the token, or with its bytes.
  const auto forced = constraints.of(request("\"required\""), prompt);
  ASSERT_TRUE(forced);
  const auto sample = forced();
  EXPECT_EQ(allowed(*sample), (std::vector<Token>{'<', 256}));
  sample->accept(256);
  for (const char c : std::string("{\"name\": \"f\", \"arguments\": {}}")) {
    const std::vector<Token> next = allowed(*sample);
    ASSERT_NE(std::find(next.begin(), next.end(), static_cast<unsigned char>(c)), next.end()) << c;
    sample->accept(static_cast<unsigned char>(c));
  }
  EXPECT_EQ(allowed(*sample), (std::vector<Token>{'<', 257}));
  EXPECT_FALSE(sample->is_complete());
  sample->accept(257);
  EXPECT_TRUE(sample->is_complete());

  // Free text may have the first mark at any place, and may end.
  const auto free_sample = constraints.of(request("\"auto\""), prompt)();
  free_sample->accept('x');
  std::vector<Token> next = allowed(*free_sample);
  EXPECT_NE(std::find(next.begin(), next.end(), 256), next.end());
  EXPECT_NE(std::find(next.begin(), next.end(), 258), next.end()) << "the end of an answer";
  free_sample->accept(256);
  EXPECT_EQ(allowed(*free_sample), std::vector<Token>{'{'});
  EXPECT_FALSE(constraints.of(request("\"none\""), prompt));
}

/// A model of the tokenizer above.
struct MarkedModel {
  BpeTokenizer tokenizer = tokenizer_with_marks();
  ParameterStore store{};
  Gpt gpt{Scope(store), {.n_layer = 1, .n_head = 1, .n_embd = 8, .block_size = 400, .vocab_size = 259}};
  ServedModel served = [this] {
    ServedModel model{
        .gpt = gpt, .tokenizer = tokenizer, .name = "tiny", .fingerprint = "", .form = ChatTemplate(TemplateName::own, kForm, tokenizer)};
    model.answers = answer_format_of(*model.form);
    return model;
  }();
};

ApiRequest request_of(const std::string& fields) {
  return read_api_request(concat(R"({"messages": [{"role": "user", "content": "a"}], )", fields, '}'), Endpoint::chat, {"tiny"});
}

TEST(AnswerConstraints, NameThePropertyThatIsTooLarge) {
  const MarkedModel model;
  AnswerConstraints constraints(model.served);
  std::string items;
  for (int i = 0; i < 110; ++i) {
    items += concat(i == 0 ? "" : ",", R"({"type": "string", "pattern": "^([a-z])", 100 + i, R"(){250}$"})");
  }
  const std::vector<Token> prompt = {'a'};
  try {
    constraints.of(
        request_of(concat(R"("tools": [{"type": "function", "function": {"name": "small"}}, {"type": "function", "function": )",
                          R"({"name": "f", "parameters": {"properties": {"a": {}, "b": {"prefixItems": [)", items, R"(]}}}}}])")),
        prompt);
    ADD_FAILURE();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.param(), "tools.f.parameters.properties.b");
  }
}

TEST(AnswerConstraints, StopWhenAskedTo) {
  const MarkedModel model;
  AnswerConstraints constraints(model.served);
  const std::vector<Token> prompt = {'a'};
  const ApiRequest request = request_of(R"("guided_json": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 2000}}})");
  const auto gone = [] { throw ApiError(499, "the client went away"); };
  EXPECT_THROW(constraints.of(request, prompt, gone), ApiError);
  // Also while another request's grammar is made.
  std::promise<void> is_making, may_end;
  std::thread other([&] {
    bool waits = true;
    EXPECT_TRUE(constraints.of(request, prompt, [&] {
      if (std::exchange(waits, false)) {
        is_making.set_value();
        may_end.get_future().wait();
      }
    }));
  });
  is_making.get_future().wait();
  EXPECT_THROW(constraints.of(request_of(R"("guided_json": {"type": "object"})"), prompt, gone), ApiError);
  may_end.set_value();
  other.join();
  EXPECT_TRUE(constraints.of(request, prompt, gone)) << "it is known now";
}

}  // namespace
}  // namespace dikkat::serve
