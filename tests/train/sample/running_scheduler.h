#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "train/sample/scheduler.h"

// Small models with random weights, and what a scheduler answers with them.
namespace dikkat {

inline constexpr index kStreamedTokens = 20;
inline const Vocabulary kAll{.size = kStreamedTokens};

struct StreamedModel {
  ParameterStore store;
  Gpt gpt;

  /// Draws weights, and scales them so that the most likely tokens change from place to place.
  explicit StreamedModel(const TransformerConfig& config, std::uint64_t seed = 4, float scale = 8) : gpt(Scope(store), config) {
    store.allocate(seed);
    for (ParameterStore::Entry* entry : store.entries()) {
      for (index i = 0; i < entry->size(); ++i) {
        static_cast<float*>(entry->record.data)[i] *= scale;
      }
    }
  }
};

inline constexpr TransformerConfig kGpt{.n_layer = 2, .n_head = 2, .n_embd = 16, .block_size = 400, .vocab_size = kStreamedTokens};
inline constexpr TransformerConfig kLlama{.n_layer = 2,
                                          .n_head = 4,
                                          .n_kv_head = 2,
                                          .n_embd = 32,
                                          .block_size = 400,
                                          .vocab_size = kStreamedTokens,
                                          .bias = false,
                                          .positions = Positions::rope,
                                          .norm = NormKind::rms_norm,
                                          .activation = Activation::silu,
                                          .gated = true};

/// Returns a text that depends on `which`.
inline std::vector<Token> text(index size, index which) {
  std::vector<Token> tokens;
  for (index i = 0; i < size; ++i) {
    tokens.push_back(static_cast<Token>((i * i / 3 + which * (i + 7) + i / 11) % kStreamedTokens));
  }
  return tokens;
}

inline SampleRequest request(const StreamedModel& model, std::vector<Token> prompt, index tokens, std::uint64_t seed = 1) {
  return {.model = &model.gpt,
          .vocabulary = kAll,
          .prompt = std::move(prompt),
          .options = {.max_new_tokens = tokens, .temperature = 1, .seed = seed}};
}

struct StreamedAnswer {
  std::vector<ScoredToken> scores{};
  std::vector<Token> tokens{};
  std::vector<float> logits{};
  std::optional<Ending> ending{};
  std::vector<index> steps{};  // in which its tokens came

  /// Without the steps.
  bool operator==(const StreamedAnswer& other) const {
    return scores == other.scores && tokens == other.tokens && logits == other.logits && ending == other.ending;
  }
};

/// A scheduler whose answers are collected.
struct Running {
  Scheduler scheduler;
  std::map<index, StreamedAnswer> answers{};
  index steps = 0;

  Running(const StreamedModel& model, const Scheduler::Options& options) : scheduler(model.gpt, options) {}

  index add(SampleRequest request) { return scheduler.add(std::move(request)); }
  void step() {
    ++steps;
    index last = -1;
    for (const Scheduler::Event& event : scheduler.step()) {
      EXPECT_GE(event.number, last) << "events come in the order of numbers";
      last = event.number;
      StreamedAnswer& answer = answers[event.number];
      EXPECT_FALSE(answer.ending) << "an end is the last event";
      if (event.ending) {
        EXPECT_EQ(event.logits.empty(), !event.end_token);
        answer.ending = event.ending;
        continue;
      }
      if (!event.has_token()) {
        EXPECT_TRUE(answer.tokens.empty() && answer.scores.empty()) << "scores come once, and first";
        answer.scores.assign(event.prompt_scores.begin(), event.prompt_scores.end());
        continue;
      }
      answer.tokens.push_back(event.token);
      answer.logits.insert(answer.logits.end(), event.logits.begin(), event.logits.end());
      answer.steps.push_back(steps);
    }
  }
  void finish() {
    while (!scheduler.is_idle()) {
      step();
    }
  }
};

inline StreamedAnswer alone(const StreamedModel& model, const SampleRequest& one, std::optional<DType> cache = {}) {
  Running running(model, {.streams = 1, .cache = cache, .scores_prompts = true});
  running.add(one);
  running.finish();
  return running.answers[0];
}

}  // namespace dikkat
