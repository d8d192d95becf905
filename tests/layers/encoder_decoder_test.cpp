// Tests properties that golden numbers do not show: padding is never read, the bits do not depend on threads, and bad inputs are refused.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "optim/adamw.h"
#include "tests/layers/tiny_encoder_decoder.h"
#include "tests/support/compare.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

TEST(EncoderDecoder, NeverLooksAtPadding) {
  TinyEncoderDecoder tiny(kTinyEncoderDecoder);
  const std::vector<float> before = tiny.logits();
  for (std::size_t position = 4; position < 11; ++position) {
    auto& token = tiny.source[11 + position];  // row 1 has 4 tokens
    token = (token + 1) % 23;
  }
  EXPECT_EQ(tiny.logits(), before);
  tiny.source[11 + 3] = (tiny.source[11 + 3] + 1) % 23;
  const std::vector<float> after = tiny.logits();
  const std::size_t row = 9 * 23;
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + row, after.begin())) << "a row depends only on its own source";
  EXPECT_FALSE(std::equal(before.begin() + row, before.begin() + 2 * row, after.begin() + row));
  EXPECT_TRUE(std::equal(before.begin() + 2 * row, before.end(), after.begin() + 2 * row));
}

TEST(EncoderDecoder, TheDecoderDoesNotSeeLaterTokens) {
  TinyEncoderDecoder tiny(kTinyEncoderDecoder);
  const std::vector<float> before = tiny.logits();
  tiny.inputs[5] = (tiny.inputs[5] + 1) % 23;
  const std::vector<float> after = tiny.logits();
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 5 * 23, after.begin()));
  EXPECT_FALSE(std::equal(before.begin() + 5 * 23, before.begin() + 6 * 23, after.begin() + 5 * 23));
}

TEST(EncoderDecoder, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto train = [](int threads) {
    const WithThreads with(threads, Work{0});
    TinyEncoderDecoder tiny(kTinyEncoderDecoder);
    AdamW adamw(tiny.store, {});
    Tape tape;
    for (index step = 1; step <= 3; ++step) {
      Pass pass{.tape = tape, .training = true, .seed = 5, .step = static_cast<std::uint64_t>(step)};
      tape.backward(tiny.loss(pass));
      tape.reset();
      adamw.step(step, 1e-2, 1);
    }
    return std::vector<float>(tiny.store.weights<float>(), tiny.store.weights<float>() + tiny.store.slab_size());
  };
  const std::vector<float> one = train(1);
  for (const int threads : {2, 3, 4}) {
    EXPECT_EQ(std::memcmp(train(threads).data(), one.data(), one.size() * sizeof(float)), 0) << threads;
  }
}

TEST(EncoderDecoder, ReportsItsAttentionWeights) {
  const TinyEncoderDecoder tiny(kTinyEncoderDecoder);
  std::map<std::string, Shape> seen;
  std::vector<float> cross;
  const AttentionObserver observer = [&](std::string_view layer, Tensor weights) {
    seen[std::string(layer)] = weights.shape();
    if (layer == "decoder.h.1.crossattention") {
      cross.assign(weights.data<float>(), weights.data<float>() + weights.size());
    }
  };
  Tape tape(Recording::off);
  Pass pass{.tape = tape, .attention_observer = &observer};
  const Tensor y = tiny.logits(pass);
  EXPECT_EQ(std::vector<float>(y.data<float>(), y.data<float>() + y.size()), tiny.logits()) << "observing changes nothing";
  ASSERT_EQ(seen.size(), 6U);
  EXPECT_EQ(seen["encoder.h.0.attn"], (Shape{3, 2, 11, 11}));
  EXPECT_EQ(seen["decoder.h.0.attn"], (Shape{3, 2, 9, 9}));
  EXPECT_EQ(seen["decoder.h.1.crossattention"], (Shape{3, 2, 9, 11}));
  for (std::size_t row = 0; row < cross.size() / 11; ++row) {
    const index length = tiny.source_lengths[row / (2 * 9)];
    double sum = 0;
    for (index key = 0; key < 11; ++key) {
      const float weight = cross[row * 11 + static_cast<std::size_t>(key)];
      sum += static_cast<double>(weight);
      ASSERT_TRUE(key < length ? weight > 0 : weight == 0) << row << ' ' << key;
    }
    ASSERT_NEAR(sum, 1, 1e-6);
  }
}

/// The tiny encoder-decoder with one of Llama's or nanochat's keys, or with all of them.
struct Variant {
  const char* name;
  TransformerConfig config;
};
std::vector<Variant> variants() {
  std::vector<Variant> all;
  const auto with = [&](const char* name, auto change) {
    Variant variant{name, kTinyEncoderDecoder};
    change(variant.config);
    all.push_back(variant);
  };
  const auto grouped = [](TransformerConfig& c) { c.n_head = 4, c.n_kv_head = 2; };
  const auto sized = [](TransformerConfig& c) { c.head_size = 6; };
  const auto rotary = [](TransformerConfig& c) { c.positions = Positions::rope; };
  const auto normed = [](TransformerConfig& c) { c.qk_norm = true; };
  const auto root = [](TransformerConfig& c) { c.norm = NormKind::rms_norm; };
  const auto gated = [](TransformerConfig& c) { c.gated = true, c.activation = Activation::silu; };
  const auto squared = [](TransformerConfig& c) { c.activation = Activation::relu2; };
  const auto capped = [](TransformerConfig& c) { c.logit_softcap = 5; };
  const auto embedding_normed = [](TransformerConfig& c) { c.embedding_norm = true; };
  const auto scaled = [](TransformerConfig& c) { c.residual_scalars = true; };
  const auto valued = [](TransformerConfig& c) { c.value_embeddings = ValueEmbeddings::all; };
  with("grouped queries", grouped);
  with("one head of keys", [](TransformerConfig& c) { c.n_kv_head = 1; });
  with("head_size", sized);
  with("rope", rotary);
  with("no positions", [](TransformerConfig& c) { c.positions = Positions::none; });
  with("qk_norm", normed);
  with("rms_norm", root);
  with("gated", gated);
  with("relu2", squared);
  with("softcap", capped);
  with("embedding_norm", embedding_normed);
  with("residual_scalars", scaled);
  with("value_embeddings", valued);
  with("value_embeddings, alternate", [](TransformerConfig& c) { c.value_embeddings = ValueEmbeddings::alternate; });
  const auto all_of_them = [&](TransformerConfig& c) {
    grouped(c), sized(c), rotary(c), normed(c), root(c), gated(c), capped(c);
    embedding_normed(c), scaled(c), valued(c);
    c.bias = false;
  };
  with("all of them", all_of_them);
  with("all of them, pre-norm", [&](TransformerConfig& c) {
    all_of_them(c);
    c.norm_position = NormPosition::pre;
  });
  return all;
}

TEST(EncoderDecoder, TrainsWithEachKeyOfALlama) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    const auto train = [&](int threads, Recompute recompute, DType operands) {
      const WithThreads with(threads, Work{0});
      TinyEncoderDecoder tiny(variant.config);
      AdamW adamw(tiny.store, {});
      Tape tape;
      std::vector<float> losses;
      for (index step = 1; step <= 3; ++step) {
        Pass pass{.tape = tape,
                  .training = true,
                  .seed = 5,
                  .step = static_cast<std::uint64_t>(step),
                  .recompute = recompute,
                  .operands = operands};
        const Tensor loss = tiny.loss(pass);
        losses.push_back(*loss.data<float>());
        tape.backward(loss);
        tape.reset();
        adamw.step(step, 1e-2, 1);
      }
      return std::pair(losses, std::vector<float>(tiny.store.weights<float>(), tiny.store.weights<float>() + tiny.store.slab_size()));
    };
    // Recomputation and threads must not change the bits; bf16 must, a little.
    const auto [losses, weights] = train(1, Recompute::none, DType::f32);
    EXPECT_LT(losses.back(), losses.front());
    const auto same = [&, &expected = weights](const auto& run) {
      return std::memcmp(run.second.data(), expected.data(), expected.size() * sizeof(float)) == 0;
    };
    EXPECT_TRUE(same(train(2, Recompute::cheap, DType::f32))) << "threads, cheap";
    EXPECT_TRUE(same(train(1, Recompute::block, DType::f32))) << "block";
    const auto in_bf16 = train(1, Recompute::none, DType::bf16);
    EXPECT_NEAR(in_bf16.first.front(), losses.front(), 0x1p-8 * losses.front());
    EXPECT_FALSE(same(in_bf16));
  }
}

// A part that is described but not used would leave its parameters without gradients, or would not change the logits.
TEST(EncoderDecoder, EveryParameterOfEachKeyIsUsed) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    TinyEncoderDecoder tiny(variant.config);
    Tape tape;
    Pass pass{.tape = tape, .training = true};
    tape.backward(tiny.loss(pass));
    tiny.store.complete_gradients();
    for (const ParameterStore::Entry* entry : tiny.store.entries()) {
      const float* gradient = tiny.store.gradients<float>() + entry->offset;
      EXPECT_TRUE(std::any_of(gradient, gradient + entry->size(), [](float g) { return g != 0; })) << entry->path;
    }
  }
}

/// Features (targets, time, C) of targets with a source each. The targets are read in pieces of the given lengths, with a cache.
std::vector<float> in_pieces(const TinyEncoderDecoder& tiny, const std::vector<std::int32_t>& source_of, index time,
                             const std::vector<index>& pieces) {
  const EncoderDecoder& model = tiny.model;
  const index width = model.config().n_embd, targets = std::ssize(source_of);
  EncoderDecoder::Cache cache = model.cache(targets, time, TinyEncoderDecoder::kRows, TinyEncoderDecoder::kSource);
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  for (index s = 0; s < TinyEncoderDecoder::kRows; ++s) {
    const index length = tiny.source_lengths[static_cast<std::size_t>(s)];
    const std::span source = std::span(tiny.source).subspan(static_cast<std::size_t>(s * TinyEncoderDecoder::kSource));
    model.add_source(pass, model.encode(pass, tape.input<std::int32_t>({1, length}, source.first(static_cast<std::size_t>(length)))),
                     cache);
    tape.reset();
  }
  std::vector<float> features(static_cast<std::size_t>(targets * time * width));
  index at = 0;
  for (const index piece : pieces) {
    std::vector<std::int32_t> tokens;
    for (index b = 0; b < targets; ++b) {
      tokens.insert(tokens.end(), tiny.inputs.begin() + b * time + at, tiny.inputs.begin() + b * time + at + piece);
    }
    const Tensor y = model.features(pass, tape.input<std::int32_t>({targets, piece}, tokens), source_of, cache);
    for (index b = 0; b < targets; ++b) {
      std::copy_n(y.data<float>() + b * piece * width, piece * width, features.begin() + (b * time + at) * width);
    }
    tape.reset();
    at += piece;
  }
  return features;
}

// A cache changes the computation, not the result. Targets may share a source.
TEST(EncoderDecoder, WithACacheGivesTheFeaturesOfOnePassForAnyPieces) {
  const std::vector<std::int32_t> source_of = {2, 0, 2, 1};
  const index targets = 4, time = 6, source = TinyEncoderDecoder::kSource;
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    const TinyEncoderDecoder tiny(variant.config);
    std::vector<std::int32_t> sources, lengths;
    for (const std::int32_t s : source_of) {
      sources.insert(sources.end(), tiny.source.begin() + s * source, tiny.source.begin() + (s + 1) * source);
      lengths.push_back(tiny.source_lengths[static_cast<std::size_t>(s)]);
    }
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    const auto encoded =
        tiny.model.encode(pass, tape.input<std::int32_t>({targets, source}, sources), tape.input<std::int32_t>({targets}, lengths));
    const Tensor y =
        tiny.model.features(pass, tape.input<std::int32_t>({targets, time}, std::span(tiny.inputs).first(targets * time)), encoded);
    const std::vector<float> whole(y.data<float>(), y.data<float>() + y.size());
    for (const std::vector<index>& pieces : {std::vector<index>{6}, {1, 1, 1, 1, 1, 1}, {2, 3, 1}}) {
      EXPECT_LE(testing::relative_error(in_pieces(tiny, source_of, time, pieces), whole), 1e-5);
    }
  }
}

TEST(EncoderDecoder, ACacheRefusesOperandsThatDoNotFit) {
  const TinyEncoderDecoder tiny(kTinyEncoderDecoder);
  const EncoderDecoder& model = tiny.model;
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  EncoderDecoder::Cache cache = model.cache(2, 12, 1, 5);
  const auto ids = [&](Shape shape) {
    return tape.input<std::int32_t>(shape, std::vector<std::int32_t>(static_cast<std::size_t>(shape.size()), 1));
  };
  const auto adding = [&](const EncoderDecoder::EncoderOutput& encoded) {
    return error_of([&] { model.add_source(pass, encoded, cache); });
  };
  const auto reading = [&](Shape shape, const std::vector<std::int32_t>& sources) {
    return error_of([&] { model.features(pass, ids(shape), sources, cache); });
  };
  EXPECT_TRUE(names(reading({1, 1}, {0}), {"encoder-decoder", "source 0", "cache of 0"}));
  EXPECT_TRUE(names(adding(model.encode(pass, ids({1, 5}), ids({1}))), {"encoder-decoder", "padding", "cache"}));
  EXPECT_TRUE(names(adding(model.encode(pass, ids({1, 6}))), {"cache", "keys and values", "f32 [1, 6, 32]", "5", "32"}));
  EXPECT_EQ(adding(model.encode(pass, ids({1, 5}))), "");
  EXPECT_TRUE(names(adding(model.encode(pass, ids({1, 5}))), {"cache", "layer 0", "sequence 1", "2 layers", "1 sequences"}));
  EXPECT_TRUE(names(reading({2, 1}, {0, 1}), {"encoder-decoder", "source 1", "cache of 1"}));
  EXPECT_TRUE(names(reading({2, 1}, {0}), {"encoder-decoder", "2 targets", "1 sources"}));
  EXPECT_EQ(reading({2, 10}, {0, 0}), "");
  EXPECT_TRUE(names(reading({2, 3}, {0, 0}), {"encoder-decoder", "target tokens", "[2, 3]", "(B, T)", "2", "12"}));
  EXPECT_TRUE(names(reading({3, 1}, {0, 0, 0}), {"cache", "3 sequences", "2"}));
}

TEST(EncoderDecoder, HasTheParametersOfItsKeys) {
  const TinyEncoderDecoder tiny(variants().back().config);  // 4 heads of 6 numbers, 2 of keys; gated: 8/3 of 16 is 64 at least
  const auto shape_of = [&](const std::string& path) { return tiny.store.entry(path).shape(); };
  for (const std::string h : {"encoder.h.1.", "decoder.h.1."}) {
    EXPECT_EQ(shape_of(h + "attn.c_attn.weight"), (Shape{24 + 12 + 12, 16}));
    EXPECT_EQ(shape_of(h + "attn.q_norm.weight"), (Shape{6}));
    EXPECT_EQ(shape_of(h + "attn.k_norm.weight"), (Shape{6}));
    EXPECT_EQ(shape_of(h + "mlp.c_fc.weight"), (Shape{128, 16}));
    EXPECT_EQ(shape_of(h + "mlp.c_proj.weight"), (Shape{16, 64}));
    EXPECT_EQ(shape_of(h + "attn.value_embedding.weight"), (Shape{tiny.model.config().vocab_size, 12}));
    EXPECT_EQ(shape_of(h + "attn.value_gate.weight"), (Shape{2, 12}));
    EXPECT_EQ(shape_of(h + "x0_lambda"), (Shape{1}));
  }
  const std::string cross = "decoder.h.0.crossattention.";
  EXPECT_EQ(shape_of(cross + "q_attn.weight"), (Shape{24, 16}));
  EXPECT_EQ(shape_of(cross + "c_attn.weight"), (Shape{24, 16}));  // rows k | v
  EXPECT_EQ(tiny.store.entry(cross + "c_attn.weight").row_parts, (std::vector<index>{12, 12}));
  EXPECT_EQ(shape_of(cross + "q_norm.weight"), (Shape{6}));
  EXPECT_EQ(shape_of(cross + "k_norm.weight"), (Shape{6}));
  EXPECT_EQ(shape_of(cross + "c_proj.weight"), (Shape{16, 24}));
}

// Only self-attention has rotations: a query and a key of two texts have no distance.
TEST(EncoderDecoder, RotatesOnlyQueriesAndKeysOfOneText) {
  TransformerConfig config = kTinyEncoderDecoder;
  config.positions = Positions::rope;
  const TinyEncoderDecoder tiny(config);
  const auto source_twice = [&](index padding) {  // a source, and the same source with padding around it: rows of encoder attention move
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    std::vector<std::int32_t> source(static_cast<std::size_t>(5 + padding), 1);
    std::copy_n(tiny.source.begin(), 5, source.begin());
    const std::vector<std::int32_t> length = {5};
    const auto encoded = tiny.model.encode(pass, tape.input<std::int32_t>({1, 5 + padding}, source), tape.input<std::int32_t>({1}, length));
    const Tensor y = tiny.model.features(pass, tape.input<std::int32_t>({1, 4}, std::span(tiny.inputs).first(4)), encoded);
    return std::vector<float>(y.data<float>(), y.data<float>() + y.size());
  };
  const std::vector<float> alone = source_twice(0), padded = source_twice(6);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_NEAR(alone[i], padded[i], 1e-5) << i;  // products of few rows sum in another order
  }

  // A source in reverse order gives other features, because of the encoder's rotations. Without them it would be a bag of words.
  const auto features = [](const TransformerConfig& c, bool turned) {
    const TinyEncoderDecoder model(c);
    std::vector<std::int32_t> source = {3, 4, 5, 6, 7};
    if (turned) {
      std::reverse(source.begin(), source.end());
    }
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    const auto encoded = model.model.encode(pass, tape.input<std::int32_t>({1, 5}, source));
    const Tensor y = model.model.features(pass, tape.input<std::int32_t>({1, 4}, std::span(model.inputs).first(4)), encoded);
    return std::vector<float>(y.data<float>(), y.data<float>() + y.size());
  };
  EXPECT_GT(testing::relative_error(features(config, true), features(config, false)), 1e-3);
  config.positions = Positions::none;
  EXPECT_LE(testing::relative_error(features(config, true), features(config, false)), 1e-6);
}

TEST(EncoderDecoder, RefusesOperandsThatDoNotFit) {
  const TinyEncoderDecoder tiny(kTinyEncoderDecoder);
  const EncoderDecoder& model = tiny.model;
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const auto ids = [&](Shape shape) {
    return tape.input<std::int32_t>(shape, std::vector<std::int32_t>(static_cast<std::size_t>(shape.size()), 1));
  };
  EXPECT_TRUE(names(error_of([&] { model.encode(pass, ids({1, 13})); }), {"encoder-decoder", "source tokens", "[1, 13]", "(B, T)", "12"}));
  EXPECT_TRUE(names(error_of([&] { model.encode(pass, ids({2, 5}), ids({3})); }), {"encoder-decoder", "source lengths", "[3]", "i32 [2]"}));
  EXPECT_TRUE(names(error_of([&] { model.encode(pass, ids({1, 5}), tape.input<std::int32_t>({1}, std::vector<std::int32_t>{6})); }),
                    {"attention", "key bound", "6", "0", "5"}));
  const auto encoded = model.encode(pass, ids({2, 5}));
  EXPECT_TRUE(names(error_of([&] { model.features(pass, ids({3, 5}), encoded); }), {"encoder-decoder", "3 targets", "2 sources"}));
  EXPECT_TRUE(names(error_of([&] { model.features(pass, ids({2, 13}), encoded); }),
                    {"encoder-decoder", "target tokens", "[2, 13]", "(B, T)", "12"}));
  EXPECT_TRUE(names(error_of([&] { model.features(pass, ids({2, 4}), encoded, ids({4})); }),
                    {"encoder-decoder", "target lengths", "[4]", "i32 [2]"}));

  ParameterStore store;
  TransformerConfig config = kTinyEncoderDecoder;
  config.n_head = 3;
  EXPECT_TRUE(names(error_of([&] { EncoderDecoder(Scope(store), config); }), {"encoder-decoder", "n_head", "3", "n_embd", "16"}));
  config = kTinyEncoderDecoder;
  config.n_encoder_layer = 0;
  EXPECT_TRUE(names(error_of([&] { EncoderDecoder(Scope(store), config); }), {"n_encoder_layer", "0"}));
  config = kTinyEncoderDecoder;
  config.n_kv_head = 3;
  EXPECT_TRUE(names(error_of([&] { EncoderDecoder(Scope(store), config); }), {"encoder-decoder", "n_kv_head", "3", "n_head", "2"}));
  config = kTinyEncoderDecoder;
  config.head_size = 5;
  config.positions = Positions::rope;
  EXPECT_TRUE(names(error_of([&] { EncoderDecoder(Scope(store), config); }), {"encoder-decoder", "head_size", "5", "even", "RoPE"}));
}

TEST(Stack, CrossAttentionWantsAnEncodersOutput) {
  ParameterStore store;
  const Stack stack(Scope(store), with_defaults({.n_head = 2, .n_embd = 8}), {.layers = 1, .cross = true});
  store.allocate(1);
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  EXPECT_TRUE(names(error_of([&] { stack(pass, tape.input<float>({1, 2, 8}, std::vector<float>(16))); }),
                    {"stack", "cross-attention", "no encoder output", "(B, S, C)"}));
}

TEST(SinusoidalPositions, AreThePapers) {
  const SinusoidalPositions waves(50, 6);
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor rows = waves(pass, 3, 2, DType::f64);
  ASSERT_EQ(rows.shape(), (Shape{2, 6}));
  for (index t = 0; t < 2; ++t) {
    for (index i = 0; i < 3; ++i) {
      const double angle = static_cast<double>(t + 3) / std::pow(10000.0, 2.0 * static_cast<double>(i) / 6);
      EXPECT_NEAR(rows.data<double>()[t * 6 + 2 * i], std::sin(angle), 1e-14);
      EXPECT_NEAR(rows.data<double>()[t * 6 + 2 * i + 1], std::cos(angle), 1e-14);
    }
  }
  EXPECT_TRUE(names(error_of([&] { waves(pass, 48, 3, DType::f32); }), {"positions", "48", "50", "0", "49"}));
}

}  // namespace
}  // namespace dikkat
