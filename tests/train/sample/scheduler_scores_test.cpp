#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/support/throws.h"
#include "tests/train/sample/running_scheduler.h"
#include "train/sample/prompt_cache.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

SampleRequest scored(const StreamedModel& model, std::vector<Token> prompt, index tokens, index alternatives = 3) {
  SampleRequest one = request(model, std::move(prompt), tokens);
  one.prompt_alternatives = alternatives;
  return one;
}

/// Log probabilities of each token under the model, from one pass of all of the prompt, in long double.
std::vector<std::vector<double>> by_one_pass(const StreamedModel& model, const std::vector<Token>& prompt) {
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor logits = model.gpt(pass, tape.input<Token>({1, std::ssize(prompt)}, prompt));
  std::vector<std::vector<double>> all;
  for (index i = 0; i < std::ssize(prompt); ++i) {
    const float* row = logits.data<float>() + i * kStreamedTokens;
    long double total = 0;
    for (index id = 0; id < kStreamedTokens; ++id) {
      total += std::exp(static_cast<long double>(row[id]));
    }
    auto& found = all.emplace_back();
    for (index id = 0; id < kStreamedTokens; ++id) {
      found.push_back(static_cast<double>(row[id] - std::log(total)));
    }
  }
  return all;
}

TEST(SchedulerScores, AreThoseOfOnePassOverThePrompt) {
  for (const TransformerConfig& config : {kGpt, kLlama}) {
    const StreamedModel model(config, 4, 4);  // large logits would have large rounding errors
    for (const index size : {1, 2, 17, 128, 129, 400}) {
      const std::vector<Token> prompt = text(size, 5);
      const StreamedAnswer answer = alone(model, scored(model, prompt, 0, 4));
      EXPECT_EQ(answer.ending, Ending::length);
      EXPECT_TRUE(answer.tokens.empty());
      ASSERT_EQ(std::ssize(answer.scores), size);
      EXPECT_EQ(answer.scores[0], ScoredToken{.token = prompt[0]}) << "nothing precedes it";
      const auto expected = by_one_pass(model, prompt);
      for (std::size_t i = 1; i < answer.scores.size(); ++i) {
        const ScoredToken& one = answer.scores[i];
        EXPECT_EQ(one.token, prompt[i]);
        EXPECT_NEAR(one.log_probability.value(), expected[i - 1][static_cast<std::size_t>(prompt[i])], 1e-4);
        ASSERT_EQ(one.likeliest.size(), 4U);
        for (const auto& [id, log_probability] : one.likeliest) {
          EXPECT_NEAR(log_probability, expected[i - 1][static_cast<std::size_t>(id)], 1e-4);
          EXPECT_TRUE(id != one.token || log_probability == one.log_probability);
        }
      }
    }
  }
}

// The bits of scores, and of the tokens after them, depend neither on neighbors nor on the cache nor on threads.
TEST(SchedulerScores, HaveTheSameBitsBesideAnyOthers) {
  for (const TransformerConfig& config : {kGpt, kLlama}) {
    const StreamedModel model(config);
    const index sizes[] = {1, 5, 17, 20, 29, 40, 128, 129, 140, 260};
    std::map<index, StreamedAnswer> expected;
    for (const index size : sizes) {
      expected[size] = alone(model, scored(model, text(size, 3), 2));
      StreamedAnswer unscored = alone(model, request(model, text(size, 3), 2));
      unscored.scores = expected[size].scores;
      EXPECT_EQ(unscored, expected[size]) << "scores change nothing that is drawn";
    }
    PromptCache prompts(model.gpt, {.positions = 8 * PromptCache::kChunk});
    const WithThreads with(2, Work{0});
    for (const index streams : {3, 12}) {
      for (const bool is_cached : {false, true}) {
        SCOPED_TRACE(concat(streams, " streams", is_cached ? ", cached" : ""));
        Running running(model, {.streams = streams, .prompts = is_cached ? &prompts : nullptr, .scores_prompts = true});
        std::map<index, index> sizes_of;
        for (index i = 0; i < 14; ++i) {
          const index size = sizes[(3 * i + streams) % 10];
          if (i % 4 == 3) {
            running.add(request(model, text(size, 3), 3));  // without scores
            continue;
          }
          sizes_of[running.add(scored(model, text(size, 3), 2))] = size;
        }
        running.finish();
        for (const auto& [number, size] : sizes_of) {
          EXPECT_EQ(running.answers[number], expected[size]) << size;
        }
      }
    }
    EXPECT_GT(prompts.positions(), 0);
  }
}

TEST(SchedulerScores, OfShortPromptsShareAPass) {
  const StreamedModel model(kGpt);
  Running running(model, {.streams = 8, .scores_prompts = true});
  for (index i = 0; i < 8; ++i) {
    running.add(scored(model, text(30 + i % 3, i), 0));
  }
  running.finish();
  EXPECT_EQ(running.steps, 2) << "four prompts of up to 32 tokens in each";
  EXPECT_EQ(running.scheduler.prompt_tokens_read(), 247) << "without what they are filled up with";
  for (index i = 0; i < 8; ++i) {
    EXPECT_EQ(running.answers[i], alone(model, scored(model, text(30 + i % 3, i), 0)));
  }
  // Prompts of different lengths, and those near the end of a context, which have no room to be filled up.
  TransformerConfig config = kGpt;
  config.block_size = 40;
  const StreamedModel narrow(config);
  Running full(narrow, {.streams = 3, .scores_prompts = true});
  full.add(scored(narrow, text(20, 1), 0));
  full.add(scored(narrow, text(40, 2), 0));
  full.add(scored(narrow, text(33, 3), 2));
  full.finish();
  EXPECT_EQ(full.answers[1], alone(narrow, scored(narrow, text(40, 2), 0)));
  EXPECT_EQ(full.answers[2], alone(narrow, scored(narrow, text(33, 3), 2)));
}

TEST(SchedulerScores, ComeFromTheCache) {
  const StreamedModel model(kGpt);
  PromptCache prompts(model.gpt, {.positions = 6 * PromptCache::kChunk});
  const auto cached = [&](const SampleRequest& one) {
    Running running(model, {.streams = 1, .prompts = &prompts, .scores_prompts = true});
    running.add(one);
    running.finish();
    EXPECT_EQ(running.answers[0], alone(model, one));
    EXPECT_EQ(running.scheduler.prompt_tokens_read() + running.scheduler.prompt_tokens_cached(), std::ssize(one.prompt));
    return running.scheduler.prompt_tokens_cached();
  };
  const auto prompt = text(300, 1);
  EXPECT_EQ(cached(request(model, prompt, 2)), 0);
  EXPECT_EQ(cached(scored(model, prompt, 2, 2)), 0) << "what was read has no scores";
  EXPECT_EQ(cached(scored(model, prompt, 2, 2)), 256);
  EXPECT_EQ(cached(scored(model, prompt, 0, 1)), 256) << "fewer alternatives";
  EXPECT_EQ(cached(scored(model, prompt, 0, 5)), 0) << "more alternatives are read again";
  EXPECT_EQ(cached(scored(model, prompt, 2, 4)), 256);
  EXPECT_EQ(cached(request(model, prompt, 2)), 256);
  // Another end of the same prompt: its first score comes from the logits that are kept.
  auto other = prompt;
  other[256] = (other[256] + 1) % kStreamedTokens;
  EXPECT_EQ(cached(scored(model, other, 0, 5)), 256);
  SampleRequest fewer_ids = scored(model, prompt, 0, 5);
  fewer_ids.vocabulary.size = kStreamedTokens - 3;
  EXPECT_EQ(cached(fewer_ids), 0) << "alternatives of another vocabulary";
}

TEST(SchedulerScores, AreOnlyForPromptsThatFit) {
  const StreamedModel model(kGpt);
  Scheduler scheduler(model.gpt, {.streams = 1, .scores_prompts = true});
  EXPECT_TRUE(names(error_of([&] { scheduler.add(scored(model, text(401, 1), 0)); }), {"401", "400"}));
  EXPECT_THROW(scheduler.add(scored(model, text(401, 1), 0)), InputError);
  EXPECT_THROW(scheduler.add(scored(model, text(4, 1), 0, kMostAlternatives + 1)), InputError);
  EXPECT_THROW(scheduler.add(scored(model, text(4, 1), 0, -1)), InputError);
  Scheduler without(model.gpt, {.streams = 1});
  EXPECT_TRUE(names(error_of([&] { without.add(scored(model, text(4, 1), 0)); }), {"scores_prompts"}));
  EXPECT_TRUE(scheduler.is_idle() && without.is_idle());
}

}  // namespace
}  // namespace dikkat
