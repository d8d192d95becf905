#include "train/web/serve/answer_constraints.h"

#include <limits>

#include <gtest/gtest.h>

#include "train/text/bpe_tokenizer.h"

namespace dikkat {
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
  model.answers = answer_form_of(*model.form);
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

}  // namespace
}  // namespace dikkat
