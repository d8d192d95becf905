// Tests properties of a GPT that hold for any weights. (Numbers from outside are in tests/golden.)

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/layers/tiny_gpt.h"

namespace dikkat {
namespace {

using testing::names;

constexpr index kVocabulary = 65;
constexpr TransformerConfig kConfig{.n_layer = 2, .n_head = 2, .n_embd = 32, .block_size = 70, .vocab_size = kVocabulary, .dropout = 0.2};

double first_loss(const TransformerConfig& config) {
  TinyGpt model(config);
  const index sequences = 4;
  const index size = sequences * config.block_size;
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor logits = model.gpt(pass, tape.input<std::int32_t>({sequences, config.block_size}, some_tokens(size, config.vocab_size)));
  const auto targets = some_tokens(size, config.vocab_size, 2);
  return static_cast<double>(*cross_entropy(logits, tape.input<std::int32_t>({sequences, config.block_size}, targets)).data<float>());
}

TEST(FreshGpt, KnowsNothing) {
  const double uniform = std::log(static_cast<double>(kVocabulary));
  EXPECT_NEAR(first_loss(kConfig), uniform, 0.1);
  TransformerConfig untied = kConfig;
  untied.tie_embeddings = untied.bias = false;
  EXPECT_NEAR(first_loss(untied), uniform, 0.1);
}

// The lengths cross both the 16 lanes and the 64 queries of attention's tiles.
TEST(Gpt, DoesNotLookAhead) {
  const TinyGpt model(kConfig);
  const index time = kConfig.block_size;
  const std::vector<std::int32_t> tokens = some_tokens(time, kVocabulary);
  const std::vector<float> before = model.logits(tokens);
  for (const index t : {index{0}, index{1}, index{15}, index{16}, index{63}, index{64}, time - 1}) {
    std::vector<std::int32_t> changed = tokens;
    std::int32_t& token = changed[static_cast<std::size_t>(t)];
    token = static_cast<std::int32_t>((token + 1) % kVocabulary);
    const std::vector<float> after = model.logits(changed);
    for (index place = 0; place < time; ++place) {
      const auto row = [&](const std::vector<float>& logits) {
        return std::vector<float>(logits.begin() + place * kVocabulary, logits.begin() + (place + 1) * kVocabulary);
      };
      if (place < t) {
        EXPECT_EQ(row(before), row(after)) << "token " << t << ", logits " << place;
      } else {
        EXPECT_NE(row(before), row(after)) << "token " << t << ", logits " << place;
      }
    }
  }
}

TEST(Gpt, LooksAtEachSequenceSeparately) {
  const TinyGpt model(kConfig);
  const std::vector<std::int32_t> tokens = some_tokens(3 * 20, kVocabulary);
  const std::vector<float> together = model.logits(tokens, 3);
  const std::vector<float> second = model.logits({tokens.begin() + 20, tokens.begin() + 40});
  for (std::size_t i = 0; i < second.size(); ++i) {
    ASSERT_NEAR(second[i], together[second.size() + i], 1e-5) << i;
  }
}

TEST(Gpt, DropsInTrainingOnly) {
  const TinyGpt model(kConfig);
  TransformerConfig config = kConfig;
  config.dropout = 0;
  const TinyGpt without(config);
  const std::vector<std::int32_t> tokens = some_tokens(2 * 20, kVocabulary);
  const auto training = [&](const TinyGpt& m, std::uint64_t seed, std::uint64_t step) {
    Tape tape;
    return m.logits({.tape = tape, .training = true, .seed = seed, .step = step}, tokens, 2);
  };
  const std::vector<float> plain = without.logits(tokens, 2);
  EXPECT_EQ(model.logits(tokens, 2), plain);
  EXPECT_EQ(training(without, 1, 1), plain);
  const std::vector<float> dropped = training(model, 1, 1);
  EXPECT_NE(dropped, plain);
  EXPECT_EQ(training(model, 1, 1), dropped);
  EXPECT_NE(training(model, 1, 2), dropped);
  EXPECT_NE(training(model, 2, 1), dropped);
}

TEST(Gpt, GivesTheSameBitsWithAndWithoutRecording) {
  const TinyGpt model(kConfig);
  const std::vector<std::int32_t> tokens = some_tokens(3 * 33, kVocabulary);
  for (const bool training : {false, true}) {
    Tape on;
    Tape off(Recording::off);
    EXPECT_EQ(model.logits({.tape = on, .training = training, .seed = 3, .step = 9}, tokens, 3),
              model.logits({.tape = off, .training = training, .seed = 3, .step = 9}, tokens, 3));
  }
}

TEST(Gpt, NamesErrorsOfItsInput) {
  const TinyGpt model(kConfig);
  const auto refusal = [&](Shape shape, std::int32_t token = 0) {
    return testing::error_of([&] {
      Tape tape;
      Pass pass{.tape = tape, .training = true};
      model.gpt(pass, tape.input<std::int32_t>(shape, std::vector<std::int32_t>(static_cast<std::size_t>(shape.size()), token)));
    });
  };
  EXPECT_TRUE(names(refusal({2, 71}), {"gpt", "tokens", "[2, 71]", "(B, T)", "70"}));
  EXPECT_EQ(refusal({2, 70}), "");
  EXPECT_EQ(refusal({1, 1}), "");
  EXPECT_TRUE(names(refusal({2, 0}), {"gpt", "tokens", "[2, 0]"}));
  EXPECT_TRUE(names(refusal({0, 5}), {"gpt", "tokens", "[0, 5]"}));
  EXPECT_TRUE(names(refusal({5}), {"gpt", "tokens", "[5]"}));
  EXPECT_TRUE(names(refusal({1, 5}, kVocabulary), {"token 65", "0", "64"}));
  EXPECT_TRUE(names(refusal({1, 5}, -1), {"token -1", "0", "64"}));
}

// The definition is written out in ops, with every place of dropout and the name of its random numbers. A name that is used twice, or a
// dropout that is left out, would train quite well.
TEST(Gpt, IsItsDefinitionWithDropoutEverywhere) {
  TinyGpt model(kConfig);
  const Shape shape{3, 20};
  const std::vector<std::int32_t> tokens = some_tokens(shape.size(), kVocabulary);
  Tape tape;
  Pass pass{.tape = tape, .training = true, .seed = 3, .step = 9, .first_sequence = 2};

  const auto parameter = [&](const std::string& path) { return model.store.entry(path).tensor(); };
  const auto apply = [&](const std::string& path, Tensor x) { return linear(x, parameter(path + ".weight"), parameter(path + ".bias")); };
  const auto norm = [&](const std::string& path, Tensor x) {
    return layer_norm(x, parameter(path + ".weight"), parameter(path + ".bias"));
  };
  const auto stream = [](const std::string& site) { return RandomStream(3, site, 9); };
  const auto drop = [&](const std::string& site, Tensor x) {
    return dropout(x, kConfig.dropout, stream(site), 2 * shape[1] * kConfig.n_embd);
  };

  Tensor x =
      drop("drop", embedding(tape.input<std::int32_t>(shape, tokens), parameter("wte.weight"), {.positions = parameter("wpe.weight")}));
  for (const std::string h : {"h.0.", "h.1."}) {
    const Tensor attended = self_attention(apply(h + "attn.c_attn", norm(h + "ln_1", x)), {.heads = kConfig.n_head,
                                                                                           .head_size = kConfig.n_embd / kConfig.n_head,
                                                                                           .causal = true,
                                                                                           .dropout = kConfig.dropout,
                                                                                           .stream = stream(h + "attn"),
                                                                                           .first_batch = 2});
    x = add(x, drop(h + "attn.dropout", apply(h + "attn.c_proj", attended)));
    x = add(x, drop(h + "mlp.dropout", apply(h + "mlp.c_proj", gelu(apply(h + "mlp.c_fc", norm(h + "ln_2", x))))));
  }
  const Tensor logits = linear(norm("ln_f", x), parameter("wte.weight"));
  EXPECT_EQ(model.logits(pass, tokens, 3), std::vector<float>(logits.data<float>(), logits.data<float>() + logits.size()));
}

void learn(TinyGpt& model, std::uint64_t seed) {
  Tape tape;
  Pass pass{.tape = tape, .training = true};
  const Tensor logits = model.gpt(pass, tape.input<std::int32_t>({2, 20}, some_tokens(40, kVocabulary, seed)));
  tape.backward(cross_entropy(logits, tape.input<std::int32_t>({2, 20}, some_tokens(40, kVocabulary, seed + 1))));
  model.store.complete_gradients();
}

// Nothing is zeroed between steps: each first writer must overwrite, also rows of tokens that do not occur.
TEST(Gpt, HasGradientsThatDoNotDependOnTheStepBefore) {
  TransformerConfig config = kConfig;
  config.tie_embeddings = false;
  TinyGpt used(config), fresh(config);
  learn(used, 10);
  used.store.clear_gradients();
  learn(used, 20);
  learn(fresh, 20);
  const auto gradients = [](TinyGpt& model) {
    return std::vector<float>(model.store.gradients<float>(), model.store.gradients<float>() + model.store.slab_size());
  };
  EXPECT_EQ(gradients(used), gradients(fresh));
}

// A tied table gets its gradient from the head and from the lookup. Rows that were not looked up get only the head's part.
TEST(Gpt, SharesItsTableWithTheHeadWhenTied) {
  TransformerConfig config = kConfig;
  config.dropout = 0;
  TinyGpt tied(config);
  config.tie_embeddings = false;
  TinyGpt untied(config);
  const auto place = [](TinyGpt& model, const char* path) { return model.store.weights<float>() + model.store.entry(path).offset; };
  std::copy_n(place(untied, "wte.weight"), kVocabulary * config.n_embd, place(untied, "lm_head.weight"));
  learn(tied, 1);
  learn(untied, 1);
  const auto gradient = [](TinyGpt& model, const char* path) { return model.store.gradients<float>() + model.store.entry(path).offset; };
  const float* both = gradient(tied, "wte.weight");
  const float* looked_up = gradient(untied, "wte.weight");
  const float* head = gradient(untied, "lm_head.weight");
  for (index i = 0; i < kVocabulary * config.n_embd; ++i) {
    ASSERT_NEAR(both[i], looked_up[i] + head[i], 1e-7) << i;
  }
}

}  // namespace
}  // namespace dikkat
