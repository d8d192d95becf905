#include "train/run/evaluate.h"

#include <cmath>
#include <numeric>

#include "autograd/base/parallel.h"
#include "autograd/ops/loss.h"
#include "tests/train/run/tiny_run.h"
#include "train/data/samples/windows.h"
#include "train/run/objectives/language_scorer.h"

namespace dikkat {
namespace {

constexpr index kVocabulary = 11;

struct Evaluate : ::testing::Test {
  Evaluate() : model({.n_layer = 1, .n_head = 2, .n_embd = 16, .block_size = 7}, kVocabulary), text(kVocabulary) {
    model.parameters().allocate(3);
    for (ParameterStore::Entry* entry : model.parameters().entries()) {  // a new model predicts ln V everywhere: give it preferences
      for (index i = 0; i < entry->size(); ++i) {
        static_cast<float*>(entry->record.data)[i] *= 20;
      }
    }
    const RandomStream stream(5, "text", 0);
    std::vector<Token> tokens;
    for (index i = 0; i < 4000; ++i) {
      tokens.push_back(static_cast<Token>(stream.word(i) % kVocabulary));
    }
    text.append(tokens);
    windows.emplace(text, 7);
  }

  double brute_force() {
    double total = 0;
    for (index first = 0; first < text.size() - 1; first += 7) {
      const index count = std::min<index>(7, text.size() - 1 - first);
      std::vector<Token> tokens(static_cast<std::size_t>(count + 1));
      text.read(first, count + 1, tokens.data());
      Tape tape(Recording::off);
      Pass pass{.tape = tape};
      const Tensor logits = model.gpt()(pass, tape.input<Token>({1, count}, std::span(tokens).first(static_cast<std::size_t>(count))));
      const Tensor loss = cross_entropy(logits, tape.input<Token>({1, count}, std::span(tokens).subspan(1)), {.normalizer = 1.0});
      total += static_cast<double>(*loss.data<float>());
    }
    return total / static_cast<double>(text.size() - 1);
  }

  LanguageModel model;
  TokenStore text;
  std::optional<SequentialWindows> windows;
};

/// The sum of the losses of a window, and the number of its predictions.
std::pair<double, double> window_of(const LanguageModel& model, const TokenStore& text, index first, index block) {
  const index count = std::min<index>(block, text.size() - 1 - first);
  std::vector<Token> tokens(static_cast<std::size_t>(count + 1));
  text.read(first, count + 1, tokens.data());
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor logits = model.gpt()(pass, tape.input<Token>({1, count}, std::span(tokens).first(static_cast<std::size_t>(count))));
  const Tensor loss = cross_entropy(logits, tape.input<Token>({1, count}, std::span(tokens).subspan(1)), {.normalizer = 1.0});
  return {static_cast<double>(*loss.data<float>()), static_cast<double>(count)};
}

TEST_F(Evaluate, WatchesHowProbableSomeTokensAreWhereTheyAreTheTargets) {
  LanguageScorer scorer(model);
  Evaluator evaluator(scorer);
  scorer.watch({3, 7});
  double sum = 0;
  scorer.listen([&](const Batch& batch, std::span<const double> losses) {
    for (std::size_t i = 0; i < losses.size(); ++i) {
      sum += batch.weights[i] > 0 && (batch.targets[i] == 3 || batch.targets[i] == 7) ? std::exp(-losses[i]) : 0;
    }
  });
  const auto found = evaluator(*windows, {});
  std::vector<Token> tokens(static_cast<std::size_t>(text.size()));
  text.read(0, text.size(), tokens.data());
  const index count = std::count(tokens.begin() + 1, tokens.end(), 3) + std::count(tokens.begin() + 1, tokens.end(), 7);
  EXPECT_EQ(found->ends, count);
  EXPECT_NEAR(found->end_probability, sum / static_cast<double>(count), 1e-12);
  EXPECT_GT(found->end_probability, 0);
  LanguageScorer unwatched(model);
  EXPECT_TRUE(std::isnan(Evaluator(unwatched)(*windows, {})->end_probability));
  const WeightedEvaluation two[] = {{.of = *found}, {.of = {.loss = 1, .tokens = 1}, .share = 3}};
  EXPECT_EQ(mean(two).end_probability, found->end_probability) << "a text without ends has no part in it";
}

TEST_F(Evaluate, the_standard_error_is_that_of_windows) {
  LanguageScorer scorer(model);
  Evaluator evaluator(scorer);
  const Evaluation all = evaluator(*windows, {}).value();
  double squares = 0, n = 0;
  for (index first = 0; first < text.size() - 1; first += 7, ++n) {
    const auto [sum, count] = window_of(model, text, first, 7);
    squares += (sum - all.loss * count) * (sum - all.loss * count);
  }
  EXPECT_NEAR(all.standard_error, std::sqrt(squares * n / (n - 1)) / 3999, 1e-6);
  const TokenStore one_window = [&] {
    TokenStore store(kVocabulary);
    store.append(std::vector<Token>{1, 2, 3});
    return store;
  }();
  EXPECT_TRUE(std::isnan(evaluator(SequentialWindows(one_window, 7), {})->standard_error));
}

/// For 40 random texts, the spread of their mean losses, and the standard error that an evaluation reports, on average. A letter is
/// repeated `run` times, so that with long runs the losses of neighboring tokens are correlated.
struct Spread {
  double measured, told;
};
Spread spread_of_texts(const LanguageModel& model, std::uint64_t seed, index run, index stride) {
  constexpr index kTexts = 40;
  LanguageScorer scorer(model);
  Evaluator evaluator(scorer);
  const RandomStream stream(seed, "texts", 0);
  std::vector<double> losses;
  double told = 0;
  for (index t = 0; t < kTexts; ++t) {
    TokenStore some(kVocabulary);
    std::vector<Token> tokens;
    for (index i = 0; i < 700; ++i) {
      tokens.push_back(static_cast<Token>(stream.word(t * 1000 + i / run) % kVocabulary));
    }
    some.append(tokens);
    const Evaluation found = evaluator(SequentialWindows(some, 7, stride), {}).value();
    losses.push_back(found.loss);
    told += found.standard_error / kTexts;
  }
  const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / kTexts;
  double squares = 0;
  for (const double loss : losses) {
    squares += (loss - mean) * (loss - mean);
  }
  return {std::sqrt(squares / (kTexts - 1)), told};
}

TEST_F(Evaluate, the_standard_error_predicts_how_far_another_text_would_be) {
  const Spread spread = spread_of_texts(model, 9, 1, 7);
  EXPECT_LT(spread.told, 1.5 * spread.measured);
  EXPECT_GT(spread.told, spread.measured / 1.5);
}

TEST_F(Evaluate, the_standard_error_is_as_large_with_a_stride) {
  for (const index stride : {7, 3, 1}) {
    const Spread spread = spread_of_texts(model, 11, 7, stride);
    EXPECT_LT(spread.told, 1.4 * spread.measured) << stride;
    EXPECT_GT(spread.told, spread.measured / 1.4) << stride;
  }
}

TEST_F(Evaluate, a_stride_gives_each_prediction_its_context) {
  LanguageScorer scorer(model);
  Evaluator evaluator(scorer);
  const SequentialWindows strided(text, 7, 2);
  const Evaluation found = evaluator(strided, {}).value();
  EXPECT_EQ(found.tokens, 3999);
  double total = window_of(model, text, 0, 7).first;
  for (index begin = 2; begin + 5 < text.size() - 1; begin += 2) {  // the last two of each further window
    const index end = std::min<index>(begin + 7, text.size() - 1);
    total += window_of(model, text, begin, end - begin).first - window_of(model, text, begin, 5).first;
  }
  EXPECT_NEAR(found.loss, total / 3999, 1e-5);
}

TEST_F(Evaluate, counts_every_prediction_once) {
  LanguageScorer scorer(model);
  Evaluator evaluator(scorer);
  const Evaluation all = evaluator(*windows, {}).value();
  EXPECT_EQ(all.tokens, 3999);
  EXPECT_NEAR(all.loss, brute_force(), 1e-5);
  EXPECT_GT(std::abs(all.loss - std::log(kVocabulary)), 0.05) << "the case is void: the model has no preferences";
  EXPECT_DOUBLE_EQ(all.perplexity(), std::exp(all.loss));
  EXPECT_DOUBLE_EQ(all.bits_per_byte(3999), all.loss / std::log(2.0));
}

TEST_F(Evaluate, gives_the_same_bits_again_and_on_any_number_of_threads) {
  const int before = thread_count();
  LanguageScorer scorer(model);
  Evaluator evaluator(scorer);
  const double once = evaluator(*windows, {})->loss;
  EXPECT_EQ(evaluator(*windows, {})->loss, once);
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    EXPECT_EQ(Evaluator(scorer)(*windows, {})->loss, once);
  }
  set_thread_count(before);
}

TEST_F(Evaluate, some_windows_are_drawn_by_their_own_stream) {
  LanguageScorer scorer(model);
  Evaluator evaluator(scorer);
  const double a = evaluator(*windows, {.count = 40, .seed = 1, .draw = 6})->loss;
  EXPECT_EQ(evaluator(*windows, {.count = 40, .seed = 1, .draw = 6})->loss, a);
  EXPECT_NE(evaluator(*windows, {.count = 40, .seed = 1, .draw = 7})->loss, a);
  EXPECT_EQ(evaluator(*windows, {.count = 40})->tokens, 40 * 7);
  EXPECT_EQ(evaluator(*windows, {.count = 100000})->loss, evaluator(*windows, {})->loss);
}

TEST_F(Evaluate, stops_when_asked) {
  LanguageScorer scorer(model);
  Evaluator evaluator(scorer);
  EXPECT_FALSE(evaluator(*windows, {}, [] { return true; }).has_value());
}

TEST_F(Evaluate, asks_the_system_for_nothing_the_second_time) {
  LanguageScorer scorer(model);
  Evaluator evaluator(scorer);
  evaluator(*windows, {});
  evaluator(*windows, {});
  const auto before = Pages::requests();
  evaluator(*windows, {});
  EXPECT_EQ(Pages::requests(), before);
}

}  // namespace
}  // namespace dikkat
