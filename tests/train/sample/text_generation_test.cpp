#include "train/sample/text_generation.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/sentence_piece.h"
#include "train/sample/prompt.h"
#include "train/text/byte_tokenizer.h"

namespace dikkat {
namespace {

struct TextGenerationTest : ::testing::Test {
  TextGenerationTest()
      : gpt(Scope(store), {.n_layer = 1, .n_head = 2, .n_embd = 16, .block_size = 16, .vocab_size = tokenizer.vocab_size()}) {
    store.allocate(3);
  }

  /// Collects the texts of all samples, joined from their events, and as their ends have them.
  std::vector<TextGeneration::Ended> read(const SampleOptions& options, const std::vector<std::string>& stops = {}) const {
    TextGeneration generation(gpt, tokenizer, vocabulary_of(tokenizer), prompts, options, stops);
    std::vector<std::string> texts(prompts.size() * static_cast<std::size_t>(options.num_samples));
    std::vector<TextGeneration::Ended> ended(texts.size());
    while (const auto event = generation.next()) {
      texts.at(static_cast<std::size_t>(event->number)) += event->text;
      if (event->ended) {
        ended[static_cast<std::size_t>(event->number)] = *event->ended;
      }
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(texts[i], ended[i].text) << i;
    }
    return ended;
  }

  ByteTokenizer tokenizer;
  ParameterStore store;
  Gpt gpt;
  std::vector<std::vector<Token>> prompts = {tokenizer.encode("The"), tokenizer.encode("a")};
};

TEST_F(TextGenerationTest, GivesTheTextsOfTheTokens) {
  const SampleOptions options{.max_new_tokens = 30, .num_samples = 5, .temperature = 1, .log_probabilities = true};
  const auto found = read(options);
  const auto samples = generate(gpt, vocabulary_of(tokenizer), prompts, options);
  ASSERT_EQ(found.size(), samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(found[i].sample.tokens, samples[i].tokens);
    EXPECT_EQ(found[i].sample.log_probabilities, samples[i].log_probabilities);
    EXPECT_EQ(found[i].sample.ending, samples[i].ending);
    EXPECT_EQ(found[i].text, tokenizer.decode(samples[i].tokens));
  }
}

TEST_F(TextGenerationTest, RefusesAnEmptyStopStringBeforeItReadsThePrompt) {
  EXPECT_THROW(TextGeneration(gpt, tokenizer, vocabulary_of(tokenizer), prompts, {}, {"e", ""}), InputError);
}

TEST_F(TextGenerationTest, EndsATextBeforeAStopString) {
  const SampleOptions options{.max_new_tokens = 60, .num_samples = 8, .temperature = 1};
  const auto whole = read(options);
  const std::vector<std::string> stops = {"e", "zz", std::string(1, '\x80')};
  const auto found = read(options, stops);
  int stopped = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::size_t end = std::string::npos;
    for (const std::string& stop : stops) {
      end = std::min(end, whole[i].text.find(stop));
    }
    EXPECT_EQ(found[i].text, whole[i].text.substr(0, end)) << i;
    EXPECT_EQ(found[i].sample.ending, end == std::string::npos ? Ending::length : Ending::stop) << i;
    stopped += end == std::string::npos ? 0 : 1;
  }
  EXPECT_GT(stopped, 2) << "the case is void";
  EXPECT_LT(stopped, 16) << "the case is void";
}

TEST_F(TextGenerationTest, GivesTheEndOfEachSampleThatIsInterrupted) {
  int asked = 0;
  const auto found = read({.max_new_tokens = 60, .num_samples = 8, .interrupted = [&] { return ++asked > 4; }});
  for (const TextGeneration::Ended& one : found) {
    EXPECT_EQ(one.sample.ending, Ending::interrupted);
    EXPECT_EQ(one.text, tokenizer.decode(one.sample.tokens));
  }
}

/// Allows any token, and counts nothing.
struct AnyToken : TokenConstraint {
  void mask(std::span<float> logits) override { std::ranges::fill(logits.first(4), -INFINITY); }  // texts only
  void accept(Token) override {}
  bool is_complete() const override { return false; }
};

TEST(TextGenerationOfSentencePiece, ARestrictedSampleHasAllBytesOfItsTokens) {
  const PipelineTokenizer tokenizer = testing::sentence_piece_tokenizer();
  ParameterStore store;
  const Gpt gpt(Scope(store), {.n_layer = 1, .n_head = 1, .n_embd = 8, .block_size = 8, .vocab_size = tokenizer.vocab_size()});
  store.allocate(3);
  SampleOptions options{.max_new_tokens = 6, .num_samples = 20, .temperature = 100};
  const auto texts_with = [&](bool is_restricted, SampleText kind) {
    options.constraint = is_restricted ? [] { return std::make_unique<AnyToken>(); } : decltype(options.constraint)();
    TextGeneration generation(gpt, tokenizer, vocabulary_of(tokenizer), {default_prompt(tokenizer)}, options, {}, kind);
    int spaces = 0;
    while (const auto event = generation.next()) {
      if (event->ended) {
        EXPECT_EQ(event->ended->text,
                  is_restricted ? tokenizer.decode_inside(event->ended->sample.tokens) : tokenizer.decode(event->ended->sample.tokens));
        spaces += event->ended->text.starts_with(' ') ? 1 : 0;
      }
    }
    return spaces;
  };
  EXPECT_GT(texts_with(true, SampleText::continuation), 0) << "the case is void";
  EXPECT_GT(texts_with(true, SampleText::answer), 0);
  texts_with(false, SampleText::continuation);
}

}  // namespace
}  // namespace dikkat
