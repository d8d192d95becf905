#include "train/sample/questions.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/sample/prompt.h"
#include "train/text/byte_tokenizer.h"

namespace dikkat {
namespace {

struct QuestionsTest : ::testing::Test {
  QuestionsTest() : gpt(Scope(store), {.n_layer = 1, .n_head = 2, .n_embd = 16, .block_size = 64, .vocab_size = tokenizer.vocab_size()}) {
    store.allocate(3);
  }
  std::optional<Answers> ask(const std::function<bool()>& stop = {}) const {
    return dikkat::ask(
        gpt, tokenizer, vocabulary_of(tokenizer), questions, [&](const std::string& prompt) { return tokenizer.encode(prompt); }, {}, stop);
  }

  ByteTokenizer tokenizer;
  ParameterStore store;
  Gpt gpt;
  std::vector<Question> questions = {read_question(R"({"prompt": "a", "choices": ["b", "cc"], "answer": 1})"),
                                     read_question(R"({"prompt": "d", "answer": "e"})")};
};

TEST_F(QuestionsTest, CountsAnswers) {
  const auto answers = ask();
  ASSERT_TRUE(answers.has_value());
  EXPECT_EQ(answers->choices.all, 1);
  EXPECT_EQ(answers->choices_per_byte.all, 1);
  EXPECT_EQ(answers->texts.all, 1);
}

TEST_F(QuestionsTest, RefusesWhatCannotBeAsked) {
  const std::string most(static_cast<std::size_t>(gpt.config().block_size), 'a');
  for (const char* answer : {R"("b")", R"(0, "choices": ["b", "c"])"}) {
    questions = {read_question(R"({"prompt": ")" + most + R"(", "answer": )" + answer + "}")};
    EXPECT_TRUE(ask().has_value()) << "the last token of an answer is only predicted";
    questions.push_back(read_question(R"({"prompt": "a)" + most + R"(", "answer": )" + answer + "}"));
    EXPECT_TRUE(testing::names(input_error_of([&] { ask(); }), {"question 2", "block_size"})) << answer;
  }
  EXPECT_NE(input_error_of([] { read_question(R"({"prompt": "a", "choices": ["b", "b"], "answer": 1})"); }), "");
}

TEST_F(QuestionsTest, InterruptedAnywhereThereIsNoResult) {
  int needed = 0;
  ASSERT_TRUE(ask([&] { return ++needed < 0; }));
  ASSERT_GT(needed, 5) << "between questions, and between the tokens of the last answer";
  for (int at = 1; at <= needed; ++at) {
    int asked = 0;
    EXPECT_FALSE(ask([&] { return ++asked >= at; })) << at;
  }
}

}  // namespace
}  // namespace dikkat
