#include "train/sample/questions.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/sample/prompt.h"
#include "train/text/byte_tokenizer.h"

namespace dikkat {
namespace {

struct QuestionsTest : ::testing::Test {
  QuestionsTest() : gpt(Scope(store), {.n_layer = 1, .n_head = 2, .n_embd = 16, .block_size = 64, .vocab_size = tokenizer.vocab_size()}) {
    store.allocate(3);
    options.encode = [&](const std::string& prompt) { return tokenizer.encode(prompt); };
  }
  std::optional<Answers> ask() const { return dikkat::ask(gpt, tokenizer, vocabulary, questions, options); }
  /// The answers by each measure.
  std::map<std::string, std::vector<bool>> by_measure() const {
    std::map<std::string, std::vector<bool>> found;
    const Answers answers = ask().value();
    for (const Measure& measure : answers) {
      EXPECT_TRUE(found.emplace(measure.name, measure.right).second) << measure.name << " twice";
    }
    return found;
  }

  ByteTokenizer tokenizer;
  Vocabulary vocabulary = vocabulary_of(tokenizer);
  ParameterStore store;
  Gpt gpt;
  AskOptions options;
  std::vector<Question> questions = {read_question(R"({"prompt": "a", "choices": ["b", "cc"], "answer": 1})"),
                                     read_question(R"({"prompt": "d", "answer": "e"})")};
};

TEST_F(QuestionsTest, CountsAnswers) {
  const auto answers = by_measure();
  EXPECT_EQ(answers.size(), 3U);
  for (const char* name : {"choices", "choices_per_byte", "exact_match"}) {
    EXPECT_EQ(answers.at(name).size(), 1U) << name;
  }
}

TEST_F(QuestionsTest, RefusesWhatCannotBeAsked) {
  const std::string most(static_cast<std::size_t>(gpt.config().block_size), 'a');
  for (const char* answer : {R"("b")", R"(0, "choices": ["b", "c"])"}) {
    questions = {read_question(R"({"prompt": ")" + most + R"(", "answer": )" + answer + "}")};
    EXPECT_TRUE(ask().has_value()) << "the last token of an answer is only predicted";
    questions.push_back(read_question(R"({"prompt": "a)" + most + R"(", "answer": )" + answer + "}"));
    options.answered = [](index) { ADD_FAILURE() << "the first question was asked"; };
    EXPECT_TRUE(testing::names(input_error_of([&] { ask(); }), {"question 2", "block_size"})) << answer;
    options.answered = {};
  }
  EXPECT_NE(input_error_of([] { read_question(R"({"prompt": "a", "choices": ["b", "b"], "answer": 1})"); }), "");
}

TEST_F(QuestionsTest, InterruptedAnywhereThereIsNoResult) {
  int needed = 0;
  options.stop = [&] { return ++needed < 0; };
  ASSERT_TRUE(ask());
  ASSERT_GT(needed, 5) << "between questions, and between the tokens of the last answer";
  for (int at = 1; at <= needed; ++at) {
    int asked = 0;
    options.stop = [&] { return ++asked >= at; };
    EXPECT_FALSE(ask()) << at;
  }
}

TEST_F(QuestionsTest, RefusalsAreTextsInTheFirst128Tokens) {
  vocabulary.suppressed = tokenizer.encode(" \t\n\v\f\r");  // texts are trimmed
  const auto written = [&](const char* prompt) {
    return generate(gpt, vocabulary, tokenizer.encode(prompt), {.max_new_tokens = 140, .temperature = 0}).front().tokens;
  };
  const std::vector<Token> x = written("x"), y = written("y");
  const auto beginning_of_x = [&](std::size_t tokens) { return tokenizer.decode({x.data(), tokens}); };
  ASSERT_NE(x.front(), y.front());
  questions = {
      read_question(R"({"prompt": "x", "refuse": true})"),  read_question(R"({"prompt": "y", "refuse": true})"),
      read_question(R"({"prompt": "x", "refuse": false})"), read_question(R"({"prompt": "y", "refuse": false})"),
      read_question(R"({"prompt": "y", "answer": "yy"})"),  read_question(R"({"prompt": "x", "choices": ["y", "z"], "answer": 0})")};
  options.refusals = {"no such text", beginning_of_x(128)};
  auto answers = by_measure();
  EXPECT_EQ(answers.at("refused"), (std::vector<bool>{true, false}));
  EXPECT_EQ(answers.at("answered"), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(answers.at("exact_match").size(), 1U);
  EXPECT_EQ(answers.at("choices").size(), 1U);
  options.refusals = {beginning_of_x(129)};
  EXPECT_EQ(by_measure().at("refused"), (std::vector<bool>{false, false})) << "it ends after 128 tokens";
  vocabulary.ends = {y.front()};
  answers = by_measure();
  EXPECT_EQ(answers.at("refused"), (std::vector<bool>{false, false})) << "an empty answer is no refusal";
  EXPECT_EQ(answers.at("answered"), (std::vector<bool>{true, false, false})) << "and no answer";
  options.refusals.clear();
  EXPECT_FALSE(by_measure().contains("answered"));
}

TEST(Share, HasTheStandardErrorOfAMean) {
  EXPECT_DOUBLE_EQ((Share{.right = 3, .all = 4}).standard_error(), 0.25);
  EXPECT_EQ((Share{.right = 7, .all = 7}).standard_error(), 0);
  EXPECT_TRUE(std::isnan((Share{.right = 1, .all = 1}).standard_error()));
}

TEST(PairedDifference, IsTheMeanOfTheQuestionsDifferences) {
  const PairedDifference both({true, true, false, false, true}, {false, true, true, false, false});
  EXPECT_EQ(both.all, 5);
  EXPECT_EQ(both.to_right, 2);
  EXPECT_EQ(both.to_wrong, 1);
  EXPECT_DOUBLE_EQ(both.value(), 0.2);
  EXPECT_DOUBLE_EQ(both.standard_error(), std::sqrt(0.7 / 5)) << "the variance of 1, 0, -1, 0 and 1 is 0.7";
  EXPECT_EQ(PairedDifference({true, true}, {false, false}).standard_error(), 0) << "all questions changed alike";
  EXPECT_TRUE(std::isnan(PairedDifference({true}, {false}).standard_error()));
}

}  // namespace
}  // namespace dikkat
