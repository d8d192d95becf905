#include "train/sample/scheduler.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/support/compare.h"
#include "tests/support/throws.h"
#include "tests/train/sample/running_scheduler.h"
#include "train/sample/prompt_cache.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

// An answer's bits depend neither on its neighbors nor on when they come, nor on what is cached, nor on threads.
void expect_the_same_bits_beside_any_others(const TransformerConfig& config, std::optional<DType> cache = {}) {
  const StreamedModel model(config);
  const SampleRequest mine = request(model, text(150, 3), 12);
  const StreamedAnswer expected = alone(model, mine, cache);
  ASSERT_EQ(expected.tokens.size(), 12U);
  ASSERT_EQ(expected.logits.size(), static_cast<std::size_t>(12 * kStreamedTokens));
  PromptCache prompts(model.gpt, {.positions = 8 * PromptCache::kChunk, .cache = cache});
  for (const int threads : {1, 2, 4}) {
    const WithThreads with(threads, Work{0});
    for (const index neighbors : threads == 2 ? std::vector<index>{1, 3, 8, 16, 20} : std::vector<index>{3, 20}) {
      for (const bool is_cached : {false, true}) {
        SCOPED_TRACE(concat(neighbors, " neighbors, ", threads, " threads", is_cached ? ", cached" : ""));
        Running running(model, {.streams = neighbors + 1, .cache = cache, .prompts = is_cached ? &prompts : nullptr});
        std::map<index, SampleRequest> others;
        index my_number = -1;
        for (index i = 0; i < neighbors; ++i) {
          // Some have the same prompt, or begin in the same way.
          const auto other = request(model, i % 5 == 4 ? text(150 + 40 * (i % 3), 3) : text(1 + 37 * i % 310, i), 3 + 5 * i % 17, 7);
          others[running.add(other)] = other;
          if (i == neighbors / 2) {
            my_number = running.add(mine);
          }
          if (i % 3 == 0) {
            running.step();
          }
        }
        running.finish();
        EXPECT_EQ(running.answers[my_number], expected);
        EXPECT_EQ(std::ssize(running.answers), neighbors + 1);
        if (threads == 2 && neighbors == 8) {
          for (const auto& [number, other] : others) {
            EXPECT_EQ(running.answers[number], alone(model, other, cache)) << number;
          }
        }
      }
    }
  }
  EXPECT_GT(prompts.positions(), 0);
}

TEST(Scheduler, GivesTheSameBitsBesideAnyOthers) { expect_the_same_bits_beside_any_others(kGpt); }
TEST(Scheduler, OfALlamaGivesTheSameBitsBesideAnyOthers) { expect_the_same_bits_beside_any_others(kLlama); }
TEST(Scheduler, WithNarrowKeysGivesTheSameBitsBesideAnyOthers) { expect_the_same_bits_beside_any_others(kLlama, DType::bf16); }

TEST(Scheduler, AlternatesBetweenPromptsAndTokens) {
  const StreamedModel model(kGpt);
  Running running(model, {.streams = 4});
  const index first = running.add(request(model, {1, 2}, 30));
  running.step();
  ASSERT_EQ(running.answers[first].tokens.size(), 1U);
  const index long_one = running.add(request(model, text(390, 1), 4));
  running.step();
  const index short_one = running.add(request(model, text(100, 2), 4));
  running.finish();
  const std::vector<index>& steps = running.answers[first].steps;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    EXPECT_LE(steps[i] - steps[i - 1], 2) << "it waits for one chunk at most";
  }
  EXPECT_LT(running.answers[short_one].steps[0], running.answers[long_one].steps[0]) << "prompts take turns";
  EXPECT_LE(running.answers[short_one].steps[0], 2 + 4) << "a chunk of each, and tokens between them";
}

TEST(Scheduler, ReadsAPromptOnce) {
  const StreamedModel model(kGpt);
  Running running(model, {.streams = 3});
  const auto prompt = text(300, 5);
  for (index i = 0; i < 7; ++i) {
    running.add(request(model, prompt, 4 + i, static_cast<std::uint64_t>(i)));
  }
  running.finish();
  EXPECT_EQ(running.scheduler.prompt_tokens_read(), 300);
  EXPECT_EQ(running.scheduler.prompt_tokens_cached(), 6 * 300);
  for (index i = 0; i < 7; ++i) {
    EXPECT_EQ(running.answers[i], alone(model, request(model, prompt, 4 + i, static_cast<std::uint64_t>(i)))) << i;
  }
  // Another prompt takes a stream; the prompt is still in the other ones.
  running.add(request(model, text(200, 1), 3));
  running.finish();
  EXPECT_EQ(running.scheduler.prompt_tokens_read(), 500);
  running.add(request(model, prompt, 3));
  running.finish();
  EXPECT_EQ(running.scheduler.prompt_tokens_read(), 500);
}

TEST(Scheduler, ContinuesAPromptWhoseReaderHasEnded) {
  const StreamedModel model(kGpt);
  const auto prompt = text(390, 5);
  Running running(model, {.streams = 4});
  const index reader = running.add(request(model, prompt, 5, 1));
  const index second = running.add(request(model, prompt, 5, 2));
  const index third = running.add(request(model, prompt, 5, 3));
  running.step();
  running.step();
  running.scheduler.end(reader, Ending::stop);
  running.finish();
  EXPECT_EQ(running.scheduler.prompt_tokens_read(), 390) << "nothing is read again";
  EXPECT_EQ(running.answers[reader].ending, Ending::stop);
  EXPECT_TRUE(running.answers[reader].tokens.empty());
  EXPECT_EQ(running.answers[second], alone(model, request(model, prompt, 5, 2)));
  EXPECT_EQ(running.answers[third], alone(model, request(model, prompt, 5, 3)));
}

TEST(Scheduler, EndsRunningAndWaitingSamples) {
  const StreamedModel model(kGpt);
  Running running(model, {.streams = 2});
  for (index i = 0; i < 5; ++i) {
    EXPECT_EQ(running.add(request(model, text(10 + i, i), 6)), i);
  }
  EXPECT_EQ(running.scheduler.running(), 2);
  EXPECT_EQ(running.scheduler.waiting(), 3);
  running.step();
  running.scheduler.end(3, Ending::interrupted);
  running.scheduler.end(0, Ending::stop);
  running.scheduler.end(0, Ending::length);  // it has ended
  running.scheduler.end(77, Ending::stop);   // there is none
  EXPECT_FALSE(running.scheduler.is_idle());
  running.step();
  EXPECT_EQ(running.answers[3].ending, Ending::interrupted);
  EXPECT_EQ(running.answers[0].ending, Ending::stop);
  EXPECT_EQ(running.answers[0].tokens.size(), 1U);
  running.finish();
  for (const index i : {1, 2, 4}) {
    EXPECT_EQ(running.answers[i], alone(model, request(model, text(10 + i, i), 6))) << i;
  }
  EXPECT_TRUE(running.scheduler.step().empty()) << "nothing is left";
  running.scheduler.end(2, Ending::stop);
  EXPECT_TRUE(running.scheduler.is_idle());
  EXPECT_EQ(running.add(request(model, {1}, 0)), 5);
  EXPECT_FALSE(running.scheduler.is_idle());
  EXPECT_FALSE(running.scheduler.reads_next()) << "it gets no token";
  running.finish();
  EXPECT_EQ(running.answers[5].ending, Ending::length);
}

TEST(Scheduler, KeepsTheRestOfAFullContext) {
  TransformerConfig config = kLlama;
  config.block_size = 40;
  const StreamedModel model(config);
  const SampleRequest mine = request(model, text(30, 3), 90);
  const StreamedAnswer expected = alone(model, mine);
  ASSERT_EQ(expected.tokens.size(), 90U);
  // Read the same text by hand: the prompt, then token by token, without the oldest ten when forty are there.
  KeyValueCache cache = model.gpt.cache(1);
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  std::vector<float> logits;
  const auto read = [&](std::vector<Token> tokens) {
    const index count = std::ssize(tokens);
    if (cache.length() == config.block_size) {
      cache.drop_oldest(0, 10);
    }
    const Tensor y = model.gpt.logits(pass, model.gpt.features(pass, tape.input<Token>({1, count}, tokens), cache));
    logits.insert(logits.end(), y.data<float>() + (count - 1) * kStreamedTokens, y.data<float>() + count * kStreamedTokens);
  };
  read(mine.prompt);
  for (std::size_t i = 0; i + 1 < expected.tokens.size(); ++i) {
    read({expected.tokens[i]});
  }
  EXPECT_LT(testing::relative_error(expected.logits, logits), 1e-6);

  // Nothing but the prompt is read twice, beside other answers, some of which read again.
  Running running(model, {.streams = 3});
  const index first = running.add(mine);
  running.step();
  SampleRequest other = mine;
  other.options.rereads = true;
  const index second = running.add(other), third = running.add(mine);
  running.finish();
  EXPECT_EQ(running.answers[first], expected);
  EXPECT_EQ(running.answers[third], expected);
  EXPECT_NE(running.answers[second], expected);
  EXPECT_EQ(running.answers[second], alone(model, other));
}

TEST(Scheduler, ReadsAFullContextAgainInChunks) {
  TransformerConfig config = kLlama;
  config.block_size = 200;
  const StreamedModel model(config);
  SampleRequest mine = request(model, text(190, 3), 80);
  mine.options.rereads = true;
  const StreamedAnswer expected = alone(model, mine);
  EXPECT_EQ(expected.tokens.size(), 80U);
  // The context after it was dropped is that of a prompt which begins there.
  std::vector<Token> rest = text(190, 3);
  rest.insert(rest.end(), expected.tokens.begin(), expected.tokens.begin() + 11);  // 201 tokens, of which 50 are dropped
  rest.erase(rest.begin(), rest.begin() + 50);
  const StreamedAnswer after = alone(model, request(model, rest, 1));
  EXPECT_TRUE(std::equal(after.logits.begin(), after.logits.end(), expected.logits.begin() + 11 * kStreamedTokens));

  PromptCache prompts(model.gpt);
  Running running(model, {.streams = 3, .prompts = &prompts});
  const index beside = running.add(request(model, {5}, 120));
  const index first = running.add(mine);
  running.step();
  const index second = running.add(mine);
  running.finish();
  EXPECT_TRUE(running.scheduler.outgrew_context());
  EXPECT_EQ(running.answers[first], expected);
  EXPECT_EQ(running.answers[second], expected);
  const std::vector<index>& steps = running.answers[beside].steps;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    EXPECT_LE(steps[i] - steps[i - 1], 2);
  }
}

TEST(Scheduler, HasSeveralModels) {
  const StreamedModel first(kGpt, 1), second(kGpt, 2);
  PromptCache prompts(first.gpt, {.positions = 2000});
  Running running(first, {.streams = 6, .prompts = &prompts});
  for (index i = 0; i < 12; ++i) {
    running.add(request(i % 3 == 1 ? second : first, text(140 + i / 4, 1), 5));
  }
  running.finish();
  for (index i = 0; i < 12; ++i) {
    EXPECT_EQ(running.answers[i], alone(i % 3 == 1 ? second : first, request(i % 3 == 1 ? second : first, text(140 + i / 4, 1), 5))) << i;
  }
  EXPECT_NE(running.answers[0].logits, running.answers[1].logits);
}

// No answer has anything of a text that was in its memory before: all that the memory holds beyond a sample's own positions has no effect.
TEST(Scheduler, LeaksNothingOfEarlierTexts) {
  const StreamedModel model(kLlama);
  const SampleRequest mine = request(model, text(140, 1), 10);
  const StreamedAnswer expected = alone(model, mine);
  PromptCache prompts(model.gpt, {.positions = 2 * PromptCache::kChunk});
  Running running(model, {.streams = 2, .prompts = &prompts});
  for (index i = 0; i < 6; ++i) {
    // Secret texts, longer than mine, some of which begin as mine does; they are in streams and in the cache.
    auto secret = text(390, 100 + i);
    if (i % 2 == 0) {
      const auto begin = text(130 + i, 1);
      std::copy(begin.begin(), begin.end(), secret.begin());
    }
    running.add(request(model, secret, 5));
    running.add(request(model, text(300, 50 + i), 7));
    const index number = running.add(mine);
    running.finish();
    EXPECT_EQ(running.answers[number], expected) << i;
  }
}

/// Allows the tokens of a list, in turn, and any token that ends the sample after the last.
class InTurn : public TokenConstraint {
 public:
  explicit InTurn(std::vector<Token> allowed) : allowed_(std::move(allowed)) {}
  void mask(std::span<float> logits) override {
    for (index i = 0; i < std::ssize(logits); ++i) {
      if (i != allowed_.at(at_)) {
        logits[static_cast<std::size_t>(i)] = -std::numeric_limits<float>::infinity();
      }
    }
  }
  void accept(Token token) override {
    EXPECT_EQ(token, allowed_.at(at_));
    ++at_;
  }
  bool is_complete() const override { return at_ == allowed_.size(); }

 private:
  std::vector<Token> allowed_;
  std::size_t at_ = 0;
};

TEST(Scheduler, FollowsTheConstraintOfEachSample) {
  const StreamedModel model(kGpt);
  Running running(model, {.streams = 4});
  const std::vector<Token> allowed = {7, 3, 3, 19};
  index made = 0;
  for (index i = 0; i < 3; ++i) {
    SampleRequest one = request(model, text(10, i), 50);
    one.options.constraint = [&] {
      ++made;
      return std::make_unique<InTurn>(allowed);
    };
    running.add(one);
  }
  const index free = running.add(request(model, text(10, 9), 12));
  SampleRequest ends = request(model, text(10, 9), 50);
  ends.options.constraint = [&] { return std::make_unique<InTurn>(allowed); };
  ends.vocabulary.ends = {3};
  const index ended = running.add(ends);
  SampleRequest nothing = ends;
  nothing.vocabulary = {.size = kStreamedTokens, .suppressed = {3}};
  const index none = running.add(nothing);
  running.finish();
  EXPECT_EQ(made, 3);
  for (index i = 0; i < 3; ++i) {
    EXPECT_EQ(running.answers[i].tokens, allowed);
    EXPECT_EQ(running.answers[i].ending, Ending::end);
  }
  EXPECT_EQ(running.answers[free], alone(model, request(model, text(10, 9), 12)));
  EXPECT_EQ(running.answers[ended].tokens, std::vector<Token>{7});
  EXPECT_EQ(running.answers[ended].ending, Ending::end);
  EXPECT_EQ(running.answers[none].tokens, std::vector<Token>{7}) << "no token may follow";
  EXPECT_EQ(running.answers[none].ending, Ending::end);
}

TEST(Scheduler, RefusesWhatDoesNotFit) {
  TransformerConfig wider = kGpt;
  wider.n_embd = 32;
  const StreamedModel model(kGpt), other(wider);
  EXPECT_TRUE(names(error_of([&] { Scheduler(model.gpt, {.streams = 0}); }), {"0 streams", "1"}));
  EXPECT_TRUE(names(error_of([&] { Scheduler(model.gpt, {.streams = 1, .cache = DType::f64}); }), {"f64", "f32", "bf16"}));
  PromptCache prompts(model.gpt);
  EXPECT_TRUE(names(error_of([&] { Scheduler(model.gpt, {.streams = 1, .cache = DType::bf16, .prompts = &prompts}); }), {"f32", "bf16"}));
  Scheduler scheduler(model.gpt, {.streams = 1});
  EXPECT_TRUE(names(error_of([&] { scheduler.add(request(other, {1}, 1)); }), {"model", "2 layers", "32", "16"}));
  EXPECT_THROW(scheduler.add(request(model, {}, 1)), InputError);
  EXPECT_THROW(scheduler.add(request(model, {kStreamedTokens}, 1)), Error);
  EXPECT_THROW(scheduler.add(request(model, {1}, -1)), InputError);
  EXPECT_TRUE(scheduler.is_idle());
  EXPECT_EQ(scheduler.add(request(model, {1}, 1)), 0) << "a request that is refused has no number";
}

TEST(Scheduler, PlansItsMemory) {
  const StreamedModel model(kGpt);
  const TransformerConfig& c = model.gpt.config();
  const auto of = [&](index streams, std::optional<DType> cache = {}) { return Scheduler::bytes(c, {.streams = streams, .cache = cache}); };
  const std::size_t keys = key_value_bytes(c, 400, DType::f32);
  EXPECT_EQ(keys, 2U * 400 * 2 * 16 * 4);
  EXPECT_EQ(key_value_bytes(c, 400, DType::bf16), keys / 2);
  EXPECT_EQ(model.gpt.cache(3).bytes(400), keys);
  EXPECT_EQ(model.gpt.cache(3, DType::bf16).bytes(400), keys / 2);
  EXPECT_EQ(of(8), 8 * of(1));
  EXPECT_GT(of(1), keys);
  EXPECT_EQ(of(1) - of(1, DType::bf16), keys / 2);
  // A cache that has to grow has both sizes for a moment.
  TransformerConfig large = c;
  large.block_size = 3000;
  EXPECT_EQ(2 * Scheduler::bytes(large, {.streams = 1}) - Scheduler::bytes(large, {.streams = 2}), key_value_bytes(c, 2048, DType::f32));
  EXPECT_EQ(PromptCache::bytes(c, {.positions = 300}), key_value_bytes(c, 256, DType::f32));
  // Scores take memory too: of each token of a context, and logits.
  const std::size_t scores = PromptScores::bytes(c, 400, 1), logits = sizeof(float) * PromptCache::kChunk * kStreamedTokens;
  EXPECT_EQ(scores, 400 * (sizeof(ScoredToken) + kMostAlternatives * sizeof(std::pair<Token, double>)) + sizeof(float) * kStreamedTokens);
  EXPECT_EQ(Scheduler::bytes(c, {.streams = 3, .scores_prompts = true}), of(3) + 3 * scores + logits);
  EXPECT_EQ(PromptCache::bytes(c, {.positions = 300, .scores_prompts = true}),
            key_value_bytes(c, 256, DType::f32) + PromptScores::bytes(c, 256, 2));
}

TEST(PromptCache, KeepsSeveralConversations) {
  const StreamedModel model(kGpt);
  const auto read = [&](PromptCache& prompts, const std::vector<Token>& prompt) {
    Running running(model, {.streams = 1, .prompts = &prompts});
    running.add(request(model, prompt, 3));
    running.finish();
    EXPECT_EQ(running.answers[0], alone(model, request(model, prompt, 3)));
    EXPECT_EQ(running.scheduler.prompt_tokens_read() + running.scheduler.prompt_tokens_cached(), std::ssize(prompt));
    return running.scheduler.prompt_tokens_cached();
  };
  PromptCache prompts(model.gpt, {.positions = 5 * PromptCache::kChunk + 100});
  EXPECT_EQ(prompts.most_positions(), 5 * PromptCache::kChunk);
  EXPECT_EQ(read(prompts, text(260, 1)), 0);
  EXPECT_EQ(read(prompts, text(260, 2)), 0);
  EXPECT_EQ(prompts.positions(), 4 * PromptCache::kChunk);
  EXPECT_EQ(read(prompts, text(300, 1)), 256);
  EXPECT_EQ(read(prompts, text(256, 2)), 128) << "at least one token is read";
  EXPECT_EQ(read(prompts, text(260, 2)), 256);
  // A prompt that shares its beginning needs one chunk more, and another one makes room: the end of what was used least recently goes
  // first.
  auto branch = text(260, 1);
  branch[200] = (branch[200] + 1) % kStreamedTokens;
  EXPECT_EQ(read(prompts, branch), 128);
  EXPECT_EQ(prompts.positions(), 5 * PromptCache::kChunk);
  EXPECT_EQ(read(prompts, text(140, 3)), 0);
  EXPECT_EQ(prompts.positions(), 5 * PromptCache::kChunk);
  EXPECT_EQ(read(prompts, text(140, 3)), 128);
  EXPECT_EQ(read(prompts, branch), 256);
  EXPECT_EQ(read(prompts, text(260, 2)), 256);
  EXPECT_EQ(read(prompts, text(260, 1)), 128) << "its second chunk made room";
  prompts.clear();
  EXPECT_EQ(prompts.positions(), 0);
  EXPECT_EQ(read(prompts, text(260, 2)), 0);
}

TEST(PromptCache, KeepsAsMuchOfAPromptAsItHasRoomFor) {
  const StreamedModel model(kGpt);
  for (const index chunks : {0, 1, 2}) {
    PromptCache prompts(model.gpt, {.positions = chunks * PromptCache::kChunk + 1});
    for (const index cached : {index{0}, chunks * PromptCache::kChunk}) {
      Running running(model, {.streams = 1, .prompts = &prompts});
      running.add(request(model, text(390, 1), 3));
      running.finish();
      EXPECT_EQ(running.scheduler.prompt_tokens_cached(), cached);
      EXPECT_EQ(running.answers[0], alone(model, request(model, text(390, 1), 3)));
    }
  }
}

TEST(PromptCache, KeepsModelsApart) {
  const StreamedModel first(kGpt, 1), second(kGpt, 2);
  PromptCache prompts(first.gpt);
  for (const StreamedModel* model : {&first, &second, &first}) {
    Running running(*model, {.streams = 1, .prompts = &prompts});
    running.add(request(*model, text(200, 1), 3));
    running.finish();
    EXPECT_EQ(running.answers[0], alone(*model, request(*model, text(200, 1), 3)));
  }
}

}  // namespace
}  // namespace dikkat
