#include "train/sample/generate.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"

namespace dikkat {
namespace {

constexpr index kTokenizerVocabulary = 9;

struct Generate : ::testing::Test {
  Generate() : model(Scope(store), {.n_layer = 2, .n_head = 2, .n_embd = 16, .block_size = 6, .vocab_size = 20}) {
    store.allocate(4);
    for (ParameterStore::Entry* entry : store.entries()) {
      for (index i = 0; i < entry->size(); ++i) {
        static_cast<float*>(entry->record.data)[i] *= 15;
      }
    }
  }

  /// What greedy sampling must give, one token at a time through the plain model.
  std::vector<Token> greedy(std::vector<Token> text, int count) {
    const auto given = static_cast<std::ptrdiff_t>(text.size());
    for (int i = 0; i < count; ++i) {
      const std::size_t time = std::min<std::size_t>(text.size(), 6);
      Tape tape(Recording::off);
      Pass pass{.tape = tape};
      const Tensor logits = model(pass, tape.input<Token>({1, static_cast<index>(time)}, std::span(text).last(time)));
      const float* last = logits.data<float>() + (time - 1) * 20;
      text.push_back(static_cast<Token>(std::max_element(last, last + kTokenizerVocabulary) - last));
    }
    return {text.begin() + given, text.end()};
  }

  ParameterStore store;
  Gpt model;
  std::vector<Token> prompt = {1, 5, 2};
};

TEST_F(Generate, greedy_follows_the_model_past_its_context) {
  const auto texts = generate(model, kTokenizerVocabulary, prompt, {.max_new_tokens = 20, .num_samples = 2, .temperature = 0});
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[0], greedy(prompt, 20));
  EXPECT_EQ(texts[1], texts[0]);
}

TEST_F(Generate, a_seed_gives_one_text_on_any_number_of_threads_and_beside_any_number_of_samples) {
  const SampleOptions options{.max_new_tokens = 40, .num_samples = 3, .temperature = 1, .seed = 8};
  const auto texts = generate(model, kTokenizerVocabulary, prompt, options);
  const int before = thread_count();
  for (const int threads : {1, 2, 4}) {
    set_thread_count(threads);
    EXPECT_EQ(generate(model, kTokenizerVocabulary, prompt, options), texts);
  }
  set_thread_count(before);
  EXPECT_NE(texts[0], texts[1]);
  auto other = options;
  other.seed = 9;
  EXPECT_NE(generate(model, kTokenizerVocabulary, prompt, other), texts);
}

TEST_F(Generate, never_draws_padding) {
  for (const auto& text : generate(model, kTokenizerVocabulary, prompt, {.max_new_tokens = 100, .num_samples = 4, .temperature = 5})) {
    EXPECT_EQ(text.size(), 100U);
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](Token t) { return 0 <= t && t < kTokenizerVocabulary; }));
  }
}

TEST_F(Generate, refuses_options_out_of_range) {
  EXPECT_THROW(generate(model, kTokenizerVocabulary, {}, {}), InputError);
  EXPECT_THROW(generate(model, kTokenizerVocabulary, prompt, {.num_samples = 0}), InputError);
  EXPECT_THROW(generate(model, kTokenizerVocabulary, prompt, {.temperature = -1}), InputError);
  EXPECT_THROW(generate(model, kTokenizerVocabulary, prompt, {.top_k = -1}), InputError);
  EXPECT_THROW(generate(model, kTokenizerVocabulary, prompt, {.max_new_tokens = -1}), InputError);
  EXPECT_TRUE(generate(model, kTokenizerVocabulary, prompt, {.max_new_tokens = 0})[0].empty());
}

TEST_F(Generate, stops_when_asked) {
  int asked = 0;
  const auto texts = generate(model, kTokenizerVocabulary, prompt, {.max_new_tokens = 50}, [&] { return ++asked > 10; });
  EXPECT_EQ(texts[0].size(), 10U);
}

}  // namespace
}  // namespace dikkat
