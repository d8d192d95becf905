// A cache changes the computation, not the result.

#include "layers/key_value_cache.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/layers/tiny_gpt.h"
#include "tests/support/compare.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;
using testing::relative_error;

constexpr index kCachedVocabulary = 65;
constexpr TransformerConfig kCachedGpt{.n_layer = 2, .n_head = 2, .n_embd = 32, .block_size = 150, .vocab_size = kCachedVocabulary};
constexpr TransformerConfig kCachedLlama{.n_layer = 2,
                                         .n_head = 6,
                                         .n_kv_head = 2,
                                         .n_embd = 32,
                                         .head_size = 10,
                                         .block_size = 150,
                                         .vocab_size = kCachedVocabulary,
                                         .bias = false,
                                         .positions = Positions::rope,
                                         .norm = NormKind::rms_norm,
                                         .qk_norm = true,
                                         .activation = Activation::silu,
                                         .gated = true,
                                         .logit_softcap = 10};

std::vector<TransformerConfig> kinds() {
  std::vector<TransformerConfig> kinds;
  for (const NormPosition norm : {NormPosition::pre, NormPosition::post}) {
    for (const auto positions : {Positions::learned, Positions::sinusoidal}) {
      TransformerConfig c = kCachedGpt;
      c.norm_position = norm;
      c.positions = positions;
      c.scale_embeddings = c.bias = norm == NormPosition::post;
      kinds.push_back(c);
    }
  }
  for (const index key_heads : {1, 2, 6}) {
    TransformerConfig c = kCachedLlama;
    c.n_kv_head = key_heads;
    c.positions = key_heads == 2 ? Positions::none : Positions::rope;
    c.qk_norm = key_heads != 1;
    kinds.push_back(c);
  }
  // Windows that one tile holds and that several do, in all layers and in one of two, with positions of their own or without any.
  for (const index window : {1, 20, 70}) {
    for (const index pattern : {0, 2}) {
      TransformerConfig c = kCachedLlama;
      c.window = window;
      c.window_pattern = pattern;
      c.rope_theta_local = window == 70 ? 100 : 0;
      c.rope_pattern = window == 20 ? 2 : 0;
      c.rope_share = window == 1 ? 0.6 : 1;
      c.rope_amplitude = window == 1 ? 1.2 : 1;
      if (window == 1) {
        c.rope_short_factors.assign(static_cast<std::size_t>(rotated_size(with_defaults(c)) / 2), 2.5);
      }
      c.norm_position = pattern == 0 ? NormPosition::sandwich : NormPosition::branch;
      c.qk_norm_over = pattern == 0 ? QkNormOver::head : QkNormOver::row;
      c.embedding_scale = 2;
      c.residual_scale = 0.5;
      c.logit_scale = 3;
      c.attention_scale = 0.4;
      kinds.push_back(c);
    }
  }
  for (const auto values : {ValueEmbeddings::none, ValueEmbeddings::alternate, ValueEmbeddings::all}) {
    const bool others = values != ValueEmbeddings::alternate;
    TransformerConfig c = others ? kCachedLlama : kCachedGpt;
    c.value_embeddings = values;
    c.residual_scalars = c.embedding_norm = others;
    kinds.push_back(c);
  }
  return kinds;
}

/// Logits (sequences, time, vocabulary). The tokens are read in pieces of the given lengths.
std::vector<float> in_pieces(const TinyGpt& model, const std::vector<std::int32_t>& tokens, index sequences,
                             const std::vector<index>& pieces, KeyValueCache cache) {
  const index time = static_cast<index>(tokens.size()) / sequences;
  std::vector<float> logits(static_cast<std::size_t>(sequences * time * kCachedVocabulary));
  Tape tape(Recording::off);
  index at = 0;
  for (const index piece : pieces) {
    std::vector<std::int32_t> part;
    for (index s = 0; s < sequences; ++s) {
      part.insert(part.end(), tokens.begin() + s * time + at, tokens.begin() + s * time + at + piece);
    }
    Pass pass{.tape = tape};
    const Tensor y = model.gpt.logits(pass, model.gpt.features(pass, tape.input<std::int32_t>({sequences, piece}, part), cache));
    for (index s = 0; s < sequences; ++s) {
      std::copy_n(y.data<float>() + s * piece * kCachedVocabulary, piece * kCachedVocabulary,
                  logits.begin() + (s * time + at) * kCachedVocabulary);
    }
    tape.reset();
    at += piece;
    EXPECT_EQ(cache.length(), at);
  }
  EXPECT_EQ(at, time);
  return logits;
}

std::vector<float> in_pieces(const TinyGpt& model, const std::vector<std::int32_t>& tokens, index sequences,
                             const std::vector<index>& pieces) {
  return in_pieces(model, tokens, sequences, pieces, model.gpt.cache(sequences));
}

TEST(KeyValueCache, GrowsWithItsSequencesAndGivesTheSameBits) {
  const TinyGpt model(kCachedLlama);
  const std::vector<std::int32_t> tokens = some_tokens(3 * 150, kCachedVocabulary);
  const std::vector<index> pieces = {3, 5, 1, 1, 90, 50};
  const TransformerConfig& c = model.gpt.config();
  KeyValueCache small(c.n_layer, 3, c.block_size, c.n_kv_head * c.head_size, DType::f32, 8);
  EXPECT_EQ(small.capacity(), 8);
  EXPECT_EQ(in_pieces(model, tokens, 3, pieces, std::move(small)), in_pieces(model, tokens, 3, pieces));
  KeyValueCache large(2, 1, 1'000'000'000, 4, DType::f32, 16);
  large.reserve(17);
  EXPECT_EQ(large.capacity(), 32);
  EXPECT_EQ(large.max_positions(), 1'000'000'000);
  EXPECT_TRUE(names(error_of([&] { large.reserve(1'000'000'001); }), {"cache", "1000000001 positions", "1000000000"}));
}

// Memory beyond a sequence's own positions, such as that of another text, has no effect.
TEST(KeyValueCache, GivesTheSameBitsInMemoryThatHoldsNaN) {
  for (const TransformerConfig& config : kinds()) {
    const TinyGpt model(config);
    const std::vector<std::int32_t> tokens = some_tokens(2 * 140, kCachedVocabulary);
    const std::vector<index> pieces = {40, 1, 1, 60, 20, 1, 17};
    for (const DType dtype : {DType::f32, DType::bf16}) {
      KeyValueCache dirty = model.gpt.cache(2, dtype);
      for (index i = 0; i < dirty.layers(); ++i) {
        for (const index sequence : {0, 1}) {
          std::memset(dirty.layer(i, sequence).data, 0xFF, dirty.bytes(dirty.capacity()) / static_cast<std::size_t>(dirty.layers()));
        }
      }
      EXPECT_EQ(in_pieces(model, tokens, 2, pieces, std::move(dirty)), in_pieces(model, tokens, 2, pieces, model.gpt.cache(2, dtype)));
    }
  }
}

TEST(KeyValueCache, OfNarrowNumbersTakesHalfAndGivesAboutTheSameLogits) {
  for (const TransformerConfig& config : kinds()) {
    const TinyGpt model(config);
    const std::vector<std::int32_t> tokens = some_tokens(2 * 100, kCachedVocabulary);
    std::vector<index> pieces = {60};
    pieces.insert(pieces.end(), 40, 1);
    KeyValueCache narrow = model.gpt.cache(2, DType::bf16);
    EXPECT_EQ(2 * narrow.bytes(10), model.gpt.cache(2).bytes(10));
    const auto rounded = in_pieces(model, tokens, 2, pieces, std::move(narrow));
    const auto exact = in_pieces(model, tokens, 2, pieces);
    EXPECT_NE(rounded, exact);
    EXPECT_LE(relative_error(rounded, exact), 0.02);
  }
  const TinyGpt model(kCachedGpt);
  EXPECT_TRUE(names(error_of([&] { model.gpt.cache(1, DType::f64); }), {"cache", "f64", "f32", "bf16"}));
}

// Sequences of one pass may lie in several caches, in any order.
TEST(KeyValueCache, MayBeOneOfSeveralInAPass) {
  const TinyGpt model(kCachedLlama);
  const std::vector<std::int32_t> tokens = some_tokens(3, kCachedVocabulary);
  KeyValueCache together = model.gpt.cache(3);
  std::vector<KeyValueCache> own;
  for (int i = 0; i < 3; ++i) {
    own.push_back(model.gpt.cache(1));
  }
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const auto logits = [](Tensor y) { return std::vector<float>(y.data<float>(), y.data<float>() + y.size()); };
  const std::vector<KeyValueCache*> caches = {&own[2], &own[0], &own[1]};
  for (int step = 0; step < 5; ++step) {
    CachedSequences sequences(caches);
    const Tensor input = tape.input<std::int32_t>({3, 1}, tokens);
    EXPECT_EQ(logits(model.gpt.logits(pass, model.gpt.features(pass, input, sequences))),
              logits(model.gpt.logits(pass, model.gpt.features(pass, input, together))));
  }
  EXPECT_EQ(own[0].length(), 5);
  const KeyValueCache other(2, 1, 150, 10), narrow = model.gpt.cache(1, DType::bf16);
  KeyValueCache moved = model.gpt.cache(1);
  moved.append_positions(0, own[1], 0, 2, 3);
  EXPECT_EQ(moved.length(), 3);
  EXPECT_NE(error_of([&] { moved.append_positions(0, own[1], 0, 3, 3); }), "");
  EXPECT_NE(error_of([&] { moved.append_positions(0, other, 0, 0, 0); }), "");
  EXPECT_NE(error_of([&] { moved.append_positions(0, narrow, 0, 0, 0); }), "");
}

TEST(KeyValueCache, GivesTheLogitsOfOnePassForAnyPieces) {
  for (const TransformerConfig& config : kinds()) {
    const TinyGpt model(config);
    const index sequences = 3;
    const std::vector<std::int32_t> tokens = some_tokens(sequences * 140, kCachedVocabulary);
    const std::vector<float> whole = model.logits(tokens, sequences);
    std::vector<index> one_by_one = {110};
    one_by_one.insert(one_by_one.end(), 30, 1);
    for (const std::vector<index>& pieces : {std::vector<index>{1, 139}, {64, 1, 65, 10}, one_by_one}) {
      EXPECT_LE(relative_error(in_pieces(model, tokens, sequences, pieces), whole), 1e-5);
    }
  }
}

// Checks the promise of sampling: a text does not depend on the others beside it.
void expect_the_same_bits_beside_any_others(const TransformerConfig& config) {
  const TinyGpt model(config);
  const index time = 100;
  const std::vector<std::int32_t> tokens = some_tokens(8 * time, kCachedVocabulary);
  const std::vector<index> one_by_one(static_cast<std::size_t>(time), 1);
  const std::vector<float> together = in_pieces(model, tokens, 8, one_by_one);
  for (const int threads : {1, 2, 3}) {
    const WithThreads with(threads, Work{0});
    for (const index sequences : {1, 3, 5}) {
      const auto some = in_pieces(model, {tokens.begin(), tokens.begin() + sequences * time}, sequences, one_by_one);
      EXPECT_EQ(some, std::vector<float>(together.begin(), together.begin() + sequences * time * kCachedVocabulary)) << sequences;
    }
  }
}

TEST(KeyValueCache, GivesASequenceTheSameBitsBesideAnyOthers) { expect_the_same_bits_beside_any_others(kCachedGpt); }
TEST(KeyValueCache, OfALlamaGivesASequenceTheSameBitsBesideAnyOthers) { expect_the_same_bits_beside_any_others(kCachedLlama); }
TEST(KeyValueCache, WithWindowsGivesASequenceTheSameBitsBesideAnyOthers) {
  TransformerConfig c = kCachedLlama;
  c.window = 37;
  c.window_pattern = 2;
  expect_the_same_bits_beside_any_others(c);
}

// A window that no text fills changes nothing, with or without a cache.
TEST(KeyValueCache, WithAWindowThatNoTextFillsGivesTheSameBits) {
  TransformerConfig windowed = kCachedLlama;
  windowed.window = 150;
  const TinyGpt plain(kCachedLlama), model(windowed);
  const std::vector<std::int32_t> tokens = some_tokens(2 * 140, kCachedVocabulary);
  EXPECT_EQ(model.logits(tokens, 2), plain.logits(tokens, 2));
  const std::vector<index> pieces = {60, 1, 1, 50, 28};
  EXPECT_EQ(in_pieces(model, tokens, 2, pieces), in_pieces(plain, tokens, 2, pieces));
  windowed.window = 139;
  EXPECT_NE(TinyGpt(windowed).logits(tokens, 2), plain.logits(tokens, 2));
}

// Prompts of different lengths, read one by one, continue together as each does separately.
TEST(KeyValueCache, HasSequencesOfDifferentLengths) {
  const std::vector<index> given = {3, 60, 1, 17};
  constexpr index kMore = 30;
  for (const TransformerConfig& config : kinds()) {
    const TinyGpt model(config);
    const auto count = std::ssize(given);
    KeyValueCache together = model.gpt.cache(count);
    std::vector<KeyValueCache> alone;
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    const auto read = [&](KeyValueCache& cache, index sequences, index time, const std::vector<std::int32_t>& tokens) {
      const Tensor y = model.gpt.logits(pass, model.gpt.features(pass, tape.input<std::int32_t>({sequences, time}, tokens), cache));
      std::vector<float> logits(y.data<float>(), y.data<float>() + y.size());
      tape.reset();
      return logits;
    };
    // Read the prompts into separate caches, and copy them to a common one.
    for (index s = 0; s < count; ++s) {
      const index length = given[static_cast<std::size_t>(s)];
      read(alone.emplace_back(model.gpt.cache(1)), 1, length, some_tokens(length, kCachedVocabulary, 7));
      together.copy_sequence(s, alone.back(), 0);
    }
    const auto compare = [&](index time, std::uint64_t seed, double bound) {
      const auto tokens = some_tokens(count * time, kCachedVocabulary, seed);
      const auto found = read(together, count, time, tokens);
      std::vector<float> expected;
      for (index s = 0; s < count; ++s) {
        const auto own = read(alone[static_cast<std::size_t>(s)], 1, time, {tokens.begin() + s * time, tokens.begin() + (s + 1) * time});
        expected.insert(expected.end(), own.begin(), own.end());
      }
      if (bound == 0) {
        EXPECT_EQ(found, expected);
      } else {
        EXPECT_LE(relative_error(found, expected), bound);
      }
    };
    // Continue them together and separately.
    for (index i = 0; i < kMore; ++i) {
      compare(1, static_cast<std::uint64_t>(10 + i), 0);
    }
    compare(20, 9, 1e-5);
    for (index s = 0; s < count; ++s) {
      EXPECT_EQ(together.length(s), given[static_cast<std::size_t>(s)] + kMore + 20);
    }
  }
}

TEST(KeyValueCache, GrowsInItsFirstSequences) {
  KeyValueCache cache(1, 3, 10, 4);
  cache.advance(0, 7);
  cache.advance(1, 4);
  EXPECT_EQ(cache.length(), 7);
  EXPECT_EQ(cache.length(1), 4);
  EXPECT_EQ(cache.length(2), 0);
  EXPECT_EQ(cache.longest(3), 7);
  EXPECT_EQ(cache.longest(0), 0);
  cache.copy_sequence(2, cache, 1);
  EXPECT_EQ(cache.length(2), 4);
  Tape tape(Recording::off);
  cache.drop_oldest(1, 3);
  EXPECT_EQ(cache.length(1), 1);
  EXPECT_EQ(cache.next_position(1), 4);
  const Tensor next = CachedSequences(cache, 3).next_positions(tape);
  EXPECT_EQ(std::vector<std::int32_t>(next.data<std::int32_t>(), next.data<std::int32_t>() + 3), (std::vector<std::int32_t>{7, 4, 4}));
  EXPECT_TRUE(names(error_of([&] { cache.drop_oldest(1, 2); }), {"cache", "2", "has 1"}));
  KeyValueCache other(1, 1, 10, 4);
  EXPECT_TRUE(names(error_of([&] { other.append_positions(0, cache, 1, 0, 1); }), {"cache", "dropped", "position 0"}));
  EXPECT_TRUE(names(error_of([&] { cache.advance(0, 4); }), {"cache", "4", "positions", "3"}));
  EXPECT_EQ(cache.length(), 7) << "nothing has changed";
  EXPECT_TRUE(names(error_of([&] { cache.advance(3, 1); }), {"cache", "sequence 3", "0", "2"}));
  EXPECT_TRUE(names(error_of([&] { CachedSequences(cache, 4); }), {"cache", "4 sequences", "3"}));
  EXPECT_TRUE(names(error_of([&] { cache.length(3); }), {"cache", "sequence 3", "0", "2"}));
  cache.clear();
  EXPECT_EQ(cache.longest(3), 0);
  EXPECT_EQ(cache.next_position(1), 0);
}

// Without the oldest positions, the others stay as they are: a sequence then gives the logits of a row in one pass, in which each token
// sees only those that were in the cache with it.
TEST(KeyValueCache, DropsTheOldestAndKeepsTheOthers) {
  for (const auto positions : {Positions::rope, Positions::none}) {
    TransformerConfig config = kCachedLlama;
    config.positions = positions;
    config.block_size = 16;
    const TinyGpt model(config);
    ASSERT_TRUE(model.gpt.has_relative_positions());
    const std::vector<std::int32_t> tokens = some_tokens(70, kCachedVocabulary);
    // Read the tokens one by one.
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    KeyValueCache cache = model.gpt.cache(1);
    std::vector<std::int32_t> starts;
    std::vector<float> logits;
    for (const std::int32_t token : tokens) {
      if (cache.length() == config.block_size) {
        cache.drop_oldest(0, 5);
      }
      starts.push_back(static_cast<std::int32_t>(std::ssize(starts) - cache.length()));
      EXPECT_EQ(cache.next_position(), std::ssize(starts) - 1);
      const Tensor y = model.gpt.logits(pass, model.gpt.features(pass, tape.input<std::int32_t>({1, 1}, {token}), cache));
      logits.insert(logits.end(), y.data<float>(), y.data<float>() + y.size());
    }
    EXPECT_EQ(starts.back(), 55);
    // Read them in one pass.
    const Tensor row = tape.input<std::int32_t>({1, std::ssize(tokens)}, tokens);
    const Tensor y = model.gpt.logits(pass, model.gpt.features(pass, row, tape.input<std::int32_t>(row.shape(), starts)));
    EXPECT_LT(relative_error(logits, std::vector<float>(y.data<float>(), y.data<float>() + y.size())), 1e-5);
  }
  EXPECT_FALSE(TinyGpt(kCachedGpt).gpt.has_relative_positions()) << "learned positions";
}

void expect_copies(const TransformerConfig& config) {
  const TinyGpt model(config);
  const std::vector<std::int32_t> tokens = some_tokens(41, kCachedVocabulary);
  KeyValueCache prompt = model.gpt.cache(1), several = model.gpt.cache(3);
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  model.gpt.features(pass, tape.input<std::int32_t>({1, 40}, std::span(tokens).first(40)), prompt);
  for (const index to : {0, 2}) {
    several.copy_sequence(to, prompt, 0);
  }
  several.copy_sequence(1, several, 2);
  EXPECT_EQ(several.length(), 40);
  const auto next = [&](KeyValueCache& cache, index sequences) {
    const std::vector<std::int32_t> last(static_cast<std::size_t>(sequences), tokens.back());
    const Tensor y = model.gpt.features(pass, tape.input<std::int32_t>({sequences, 1}, last), cache);
    return std::vector<float>(y.data<float>(), y.data<float>() + y.size());
  };
  const std::vector<float> one = next(prompt, 1), three = next(several, 3);
  for (index s = 0; s < 3; ++s) {
    EXPECT_EQ(std::vector<float>(three.begin() + s * 32, three.begin() + (s + 1) * 32), one) << s;
  }
}

TEST(KeyValueCache, CopiesASequence) { expect_copies(kCachedGpt); }
TEST(KeyValueCache, CopiesASequenceOfALlama) { expect_copies(kCachedLlama); }

// A cache holds only the heads of keys: a group of three makes it three times as small.
TEST(KeyValueCache, IsAsLargeAsItsHeadsOfKeys) {
  const TinyGpt grouped(kCachedLlama);
  TransformerConfig config = kCachedLlama;
  config.n_kv_head = 6;
  const TinyGpt apart(config);
  for (const auto& [model, heads] : {std::pair<const TinyGpt*, index>{&grouped, 2}, {&apart, 6}}) {
    const KeyValueCache cache = model->gpt.cache(4);
    const auto* first = static_cast<const std::byte*>(cache.layer(0, 0).data);
    const auto* second = static_cast<const std::byte*>(cache.layer(1, 0).data);
    EXPECT_EQ(second - first, static_cast<std::ptrdiff_t>(sizeof(float)) * 4 * 150 * 2 * heads * 10);
  }
}

TEST(KeyValueCache, MayHaveMoreSequencesThanAPassAndBeginAnew) {
  const TinyGpt model(kCachedGpt);
  const std::vector<std::int32_t> tokens = some_tokens(20, kCachedVocabulary);
  KeyValueCache cache = model.gpt.cache(4);
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const auto read = [&] {
    const Tensor y = model.gpt.features(pass, tape.input<std::int32_t>({2, 10}, tokens), cache);
    return std::vector<float>(y.data<float>(), y.data<float>() + y.size());
  };
  const std::vector<float> first = read();
  cache.clear();
  EXPECT_EQ(read(), first);
  EXPECT_EQ(cache.length(), 10);
}

TEST(KeyValueCache, NamesOperandsThatDoNotFit) {
  const TinyGpt model(kCachedGpt);
  const auto reading = [&](Shape shape, index sequences, Recording recording = Recording::off) {
    KeyValueCache cache = model.gpt.cache(sequences);
    return error_of([&] {
      Tape tape(recording);
      Pass pass{.tape = tape};
      const auto tokens = some_tokens(shape.size(), kCachedVocabulary);
      model.gpt.features(pass, tape.input<std::int32_t>({1, 100}, some_tokens(100, kCachedVocabulary)), cache);
      model.gpt.features(pass, tape.input<std::int32_t>(shape, tokens), cache);
    });
  };
  EXPECT_EQ(reading({1, 50}, 1), "");
  EXPECT_TRUE(names(reading({1, 51}, 1), {"gpt", "tokens", "[1, 51]", "(B, T)", "50", "150"}));
  EXPECT_TRUE(names(reading({2, 5}, 1), {"cache", "2 sequences", "1"}));
  EXPECT_TRUE(names(reading({1, 5}, 1, Recording::on), {"attention", "cache", "gradients", "tape"}));

  KeyValueCache cache = model.gpt.cache(2), other(2, 2, 10, 32), deeper(3, 2, 150, 32);
  EXPECT_NE(error_of([&] { cache.copy_sequence(0, other, 0); }), "");
  EXPECT_NE(error_of([&] { cache.copy_sequence(2, cache, 0); }), "");
  EXPECT_NE(error_of([&] { cache.advance(1, 151); }), "");
  EXPECT_NE(error_of([&] { cache.layer(2, 0); }), "");
  EXPECT_TRUE(names(error_of([&] {
                      Tape tape(Recording::off);
                      Pass pass{.tape = tape};
                      model.gpt.features(pass, tape.input<std::int32_t>({1, 1}, some_tokens(1, kCachedVocabulary)), deeper);
                    }),
                    {"stack", "cache", "3 layers", "2"}));
}

TEST(KeyValueCache, TakesKeysAndValuesThatAreComputedAtOnce) {
  KeyValueCache cache(2, 3, 4, 5);
  Tape tape(Recording::off);
  std::vector<float> some(3 * 10);
  for (std::size_t i = 0; i < some.size(); ++i) {
    some[i] = static_cast<float>(i + 1);
  }
  cache.set_rows(1, 2, tape.input<float>({1, 3, 10}, some));
  const Tensor first = cache.rows(tape, 0), second = cache.rows(tape, 1);
  ASSERT_EQ(second.shape(), (Shape{3, 4, 10}));
  EXPECT_EQ(second.data<float>(), cache.layer(1, 0).data) << "no copy";
  EXPECT_EQ(std::vector<float>(second.data<float>() + 2 * 40, second.data<float>() + 2 * 40 + 30), some);
  const auto is_nothing = [](float x) { return x == 0; };
  EXPECT_TRUE(std::all_of(first.data<float>(), first.data<float>() + first.size(), is_nothing));
  EXPECT_TRUE(std::all_of(second.data<float>(), second.data<float>() + 2 * 40, is_nothing));

  const auto setting = [&](index layer, index sequence, Shape shape) {
    return error_of(
        [&] { cache.set_rows(layer, sequence, tape.input<float>(shape, std::vector<float>(static_cast<std::size_t>(shape.size())))); });
  };
  EXPECT_EQ(setting(1, 2, {1, 4, 10}), "");
  EXPECT_TRUE(names(setting(1, 2, {1, 5, 10}), {"cache", "keys and values", "f32 [1, 5, 10]", "4"}));
  EXPECT_TRUE(names(setting(1, 2, {1, 4, 9}), {"cache", "keys and values", "f32 [1, 4, 9]", "10"}));
  EXPECT_TRUE(names(setting(1, 2, {2, 4, 10}), {"cache", "keys and values", "f32 [2, 4, 10]", "1"}));
  EXPECT_TRUE(names(setting(2, 0, {1, 4, 10}), {"cache", "layer 2", "sequence 0", "2 layers", "3 sequences"}));
  EXPECT_TRUE(names(setting(0, 3, {1, 4, 10}), {"cache", "layer 0", "sequence 3", "2 layers", "3 sequences"}));
}

}  // namespace
}  // namespace dikkat
