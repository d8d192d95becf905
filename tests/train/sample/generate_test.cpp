#include "train/sample/generate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/loss.h"
#include "optim/adamw.h"
#include "tests/support/throws.h"
#include "tests/support/without_cache.h"
#include "train/sample/prompt_cache.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::generate_without_cache;
using testing::names;

constexpr index kModelVocabulary = 20;
const Vocabulary kVocabulary{.size = 9};

struct Model {
  ParameterStore store;
  Gpt gpt;

  explicit Model(const TransformerConfig& config, std::uint64_t seed = 4) : gpt(Scope(store), config) {
    store.allocate(seed);
    for (ParameterStore::Entry* entry : store.entries()) {
      for (index i = 0; i < entry->size(); ++i) {
        static_cast<float*>(entry->record.data)[i] *= 15;
      }
    }
  }
};

constexpr TransformerConfig kConfig{.n_layer = 2, .n_head = 2, .n_embd = 16, .block_size = 6, .vocab_size = kModelVocabulary};

std::vector<std::vector<Token>> tokens_of(const std::vector<Sample>& samples) {
  std::vector<std::vector<Token>> tokens;
  for (const Sample& sample : samples) {
    tokens.push_back(sample.tokens);
  }
  return tokens;
}

struct Generate : ::testing::Test {
  std::vector<std::vector<Token>> texts(const SampleOptions& options) const {
    return tokens_of(generate(model.gpt, kVocabulary, prompt, options));
  }

  Model model{kConfig};
  std::vector<Token> prompt = {1, 5, 2};
};

TEST_F(Generate, GreedyFollowsTheModelPastItsContext) {
  const SampleOptions options{.max_new_tokens = 20, .num_samples = 2, .temperature = 0};
  const auto found = texts(options);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], generate_without_cache(model.gpt, kVocabulary.size, prompt, options, 1));
  EXPECT_EQ(found[1], found[0]);
}

TEST_F(Generate, AFullContextDropsItsOldestQuarterAtOnce) {
  TransformerConfig config = kConfig;
  config.block_size = 8;
  Model other(config);
  std::swap(model.gpt, other.gpt);
  const SampleOptions options{.max_new_tokens = 30, .temperature = 0};
  EXPECT_EQ(texts(options)[0], generate_without_cache(model.gpt, kVocabulary.size, prompt, options, 2));
}

TEST_F(Generate, ReadsTheEndOfAPromptThatIsTooLong) {
  prompt = {3, 8, 1, 5, 2, 4, 7, 0};
  const SampleOptions options{.max_new_tokens = 15, .temperature = 0};
  const auto found = texts(options);
  prompt.erase(prompt.begin(), prompt.begin() + 2);
  EXPECT_EQ(texts(options), found);
}

// The cache changes the computation, not the result.
void expect_the_same_without_a_cache(const TransformerConfig& config) {
  const Model model(config, 7);
  for (const double temperature : {0.0, 1.0}) {
    SampleOptions options{.max_new_tokens = 60, .num_samples = 2, .temperature = temperature, .rereads = true};
    const auto found = tokens_of(generate(model.gpt, {.size = kModelVocabulary}, {1, 5, 2}, options));
    ASSERT_EQ(found.size(), 2U);
    for (const std::vector<Token>& text : found) {
      EXPECT_EQ(text, generate_without_cache(model.gpt, kModelVocabulary, {1, 5, 2}, options, config.block_size / 4));
      ++options.first_sample;
    }
  }
}

TEST(GenerateFromACache, GivesTheTokensThatItGivesWithoutACache) {
  for (const NormPosition norm : {NormPosition::pre, NormPosition::post}) {
    for (const auto positions : {Positions::learned, Positions::sinusoidal}) {
      for (const bool bias : {false, true}) {
        TransformerConfig config{.n_layer = 2, .n_head = 4, .n_embd = 32, .block_size = 40, .vocab_size = kModelVocabulary};
        config.norm_position = norm;
        config.positions = positions;
        config.bias = bias;
        expect_the_same_without_a_cache(config);
      }
    }
  }
}

// The cache holds rotated keys. When the oldest are dropped, the others are rotated again, from the first position on.
TEST(GenerateFromACache, OfALlamaGivesTheTokensThatItGivesWithoutACache) {
  for (const index key_heads : {1, 2, 4}) {
    for (const auto positions : {Positions::rope, Positions::none}) {
      TransformerConfig config{.n_layer = 2, .n_head = 4, .n_embd = 32, .block_size = 40, .vocab_size = kModelVocabulary, .bias = false};
      config.n_kv_head = key_heads;
      config.positions = positions;
      config.norm = NormKind::rms_norm;
      config.qk_norm = key_heads == 2;
      config.activation = Activation::silu;
      config.gated = true;
      expect_the_same_without_a_cache(config);
    }
  }
}

// The cache holds mixed values, and x0 is only that of the new tokens.
TEST(GenerateFromACache, OfANanochatGivesTheTokensThatItGivesWithoutACache) {
  for (const auto values : {ValueEmbeddings::alternate, ValueEmbeddings::all}) {
    TransformerConfig config{.n_layer = 3, .n_head = 4, .n_embd = 32, .block_size = 40, .vocab_size = kModelVocabulary, .bias = false};
    config.positions = Positions::rope;
    config.norm = NormKind::rms_norm;
    config.activation = Activation::relu2;
    config.embedding_norm = config.residual_scalars = true;
    config.value_embeddings = values;
    expect_the_same_without_a_cache(config);
  }
}

TEST(GenerateFromACache, OfATrainedModelCounts) {
  ParameterStore store;
  const Gpt gpt(Scope(store), {.n_layer = 1, .n_head = 2, .n_embd = 32, .block_size = 16, .vocab_size = 10});
  store.allocate(1);
  AdamW adamw(store, {});
  Tape tape;
  for (index step = 1; step <= 60; ++step) {
    std::vector<Token> tokens, next;
    for (index i = 0; i < 64; ++i) {
      const index at = (i % 16 + i / 16 + step) * 3;
      tokens.push_back(static_cast<Token>(at % 10));
      next.push_back(static_cast<Token>((at + 3) % 10));
    }
    Pass pass{.tape = tape, .training = true};
    tape.backward(cross_entropy(gpt(pass, tape.input<Token>({4, 16}, tokens)), tape.input<Token>({4, 16}, next)));
    tape.reset();
    adamw.step(step, 1e-2);
  }
  const auto found = generate(gpt, {.size = 10}, {2, 5}, {.max_new_tokens = 40, .temperature = 0});
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(found[0].tokens[i], static_cast<Token>((8 + 3 * i) % 10)) << i;
  }
}

TEST_F(Generate, ASampleIsTheSameOnAnyThreadsAndBesideAnyOthers) {
  const SampleOptions options{.max_new_tokens = 40, .num_samples = 11, .temperature = 1, .seed = 8};
  const auto all = texts(options);
  for (const int threads : {1, 2, 3}) {
    const WithThreads with(threads, Work{0});
    EXPECT_EQ(texts(options), all);
  }
  for (const index samples : {1, 2, 9}) {
    auto fewer = options;
    fewer.num_samples = samples;
    EXPECT_EQ(texts(fewer), std::vector(all.begin(), all.begin() + samples));
  }
  auto later = options;
  later.first_sample = 4;
  later.num_samples = 2;
  EXPECT_EQ(texts(later), std::vector(all.begin() + 4, all.begin() + 6));
  EXPECT_NE(all[0], all[1]);
  auto other = options;
  other.seed = 9;
  EXPECT_NE(texts(other), all);
}

/// The prompts have different lengths; one is longer than the context, and one occurs twice.
const std::vector<std::vector<Token>> kPrompts = {{1, 5, 2}, {7}, {3, 8, 1, 5, 2, 4, 7, 0}, {1, 5, 2}, {6, 6, 6, 6, 6}, {2, 3}};

TEST_F(Generate, ContinuesManyPromptsLikeSingleOnes) {
  const Vocabulary ends{.size = 9, .ends = {3}};  // so that samples end at different times
  for (const double temperature : {0.0, 1.5}) {
    const SampleOptions options{.max_new_tokens = 30,
                                .num_samples = 3,
                                .temperature = temperature,
                                .repetition_penalty = 1.2,
                                .seed = 5,
                                .log_probabilities = true};
    std::vector<Sample> alone;
    for (const std::vector<Token>& one : kPrompts) {
      const auto own = generate(model.gpt, ends, one, options);
      alone.insert(alone.end(), own.begin(), own.end());
    }
    for (const int threads : {1, 3}) {
      const WithThreads with(threads, Work{0});
      const auto together = generate(model.gpt, ends, kPrompts, options);
      EXPECT_EQ(tokens_of(together), tokens_of(alone));
      for (std::size_t i = 0; i < alone.size(); ++i) {
        EXPECT_EQ(together[i].log_probabilities, alone[i].log_probabilities) << i;
        EXPECT_EQ(together[i].ending, alone[i].ending) << i;
      }
    }
  }
}

TEST_F(Generate, GivesEachSampleOfEachPromptAsEvents) {
  std::vector<Sample> samples(12);
  std::vector<bool> has_ended(12);
  Generation generation(model.gpt, kVocabulary, kPrompts, {.max_new_tokens = 9, .num_samples = 2, .temperature = 1});
  while (const auto event = generation.next()) {
    const auto number = static_cast<std::size_t>(event->number);
    EXPECT_FALSE(has_ended.at(number)) << "the end is the last event";
    samples[number].add(*event, false);
    has_ended[number] = event->ending.has_value();
    if (number == 4 && !event->ending) {
      generation.end(4);
    }
  }
  EXPECT_EQ(has_ended, std::vector<bool>(12, true));
  EXPECT_EQ(samples[4].tokens.size(), 1U);
  EXPECT_EQ(samples[4].ending, Ending::stop);
  const auto all = generate(model.gpt, kVocabulary, kPrompts, {.max_new_tokens = 9, .num_samples = 2, .temperature = 1});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != 4) {
      EXPECT_EQ(samples[i].tokens, all[i].tokens) << i;
      EXPECT_EQ(samples[i].ending, Ending::length) << i;
    }
  }
  EXPECT_FALSE(generation.next()) << "nothing follows the last event";
}

/// All events in their order: "?" when the generation asks whether it is interrupted, "2" for a token of sample 2, and "2 length" for its
/// end. `on_token` may end samples.
std::vector<std::string> events_of(
    const Gpt& gpt, const std::vector<std::vector<Token>>& prompts, SampleOptions options, const Vocabulary& vocabulary = kVocabulary,
    const std::function<void(Generation&, index)>& on_token = [](Generation&, index) {}) {
  std::vector<std::string> log;
  const std::function<bool()> interrupted = options.interrupted ? options.interrupted : [] { return false; };
  options.interrupted = [&] {
    log.emplace_back("?");
    return interrupted();
  };
  Generation generation(gpt, vocabulary, prompts, options);
  while (const auto event = generation.next()) {
    log.push_back(event->ending ? concat(event->number, ' ', name_of(*event->ending)) : concat(event->number));
    if (!event->ending) {
      on_token(generation, event->number);
    }
  }
  return log;
}

using Events = std::vector<std::string>;

TEST_F(Generate, GivesTheTokensOfARoundBetweenTwoPassesAndEachEndAfterTheLastToken) {
  const SampleOptions two{.max_new_tokens = 2, .num_samples = 2, .temperature = 1};
  EXPECT_EQ(events_of(model.gpt, {{1, 5}}, two), (Events{"?", "0", "1", "?", "0", "0 length", "1", "1 length"}));
  EXPECT_EQ(events_of(model.gpt, {{1}, {2}}, {.max_new_tokens = 1}), (Events{"?", "0", "0 length", "?", "1", "1 length"}));
  EXPECT_EQ(events_of(model.gpt, {{1}, {2}}, {.max_new_tokens = 0}), (Events{"0 length", "1 length"})) << "the model reads nothing";
  EXPECT_EQ(events_of(model.gpt, {}, two), Events());
}

TEST_F(Generate, EndsASampleWhenAsked) {
  const SampleOptions three{.max_new_tokens = 2, .num_samples = 3, .temperature = 1};
  const auto ends_itself = [](Generation& generation, index number) {
    if (number == 1) {
      generation.end(1);
    }
  };
  EXPECT_EQ(events_of(model.gpt, {{1, 5}}, three, kVocabulary, ends_itself),
            (Events{"?", "0", "1", "1 stop", "2", "?", "0", "0 length", "2", "2 length"}));
  const auto ends_another = [](Generation& generation, index number) {
    if (number == 1) {
      generation.end(2);
      generation.end(7);  // there is none
    }
  };
  EXPECT_EQ(events_of(model.gpt, {{1, 5}}, three, kVocabulary, ends_another),
            (Events{"?", "0", "1", "2 stop", "?", "0", "0 length", "1", "1 length"}));
  const auto ends_the_one_before = [](Generation& generation, index number) { generation.end(number - 1); };
  EXPECT_EQ(events_of(model.gpt, {{1, 5}}, three, kVocabulary, ends_the_one_before),
            (Events{"?", "0", "1", "2", "?", "0 stop", "1 stop", "2", "2 length"}));
  SampleOptions interrupted = three;
  interrupted.interrupted = [asked = 0]() mutable { return ++asked > 1; };
  EXPECT_EQ(events_of(model.gpt, {{1, 5}}, interrupted, kVocabulary, ends_the_one_before),
            (Events{"?", "0", "1", "2", "?", "0 stop", "1 stop", "2 interrupted"}));
  const auto ends_the_last = [](Generation& generation, index number) { generation.end(number); };
  EXPECT_EQ(events_of(model.gpt, {{1, 5}}, {.max_new_tokens = 1}, kVocabulary, ends_the_last), (Events{"?", "0", "0 stop"}));
}

TEST_F(Generate, IsInterruptedBetweenTokens) {
  const SampleOptions ten{.max_new_tokens = 9, .num_samples = 10, .temperature = 1};
  for (int after = 0; after < 4; ++after) {
    SampleOptions options = ten;
    options.interrupted = [asked = 0, after]() mutable { return ++asked > after; };
    Events expected;
    for (int round = 0; round < after; ++round) {
      expected.insert(expected.end(), {"?", "0", "1", "2", "3", "4", "5", "6", "7"});
    }
    expected.emplace_back("?");
    for (int sample = 0; sample < 10; ++sample) {
      expected.push_back(concat(sample, " interrupted"));
    }
    EXPECT_EQ(events_of(model.gpt, {{1, 5}}, options), expected) << after;
  }
}

TEST_F(Generate, NeedNotBeFinished) {
  int asked = 0;
  SampleOptions options{.max_new_tokens = 1'000'000, .num_samples = 1'000'000, .temperature = 1};
  options.interrupted = [&] { return ++asked < 0; };
  Generation first(model.gpt, kVocabulary, {{1}}, options);
  EXPECT_EQ(asked, 0) << "only next() computes";
  EXPECT_EQ(first.next()->number, 0);
  Generation moved = std::move(first);
  EXPECT_EQ(moved.next()->number, 1);
  EXPECT_EQ(asked, 1);
}

/// Returns how often the model reads a prompt, or tokens that follow: it asks before each pass whether it is interrupted.
index readings(
    const Gpt& gpt, const std::vector<std::vector<Token>>& prompts, const SampleOptions& options,
    const std::function<void(Generation&, index)>& on_token = [](Generation&, index) {}) {
  return std::ranges::count(events_of(gpt, prompts, options, kVocabulary, on_token), "?");
}

TEST(GenerateMany, ReadsWeightsOnceForAToken) {
  TransformerConfig config = kConfig;
  config.block_size = 64;
  const Model model(config);
  const auto first_ends_early = [](Generation& generation, index number) {
    if (number == 0) {
      generation.end(0);
    }
  };
  const std::vector<std::vector<Token>> one = {{1, 5, 2}};
  EXPECT_EQ(readings(model.gpt, one, {.max_new_tokens = 10}), 10) << "a prompt, then nine tokens";
  EXPECT_EQ(readings(model.gpt, one, {.max_new_tokens = 10, .num_samples = 8}), 10) << "eight together";
  EXPECT_EQ(readings(model.gpt, one, {.max_new_tokens = 10, .num_samples = 16}), 10 + 9) << "the prompt is read once";
  EXPECT_EQ(readings(model.gpt, one, {.max_new_tokens = 10, .num_samples = 9}, first_ends_early), 10 + 1) << "the ninth replaces it";
  // Prompts that differ are read between the tokens of those before them, and then the last one has nine tokens to read.
  EXPECT_EQ(readings(model.gpt, kPrompts, {.max_new_tokens = 10}), 5 + 4 + 9) << "one of the six prompts occurs twice";
  EXPECT_EQ(readings(model.gpt, kPrompts, {.max_new_tokens = 10, .num_samples = 2}), (3 + 2 + 7) + (2 + 1 + 9)) << "in two rounds";
  EXPECT_EQ(readings(model.gpt, kPrompts, {.max_new_tokens = 0}), 0);
}

TEST_F(Generate, NeverDrawsPaddingOrTokensThatNoTextHas) {
  const Vocabulary some{.size = 9, .suppressed = {0, 4}};
  for (const double temperature : {0.0, 5.0}) {
    for (const Sample& sample : generate(model.gpt, some, prompt, {.max_new_tokens = 200, .num_samples = 4, .temperature = temperature})) {
      EXPECT_EQ(sample.tokens.size(), 200U);
      EXPECT_EQ(sample.ending, Ending::length);
      EXPECT_TRUE(std::all_of(sample.tokens.begin(), sample.tokens.end(), [](Token t) { return 0 <= t && t < 9 && t != 0 && t != 4; }));
    }
  }
}

TEST_F(Generate, EndsWhenItDrawsTheEnd) {
  const SampleOptions options{.max_new_tokens = 40, .num_samples = 10, .temperature = 40};
  const auto all = texts(options);
  const auto ended = generate(model.gpt, {.size = 9, .ends = {3}}, prompt, options);
  int early = 0;
  for (std::size_t s = 0; s < all.size(); ++s) {
    const auto end = std::find(all[s].begin(), all[s].end(), 3);
    EXPECT_EQ(ended[s].tokens, std::vector<Token>(all[s].begin(), end)) << "the other samples change nothing";
    EXPECT_EQ(ended[s].ending, end == all[s].end() ? Ending::length : Ending::end);
    early += end != all[s].end();
  }
  EXPECT_GT(early, 3) << "the test must see some that end";
}

TEST_F(Generate, ASampleThatIsEndedChangesNoOther) {
  const SampleOptions options{.max_new_tokens = 12, .num_samples = 11, .temperature = 1};
  const auto all = texts(options);
  std::vector<std::vector<Token>> found(11);
  Generation generation(model.gpt, kVocabulary, {prompt}, options);
  while (const auto event = generation.next()) {
    if (!event->ending) {
      auto& tokens = found[static_cast<std::size_t>(event->number)];
      tokens.push_back(event->token);
      if (event->number % 3 == 1 && tokens.size() == 5) {
        generation.end(event->number);
      }
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(found[i], std::vector<Token>(all[i].begin(), all[i].begin() + (i % 3 == 1 ? 5 : 12))) << i;
  }
}

TEST_F(Generate, ReportsThatAContextIsFull) {
  for (const index length : {4, 20}) {
    Generation generation(model.gpt, kVocabulary, {prompt}, {.max_new_tokens = length});
    int tokens = 0, before = 0;
    while (const auto event = generation.next()) {
      tokens += event->ending ? 0 : 1;
      before += event->ending || generation.outgrew_context() ? 0 : 1;
    }
    EXPECT_EQ(tokens, length);
    EXPECT_EQ(before, 4) << "the fourth token is the seventh of the text, and is read for the fifth";
    EXPECT_EQ(generation.outgrew_context(), length > 4);
  }
}

TEST_F(Generate, APenaltyKeepsTokensFromComingAgain) {
  const auto distinct = [&](double penalty) {
    const auto text = texts({.max_new_tokens = 6, .temperature = 0, .repetition_penalty = penalty})[0];
    std::vector<Token> all = prompt;
    all.insert(all.end(), text.begin(), text.end());
    std::sort(all.begin(), all.end());
    return std::unique(all.begin(), all.end()) - all.begin();
  };
  EXPECT_GT(distinct(1e6), distinct(1));
}

TEST_F(Generate, PenaltiesAndBiasesChangeTheLogitsByTheirDefinitions) {
  prompt = {1, 5, 2, 5};
  const std::vector<SampleOptions> all = {
      {.presence_penalty = 15},
      {.presence_penalty = -20},
      {.frequency_penalty = 8},
      {.frequency_penalty = -3},
      {.logit_bias = {{3, 2.5}, {0, -100}}},
      {.repetition_penalty = 1.3, .presence_penalty = 7, .frequency_penalty = 4, .logit_bias = {{8, 1}, {5, -1}}},
  };
  for (SampleOptions options : all) {
    options.max_new_tokens = 30;
    for (const double temperature : {0.0, 1.0}) {
      options.temperature = temperature;
      const auto expected = generate_without_cache(model.gpt, kVocabulary.size, prompt, options, 1);
      EXPECT_EQ(texts(options)[0], expected) << temperature;
      EXPECT_NE(expected,
                generate_without_cache(model.gpt, kVocabulary.size, prompt, {.max_new_tokens = 30, .temperature = temperature}, 1))
          << "the options matter here";
    }
  }
}

TEST_F(Generate, ABiasForcesOrBansAToken) {
  EXPECT_EQ(texts({.max_new_tokens = 5, .logit_bias = {{4, 100}}})[0], (std::vector<Token>{4, 4, 4, 4, 4}));
  SampleOptions options{.max_new_tokens = 50};
  for (Token banned = 0; banned < 8; ++banned) {
    options.logit_bias.emplace_back(banned, -100);
  }
  EXPECT_EQ(texts(options)[0], std::vector<Token>(50, 8));
  const Vocabulary ends{.size = 9, .ends = {4}};
  EXPECT_EQ(generate(model.gpt, ends, prompt, {.logit_bias = {{4, 100}}})[0].ending, Ending::end);
}

TEST_F(Generate, GivesLogProbabilitiesOfThePlainSoftmax) {
  const SampleOptions options{.max_new_tokens = 3, .temperature = 0.5, .top_k = 2, .repetition_penalty = 1.5, .log_probabilities = true};
  const auto samples = generate(model.gpt, kVocabulary, prompt, options);
  ASSERT_EQ(samples[0].log_probabilities.size(), 3U);
  std::vector<Token> text = prompt;
  for (std::size_t i = 0; i < 3; ++i) {
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    const auto time = static_cast<index>(text.size());
    const Tensor logits = model.gpt(pass, tape.input<Token>({1, time}, text));
    const std::span last(logits.data<float>() + (time - 1) * kModelVocabulary, static_cast<std::size_t>(kModelVocabulary));
    EXPECT_NEAR(samples[0].log_probabilities[i], log_probability(last, samples[0].tokens[i]), 1e-4);
    text.push_back(samples[0].tokens[i]);
  }
  EXPECT_TRUE(generate(model.gpt, kVocabulary, prompt, {.max_new_tokens = 3})[0].log_probabilities.empty());
}

TEST_F(Generate, RefusesOptionsOutOfRange) {
  EXPECT_THROW(generate(model.gpt, kVocabulary, std::vector<Token>{}, {}), InputError);
  EXPECT_THROW(generate(model.gpt, kVocabulary, {99}, {}), Error);
  EXPECT_THROW(generate(model.gpt, {.size = 21}, prompt, {}), Error);
  EXPECT_THROW(generate(model.gpt, {.size = 1, .suppressed = {0}}, prompt, {}), Error);
  EXPECT_THROW(texts({.num_samples = 0}), InputError);
  EXPECT_THROW(texts({.temperature = -1}), InputError);
  EXPECT_THROW(texts({.top_k = -1}), InputError);
  EXPECT_THROW(texts({.temperature = 0, .top_p = 0.5}), InputError);
  EXPECT_THROW(texts({.max_new_tokens = -1}), InputError);
  for (const double penalty : {0.0, -1.0, std::nan("")}) {
    EXPECT_TRUE(names(error_of([&] { texts({.repetition_penalty = penalty}); }), {"repetition-penalty", concat(penalty), "0"}));
  }
  for (const double penalty : {std::nan(""), HUGE_VAL}) {
    EXPECT_TRUE(names(error_of([&] { texts({.presence_penalty = penalty}); }), {"presence-penalty", concat(penalty)}));
    EXPECT_TRUE(names(error_of([&] { texts({.frequency_penalty = penalty}); }), {"frequency-penalty", concat(penalty)}));
    EXPECT_TRUE(names(error_of([&] { texts({.logit_bias = {{3, penalty}}}); }), {"logit-bias", concat(penalty)}));
  }
  for (const Token token : {-1, 9}) {
    EXPECT_TRUE(names(error_of([&] { texts({.logit_bias = {{token, 1}}}); }), {"bias", concat(token), "8"}));
  }
  EXPECT_TRUE(texts({.max_new_tokens = 0})[0].empty());
  EXPECT_TRUE(generate(model.gpt, kVocabulary, std::vector<std::vector<Token>>{}, {}).empty());
  EXPECT_THROW(generate(model.gpt, kVocabulary, std::vector<std::vector<Token>>{{1}, {}}, {}), InputError);
}

TEST_F(Generate, RefusesLogitsThatAreNotNumbers) {
  model.store.weights<float>()[model.store.entry("wte.weight").offset + 5 * kConfig.n_embd] = std::nanf("");
  EXPECT_TRUE(names(error_of([&] { texts({}); }), {"logits", "NaN"}));
}

TEST_F(Generate, StopsWhenAsked) {
  int asked = 0;
  const auto samples = generate(model.gpt, kVocabulary, prompt, {.max_new_tokens = 50, .interrupted = [&] { return ++asked > 10; }});
  EXPECT_EQ(samples[0].tokens.size(), 10U);
  EXPECT_EQ(samples[0].ending, Ending::interrupted);
}

TEST_F(Generate, AnInterruptionEndsSamplesThatHaveNotBegunToo) {
  for (const int after : {0, 3, 12}) {
    int asked = 0;
    const auto samples = generate(model.gpt, kVocabulary, kPrompts,
                                  {.max_new_tokens = 50, .num_samples = 4, .interrupted = [&] { return ++asked > after; }});
    EXPECT_EQ(samples.size(), 24U);
    EXPECT_TRUE(std::ranges::all_of(samples, [](const Sample& sample) { return sample.ending == Ending::interrupted; }));
    EXPECT_EQ(samples[0].tokens.empty(), after < 3) << after;
  }
}

/// The continuation of a prompt.
struct Followed {
  std::vector<Token> tokens;
  std::vector<float> logits;

  bool operator==(const Followed&) const = default;
};

TEST(PromptCache, GivesTheSameBitsAfterAnyEarlierPrompts) {
  TransformerConfig config = kConfig;
  config.block_size = 700;
  const Model model(config);
  std::vector<Token> text(600);
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<Token>((i * i + i / 7) % 9);
  }
  index asked = 0;
  const auto follow = [&](const std::vector<Token>& prompt, PromptCache& prompts) {
    Followed followed;
    asked = 0;
    SampleOptions options{.max_new_tokens = 8, .num_samples = 2, .temperature = 1, .prompts = &prompts};
    options.interrupted = [&] { return ++asked < 0; };
    Generation generation(model.gpt, kVocabulary, {prompt}, options);
    while (const auto event = generation.next()) {
      followed.logits.insert(followed.logits.end(), event->logits.begin(), event->logits.end());
      if (!event->ending && event->number == 1) {
        followed.tokens.push_back(event->token);
      }
    }
    EXPECT_EQ(followed.logits.size(), static_cast<std::size_t>(2 * 8 * kModelVocabulary));
    return followed;
  };
  const auto alone = [&](const std::vector<Token>& prompt) {
    PromptCache empty(model.gpt);
    return follow(prompt, empty);
  };
  const auto first = [&](std::ptrdiff_t count) { return std::vector<Token>(text.begin(), text.begin() + count); };
  std::vector<Token> other = first(400);
  other[200] = (other[200] + 1) % 9;

  // Each prompt gives the bits of an empty cache.
  PromptCache kept(model.gpt);
  constexpr index kTokensAfter = 7;  // reads after the prompt's
  for (const std::vector<Token>& prompt :
       {first(300), first(500), first(500), first(512), first(130), other, first(400), first(5), first(600), first(129)}) {
    EXPECT_EQ(follow(prompt, kept), alone(prompt)) << prompt.size();
  }
  // The model reads no more than it must. The generation asks before each pass whether it is interrupted.
  PromptCache counted(model.gpt);
  follow(first(300), counted);
  EXPECT_EQ(asked, 3 + kTokensAfter);
  follow(first(300), counted);
  EXPECT_EQ(asked, 1 + kTokensAfter) << "the last 44 tokens";
  follow(first(500), counted);
  EXPECT_EQ(asked, 2 + kTokensAfter) << "from token 256 on";
}

TEST(PromptCache, SurvivesAPromptThatIsBrokenOff) {
  TransformerConfig config = kConfig;
  config.block_size = 400;
  const Model model(config);
  std::vector<Token> text(390);
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<Token>(i * 5 % 9);
  }
  const SampleOptions options{.max_new_tokens = 5, .temperature = 1};
  SampleOptions with = options;
  PromptCache fresh(model.gpt), kept(model.gpt);
  with.prompts = &fresh;
  const auto expected = tokens_of(generate(model.gpt, kVocabulary, text, with));
  with.prompts = &kept;
  int asked = 0;
  SampleOptions interrupted = with;
  interrupted.interrupted = [&] { return ++asked > 2; };
  const auto broken = generate(model.gpt, kVocabulary, text, interrupted);
  EXPECT_EQ(broken[0].ending, Ending::interrupted);
  EXPECT_TRUE(broken[0].tokens.empty());
  EXPECT_EQ(tokens_of(generate(model.gpt, kVocabulary, text, with)), expected);
}

TEST_F(Generate, GivesTheLogitsThatATokenIsDrawnFrom) {
  const Vocabulary ends{.size = 9, .ends = {3}};
  const SampleOptions options{.max_new_tokens = 12, .num_samples = 11, .temperature = 1, .log_probabilities = true};
  std::vector<std::vector<double>> found(11);
  Generation generation(model.gpt, ends, {prompt}, options);
  while (const auto event = generation.next()) {
    if (event->ending) {
      EXPECT_TRUE(event->logits.empty());
      continue;
    }
    EXPECT_EQ(std::ssize(event->logits), kModelVocabulary);
    found[static_cast<std::size_t>(event->number)].push_back(log_probability(event->logits, event->token));
  }
  const auto samples = generate(model.gpt, ends, prompt, options);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].log_probabilities, found[i]) << i;
  }
}

}  // namespace
}  // namespace dikkat
