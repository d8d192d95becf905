#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "train/sample/scheduler.h"

namespace dikkat {
namespace {

constexpr index kIds = 20;
constexpr Token kBroken = 7;  // its embedding is NaN

struct BrokenModel {
  ParameterStore store;
  Gpt gpt;

  BrokenModel()
      : gpt(Scope(store), {.n_layer = 1, .n_head = 2, .n_embd = 16, .block_size = 300, .vocab_size = kIds, .tie_embeddings = false}) {
    store.allocate(4);
    store.weights<float>()[store.entry("wte.weight").offset + kBroken * 16] = std::nanf("");
  }
  SampleRequest request(std::vector<Token> prompt, index tokens) const {
    // The broken token is never drawn.
    return {.model = &gpt,
            .vocabulary = {.size = kIds, .suppressed = {kBroken}},
            .prompt = std::move(prompt),
            .options = {.max_new_tokens = tokens, .temperature = 1, .seed = 3}};
  }
};

/// Throws at one of its calls, counted from 0.
class Throws : public TokenConstraint {
 public:
  explicit Throws(int at) : left_(at) {}
  void mask(std::span<float>) override { count(); }
  void accept(Token) override { count(); }
  bool is_complete() const override { return false; }

 private:
  void count() {
    if (left_-- == 0) {
      throw Error("the constraint broke");
    }
  }
  int left_;
};

struct Outcome {
  std::vector<Token> tokens{};
  std::optional<Ending> ending{};
  std::string failure{};
  bool operator==(const Outcome&) const = default;
};

std::map<index, Outcome> run(Scheduler& scheduler) {
  std::map<index, Outcome> outcomes;
  while (!scheduler.is_idle()) {
    for (const Scheduler::Event& event : scheduler.step()) {
      Outcome& outcome = outcomes[event.number];
      if (event.has_token()) {
        outcome.tokens.push_back(event.token);
        continue;
      }
      outcome.ending = event.ending;
      if (event.failure) {
        outcome.failure = testing::error_of([&] { std::rethrow_exception(event.failure); });
      }
    }
  }
  return outcomes;
}

TEST(SchedulerFailure, EndsOnlySamplesWhoseLogitsAreNan) {
  const BrokenModel model;
  const std::vector<Token> good(200, 3), bad(200, kBroken);
  Scheduler alone(model.gpt, {.streams = 1});
  alone.add(model.request(good, 30));
  const Outcome expected = run(alone).at(0);
  EXPECT_EQ(expected.ending, Ending::length);
  EXPECT_EQ(expected.failure, "");
  for (const index streams : {1, 2, 4}) {
    Scheduler scheduler(model.gpt, {.streams = streams});
    for (int i = 0; i < 6; ++i) {
      scheduler.add(model.request(i % 2 == 0 ? bad : good, 30));  // several wait for the one that reads the same prompt
    }
    const auto outcomes = run(scheduler);
    ASSERT_EQ(outcomes.size(), 6U);
    for (const auto& [number, outcome] : outcomes) {
      if (number % 2 != 0) {
        EXPECT_EQ(outcome, expected) << number;
        continue;
      }
      EXPECT_TRUE(outcome.tokens.empty());
      EXPECT_EQ(outcome.ending, Ending::interrupted);
      EXPECT_TRUE(testing::names(outcome.failure, {"logits", "NaN"}));
    }
  }
}

TEST(SchedulerFailure, EndsOnlyThePromptOfAPassWhoseScoresAreNan) {
  const BrokenModel model;
  for (const bool draws : {false, true}) {
    Scheduler scheduler(model.gpt, {.streams = 3, .scores_prompts = true});
    for (int i = 0; i < 3; ++i) {  // they are read in one pass
      std::vector<Token> prompt(30, 3);
      prompt[20] = i == 1 ? kBroken : Token{4};
      SampleRequest one = model.request(prompt, draws ? 2 : 0);
      one.prompt_alternatives = 1;
      scheduler.add(one);
    }
    std::map<index, index> scores;
    std::map<index, std::string> failures;
    while (!scheduler.is_idle()) {
      for (const Scheduler::Event& event : scheduler.step()) {
        scores[event.number] += std::ssize(event.prompt_scores);
        if (event.failure) {
          failures[event.number] = testing::error_of([&] { std::rethrow_exception(event.failure); });
        }
      }
    }
    EXPECT_EQ(scores, (std::map<index, index>{{0, 30}, {1, 0}, {2, 30}}));
    ASSERT_EQ(failures.size(), 1U);
    EXPECT_TRUE(testing::names(failures.at(1), {"logits", "NaN"}));
  }
}

TEST(SchedulerFailure, EndsOnlyASampleWhoseTokenMakesNan) {
  const BrokenModel model;
  Scheduler scheduler(model.gpt, {.streams = 3});
  SampleRequest fails = model.request({1, 2}, 30);
  fails.vocabulary.suppressed.clear();
  for (Token token = 0; token < kIds; ++token) {
    if (token != kBroken) {
      fails.vocabulary.suppressed.push_back(token);  // it draws only the broken one
    }
  }
  scheduler.add(model.request({1, 2}, 30));
  scheduler.add(fails);
  scheduler.add(model.request({3, 2}, 30));
  const auto outcomes = run(scheduler);
  EXPECT_EQ(outcomes.at(1).tokens, (std::vector<Token>{kBroken}));
  EXPECT_TRUE(testing::names(outcomes.at(1).failure, {"NaN"}));
  for (const index number : {0, 2}) {
    EXPECT_EQ(outcomes.at(number).tokens.size(), 30U);
    EXPECT_EQ(outcomes.at(number).failure, "");
  }
}

TEST(SchedulerFailure, EndsOnlySamplesWhoseConstraintThrows) {
  const BrokenModel model;
  Scheduler alone(model.gpt, {.streams = 1});
  alone.add(model.request({5, 6}, 20));
  const Outcome expected = run(alone).at(0);
  for (const index streams : {1, 3}) {
    Scheduler scheduler(model.gpt, {.streams = streams});
    for (int i = 0; i < 8; ++i) {
      SampleRequest one = model.request({5, 6}, 20);
      if (i % 2 == 0) {
        one.options.constraint = [i]() -> std::unique_ptr<TokenConstraint> {
          if (i == 4) {
            throw Error("the constraint broke");
          }
          return std::make_unique<Throws>(i);
        };
      }
      scheduler.add(one);
    }
    const auto outcomes = run(scheduler);
    ASSERT_EQ(outcomes.size(), 8U);
    for (const auto& [number, outcome] : outcomes) {
      if (number % 2 != 0) {
        EXPECT_EQ(outcome, expected) << number;
      } else {
        EXPECT_EQ(outcome.ending, Ending::interrupted);
        EXPECT_EQ(outcome.failure, "the constraint broke") << number;
      }
    }
  }
}

}  // namespace
}  // namespace dikkat
