#include "train/sample/translate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/support/sanitized.h"
#include "tests/support/throws.h"
#include "tests/support/without_cache.h"

namespace dikkat {
namespace {

constexpr const char* kWords = R"({"kind":"word","words":["a","b","c","d"]})";  // 8 tokens with the special tokens

struct Translate : ::testing::Test {
  Translate()
      : tokenizer(tokenizer_from_json(kWords)),
        model(Scope(store), {.n_layer = 1, .n_encoder_layer = 1, .n_head = 2, .n_embd = 8, .block_size = 6, .vocab_size = 10}) {
    for (const char* text : {"a b", "c", "d d a b", "b c d", "a", "d c b a"}) {
      sources.push_back(encode_source(*tokenizer, text, 6));
    }
    store.allocate(1);
    for (std::uint64_t seed = 1; seed < 100 && !has_answers_of_several_lengths(); ++seed) {
      draw_weights(seed);
    }
  }

  /// Draws weights with preferences that differ from source to source.
  void draw_weights(std::uint64_t seed) {
    store.initialize(seed);
    for (ParameterStore::Entry* entry : store.entries()) {
      for (index i = 0; i < entry->size(); ++i) {
        static_cast<float*>(entry->record.data)[i] *= 2.5F;
      }
    }
  }
  bool has_answers_of_several_lengths() const {
    std::set<std::size_t> lengths;
    for (const Translation& answer : translate(model, *tokenizer, sources, {})) {
      lengths.insert(answer.tokens.size());
    }
    return lengths.size() > 1;
  }

  /// The log-probability of a target with its end token, by the model itself; without the end token for a target at the limit.
  double log_probability(const std::vector<Token>& source, const std::vector<Token>& target, bool ends) {
    std::vector<Token> inputs{2};
    inputs.insert(inputs.end(), target.begin(), target.end());
    std::vector<Token> labels = target;
    if (ends) {
      labels.push_back(3);
    } else {
      inputs.pop_back();
    }
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    const auto memory = model.encode(pass, tape.input<Token>({1, static_cast<index>(source.size())}, source));
    const Tensor logits =
        model.logits(pass, model.features(pass, tape.input<Token>({1, static_cast<index>(inputs.size())}, inputs), memory));
    double total = 0;
    for (std::size_t t = 0; t < labels.size(); ++t) {
      const float* row = logits.data<float>() + t * 10;
      double sum = 0;
      for (index v = 0; v < 8; ++v) {  // the vocabulary's padding must not be chosen
        sum += std::exp(static_cast<double>(row[v]));
      }
      total += static_cast<double>(row[labels[t]]) - std::log(sum);
    }
    return total;
  }

  std::unique_ptr<Tokenizer> tokenizer;
  ParameterStore store;
  EncoderDecoder model;
  std::vector<std::vector<Token>> sources;
};

TEST_F(Translate, GreedyTakesTheMostLikelyTokenEachTime) {
  const auto answers = translate(model, *tokenizer, sources, {});
  ASSERT_EQ(answers.size(), sources.size());
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Translation& answer = answers[i];
    EXPECT_NEAR(answer.log_probability, log_probability(sources[i], answer.tokens, answer.ended), 1e-4);
    std::vector<Token> expected;
    bool ended = false;
    while (!ended && expected.size() < 6) {
      Token best = 3;
      double highest = log_probability(sources[i], expected, true);
      for (const Token word : {1, 4, 5, 6, 7}) {
        std::vector<Token> longer = expected;
        longer.push_back(word);
        if (const double p = log_probability(sources[i], longer, false); p > highest) {
          highest = p;
          best = word;
        }
      }
      ended = best == 3;
      if (!ended) {
        expected.push_back(best);
      }
    }
    EXPECT_EQ(answer.tokens, expected) << i;
    EXPECT_EQ(answer.ended, ended) << i;
    lengths.push_back(expected.size());
  }
  EXPECT_NE(*std::min_element(lengths.begin(), lengths.end()), *std::max_element(lengths.begin(), lengths.end())) << "the case is void";
}

TEST_F(Translate, ABeamFollowsTheMostLikelyTexts) {
  int other_than_greedy = 0;
  for (const double alpha : {0.0, 0.6, 3.0}) {
    for (const index beam : {2, 4, 6}) {
      const TranslateOptions options{.beam = beam, .length_penalty = alpha};
      const auto answers = translate(model, *tokenizer, sources, options);
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const Translation expected = testing::translate_without_cache(model, *tokenizer, sources[i], options);
        EXPECT_EQ(answers[i].tokens, expected.tokens) << i << " beam " << beam << " alpha " << alpha;
        EXPECT_EQ(answers[i].ended, expected.ended);
        EXPECT_NEAR(answers[i].log_probability, expected.log_probability, 1e-4);
        other_than_greedy += answers[i].tokens != translate(model, *tokenizer, std::span(sources).subspan(i, 1), {})[0].tokens ? 1 : 0;
      }
    }
  }
  EXPECT_GT(other_than_greedy, 0) << "the case is void";
}

TEST_F(Translate, AnAnswerDependsNeitherOnTheOthersNorOnThreads) {
  std::vector<std::vector<Token>> many;
  for (int i = 0; i < 30; ++i) {
    many.insert(many.end(), sources.begin(), sources.end());
  }
  for (const index beam : {1, 3}) {
    std::vector<Translation> alone;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      alone.push_back(translate(model, *tokenizer, std::span(sources).subspan(i, 1), {.beam = beam}).front());
    }
    for (const int threads : {1, 2, 4}) {
      const WithThreads with(threads, Work{0});
      const auto answers = translate(model, *tokenizer, many, {.beam = beam});
      ASSERT_EQ(answers.size(), many.size());
      for (std::size_t i = 0; i < many.size(); ++i) {
        EXPECT_EQ(answers[i].tokens, alone[i % sources.size()].tokens);
        EXPECT_EQ(answers[i].log_probability, alone[i % sources.size()].log_probability) << "bits";
      }
    }
  }
}

// The model has every key of an encoder-decoder, and answers of several lengths: hypotheses end and leave, and others take their rows.
TEST(TranslateCached, GivesTheResultsOfReadingEverythingAgain) {
  const auto tokenizer = tokenizer_from_json(R"({"kind":"word","words":["a","b","c","d","e","f","g","h"]})");
  const TransformerConfig plain{.n_layer = 2,
                                .n_encoder_layer = 1,
                                .n_head = 4,
                                .n_embd = 16,
                                .block_size = 40,
                                .vocab_size = 12,
                                .norm_position = NormPosition::post};
  // Collect the kinds of models.
  std::vector<TransformerConfig> kinds;
  for (const auto positions : {Positions::sinusoidal, Positions::learned, Positions::rope, Positions::none}) {
    for (const auto where : {NormPosition::pre, NormPosition::post}) {
      kinds.push_back(plain);
      kinds.back().positions = positions;
      kinds.back().norm_position = where;
    }
  }
  TransformerConfig llama = plain;
  llama.n_kv_head = 2;
  llama.head_size = 6;
  llama.positions = Positions::rope;
  llama.norm = NormKind::rms_norm;
  llama.qk_norm = true;
  llama.gated = true;
  llama.activation = Activation::silu;
  llama.bias = false;
  llama.share_embeddings = false;
  llama.tie_embeddings = false;
  llama.logit_softcap = 5;
  if (testing::kSanitized) {
    kinds.resize(1);  // it takes long there
  }
  kinds.push_back(llama);
  std::set<std::size_t> lengths;
  std::set<bool> endings;
  // Compare each kind with a model that reads everything again.
  for (const TransformerConfig& kind : kinds) {
    ParameterStore store;
    const EncoderDecoder model(Scope(store), kind);
    store.allocate(3);
    for (ParameterStore::Entry* entry : store.entries()) {  // preferences that differ from source to source and from token to token
      for (index i = 0; i < entry->size(); ++i) {
        static_cast<float*>(entry->record.data)[i] *= 1.7F;
      }
    }
    std::vector<std::vector<Token>> sources;
    for (const char* text : {"a b", "c", "d d a b h g", "b c d", "a", "d c b a e f", "g h", "h", "e f e f e", "c c"}) {
      sources.push_back(encode_source(*tokenizer, text, 40));
    }
    for (const index beam : {1, 3, 4, 9}) {
      const TranslateOptions options{.beam = beam};
      const auto found = translate(model, *tokenizer, sources, options);
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const Translation expected = testing::translate_without_cache(model, *tokenizer, sources[i], options);
        EXPECT_EQ(found[i].tokens, expected.tokens) << i << " beam " << beam;
        EXPECT_EQ(found[i].ended, expected.ended);
        EXPECT_NEAR(found[i].log_probability, expected.log_probability, 1e-3);
        lengths.insert(found[i].tokens.size());
        endings.insert(found[i].ended);
      }
    }
  }
  EXPECT_GT(lengths.size(), 5U) << "the case is void";
  EXPECT_EQ(endings.size(), 2U) << "the case is void";
}

TEST_F(Translate, NamesLogitsThatAreNaN) {
  *static_cast<float*>(store.entries().front()->record.data) = std::nanf("");
  EXPECT_TRUE(testing::names(testing::error_of([&] { translate(model, *tokenizer, sources, {}); }), {"translate", "logits", "NaN"}));
}

TEST_F(Translate, StopsWhenAskedAndReportsItsProgress) {
  EXPECT_TRUE(translate(model, *tokenizer, sources, {}, [] { return true; }).empty());
  std::vector<double> shares;
  translate(model, *tokenizer, sources, {.beam = 6}, {}, [&](double share) { shares.push_back(share); });
  ASSERT_FALSE(shares.empty());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
}

TEST_F(Translate, ShowsTheAttentionOfEachWord) {
  const auto layers = attention_of(model, *tokenizer, sources[0], {4, 5});
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers[0].layer, "encoder.h.0.attn");
  EXPECT_EQ(layers[1].layer, "decoder.h.0.attn");
  EXPECT_EQ(layers[2].layer, "decoder.h.0.crossattention");
  EXPECT_EQ(layers[2].queries, 3) << "the words and the end";
  EXPECT_EQ(layers[2].keys, 3) << "a, b and the end";
  EXPECT_EQ(layers[2].weights.size(), 2U * 3 * 3);
}

TEST_F(Translate, ShowsTheAttentionOfAnAnswerThatFillsTheBlock) {
  const std::vector<Token> whole_block(6, 4);
  EXPECT_EQ(attention_of(model, *tokenizer, sources[0], whole_block)[2].queries, 6) << "the words, and no end";
}

TEST_F(Translate, RefusesImpossibleRequests) {
  using testing::error_of;
  using testing::names;
  EXPECT_TRUE(names(error_of([&] { translate(model, *tokenizer, sources, {.beam = 0}); }), {"beam", "0", "1", "6"}));
  EXPECT_THROW(translate(model, *tokenizer, sources, {.beam = 7}), InputError);
  EXPECT_THROW(translate(model, *tokenizer, sources, {.length_penalty = -1}), InputError);
  EXPECT_THROW(translate(model, *tokenizer, sources, {.max_new_tokens = -1}), InputError);
  EXPECT_TRUE(names(error_of([&] { encode_source(*tokenizer, " ", 6); }), {"source", "no words"}));
  EXPECT_TRUE(names(error_of([&] { encode_source(*tokenizer, "a a a a a a", 6); }), {"source", "7 tokens", "6", "model.block_size"}));
  const auto bytes = tokenizer_from_json(R"({"kind":"byte"})");
  EXPECT_TRUE(names(error_of([&] { encode_source(*bytes, "a", 6); }), {"byte", "start", "end"}));
}

}  // namespace
}  // namespace dikkat
