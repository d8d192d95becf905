#include "autograd/ops/attention.h"

#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "autograd/tape/tape.h"
#include "tests/kernels/reference/attention.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"

namespace dikkat::attention_test {
namespace {

using testing::converted;
using testing::error_of;
using testing::names;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

struct Call {
  const char* name;
  index batch, heads, queries, keys, head_size;
  bool causal = false;
  index query_offset = 0;
  std::vector<std::int32_t> key_begin{}, key_end{};
  double dropout = 0;
  index key_heads = 0;
  bool rotary = false;

  index width() const { return heads * head_size; }
  index key_width() const { return (key_heads == 0 ? heads : key_heads) * head_size; }
  std::vector<float> q() const { return numbers(batch * queries * width(), 1, -2, 2); }
  std::vector<float> k() const { return numbers(batch * keys * key_width(), 2, -2, 2); }
  std::vector<float> v() const { return numbers(batch * keys * key_width(), 3, -2, 2); }
  std::vector<float> angles() const { return rotary ? numbers(queries * head_size, 4) : std::vector<float>{}; }

  /// T is the type that q is computed in.
  template <class T>
  AttentionOptions options(Tape& tape) const {
    const auto bound = [&](const std::vector<std::int32_t>& keys_of) {
      return keys_of.empty() ? Tensor{} : tape.input<std::int32_t>({batch, queries}, keys_of);
    };
    return {.heads = heads,
            .head_size = head_size,
            .key_heads = key_heads,
            .rotation = rotary ? tape.input<T>({queries, head_size}, converted<T>(angles())) : Tensor{},
            .causal = causal,
            .query_offset = query_offset,
            .key_begin = bound(key_begin),
            .key_end = bound(key_end),
            .dropout = dropout,
            .stream = RandomStream(1, 2, 3)};
  }
  kernels::AttentionShape shape() const {
    return {.batch = batch,
            .heads = heads,
            .queries = queries,
            .keys = keys,
            .head_size = head_size,
            .key_heads = key_heads,
            .scale = 1 / std::sqrt(static_cast<double>(head_size)),
            .causal = causal,
            .query_offset = query_offset,
            .key_begin = key_begin.empty() ? nullptr : key_begin.data(),
            .key_end = key_end.empty() ? nullptr : key_end.data(),
            .dropout = dropout,
            .stream = RandomStream(1, 2, 3)};
  }
};

/// f(b, i) for every query.
template <class F>
std::vector<std::int32_t> bounds(index batch, index queries, F&& f) {
  std::vector<std::int32_t> keys;
  for (index b = 0; b < batch; ++b) {
    for (index i = 0; i < queries; ++i) {
      keys.push_back(static_cast<std::int32_t>(f(b, i)));
    }
  }
  return keys;
}

std::vector<Call> calls() {
  const auto padding = [](index keys) { return [keys](index b, index) { return keys - 3 * b; }; };
  return {{"all keys", 2, 3, 7, 32, 16},
          {"causal", 2, 3, 70, 70, 5, true},
          {"causal, after other keys", 2, 2, 4, 69, 16, true, 65},
          {"causal, and padded", 3, 2, 20, 20, 8, true, 0, {}, bounds(3, 20, padding(20))},
          {"padded, of another text", 3, 2, 7, 65, 16, false, 0, {}, bounds(3, 7, padding(65))},
          {"fewer keys than a head is wide", 2, 2, 130, 3, 8},
          {"windows", 1, 2, 30, 30, 8, false, 0, bounds(1, 30, [](index, index i) { return i / 2; }),
           bounds(1, 30, [](index, index i) { return i / 2 + 3; })},
          {"some see nothing", 2, 1, 9, 13, 4, false, 0, {}, bounds(2, 9, [](index b, index i) { return (b + i) % 3 == 0 ? 0 : 13; })},
          {"dropped", 2, 2, 9, 21, 8, true, 12, {}, {}, 0.25},
          {"grouped", 2, 6, 9, 21, 4, true, 12, {}, {}, 0, 2},
          {"rotated", 2, 2, 20, 20, 6, true, 0, {}, {}, 0, 0, true},
          {"grouped and rotated", 2, 3, 70, 70, 10, true, 0, {}, {}, 0.25, 1, true}};
}

std::vector<float> values(Tensor x) { return {x.data<float>(), x.data<float>() + x.size()}; }

template <class T>
std::vector<T> weights_of(const Call& c) {
  Tape tape(Recording::off);
  const Tensor w = attention_weights({tape.input<T>({c.batch, c.queries, c.width()}, converted<T>(c.q()))},
                                     {tape.input<T>({c.batch, c.keys, c.key_width()}, converted<T>(c.k()))}, c.options<T>(tape));
  EXPECT_EQ(w.shape(), (Shape{c.batch, c.heads, c.queries, c.keys}));
  return {w.data<T>(), w.data<T>() + w.size()};
}

/// The weights of the plain loops: e^(score - log-sum-exp) for keys that are seen, 0 for others.
std::vector<double> reference_weights(const Call& c) {
  const kernels::AttentionShape s = c.shape();
  const auto q = converted<double>(c.q());
  const auto k = converted<double>(c.k());
  std::vector<double> y(q.size());
  std::vector<double> log2_sum(static_cast<std::size_t>(c.batch * c.heads * c.queries));
  const auto angles = converted<double>(c.angles());
  const double* rotation = c.rotary ? angles.data() : nullptr;
  const kernels::Heads<const double> keys{k.data(), c.keys * c.key_width(), c.key_width()};
  // Attention by plain loops gives the logarithms of the sums.
  const kernels::AttentionForward<double> p{.shape = s,
                                            .q = {q.data(), c.queries * c.width(), c.width()},
                                            .k = keys,
                                            .v = keys,
                                            .y = {y.data(), c.queries * c.width(), c.width()},
                                            .log2_sum = log2_sum.data(),
                                            .q_rotation = rotation,
                                            .k_rotation = rotation};
  kernels::reference::attention_forward(p);
  // The weights follow from the scores and these sums.
  std::vector<double> weights;
  for (index row = 0; row < c.batch * c.heads * c.queries; ++row) {
    const index b = row / c.queries / c.heads;
    const index h = row / c.queries % c.heads;
    const index i = row % c.queries;
    for (index j = 0; j < c.keys; ++j) {
      using kernels::reference::rotated;
      const double score = s.scale * kernels::reference::dot(c.head_size, rotated(p.q, s, b, h, i, rotation).data(),
                                                             rotated(p.k, s, b, h / s.group(), j, rotation).data());
      weights.push_back(kernels::reference::sees(s, b, i, j)
                            ? std::exp(score - log2_sum[static_cast<std::size_t>(row)] * std::numbers::ln2) *
                                  kernels::reference::kept<double>(s, b, h, i, j)
                            : 0.0);
    }
  }
  return weights;
}

template <class T>
void expect_reference_weights(double bound, double of_sums) {
  for (const Call& c : calls()) {
    SCOPED_TRACE(c.name);
    const std::vector<T> found = weights_of<T>(c);
    const std::vector<double> expected = reference_weights(c);
    EXPECT_LE(relative_error(found, expected), bound);
    for (std::size_t row = 0; row < found.size(); row += static_cast<std::size_t>(c.keys)) {
      double sum = 0;
      bool sees_any = false;
      for (std::size_t at = row; at < row + static_cast<std::size_t>(c.keys); ++at) {
        EXPECT_EQ(found[at] == 0, expected[at] == 0) << at;
        sum += static_cast<double>(found[at]);
        sees_any |= expected[at] != 0;
      }
      if (c.dropout == 0) {
        EXPECT_NEAR(sum, sees_any ? 1 : 0, of_sums) << row;
      }
    }
  }
}

TEST(AttentionWeights, EqualThePlainLoopsInDouble) { expect_reference_weights<double>(1e-13, 1e-14); }
TEST(AttentionWeights, EqualThePlainLoopsInFloat) { expect_reference_weights<float>(5e-6, 1e-6); }

TEST(AttentionWeights, AreThoseThatAttentionAppliesToValues) {
  for (const Call& c : calls()) {
    SCOPED_TRACE(c.name);
    Tape tape;
    const auto input = [&](index time, index width, const std::vector<float>& x) {
      return tape.input<double>({c.batch, time, width}, converted<double>(x));
    };
    const auto v = c.v();
    const Tensor y = attention({input(c.queries, c.width(), c.q())}, {input(c.keys, c.key_width(), c.k())},
                               {input(c.keys, c.key_width(), v)}, c.options<double>(tape));
    const auto weights = weights_of<double>(c);
    std::vector<double> expected;
    for (index at = 0; at < y.size(); ++at) {
      const index column = at % c.width();
      const index i = at / c.width() % c.queries;
      const index b = at / c.width() / c.queries;
      const index head = column / c.head_size;
      const index row = (b * c.heads + head) * c.queries + i;
      const index key_column = head / c.shape().group() * c.head_size + column % c.head_size;
      double total = 0;
      for (index j = 0; j < c.keys; ++j) {
        total += weights[static_cast<std::size_t>(row * c.keys + j)] *
                 static_cast<double>(v[static_cast<std::size_t>((b * c.keys + j) * c.key_width() + key_column)]);
      }
      expected.push_back(total);
    }
    EXPECT_LE(relative_error(std::vector<double>(y.data<double>(), y.data<double>() + y.size()), expected), 1e-13);
  }
}

TEST(AttentionWeights, AreReadFromColumnsAndHaveNoGradient) {
  const Call c = calls()[1];
  const index width = c.width();
  std::vector<float> packed;
  for (index row = 0; row < c.batch * c.queries; ++row) {
    for (const auto& x : {c.q(), c.k(), c.v()}) {
      packed.insert(packed.end(), x.begin() + row * width, x.begin() + (row + 1) * width);
    }
  }
  Tape tape;
  const Tensor qkv = tape.input<float>({c.batch, c.queries, 3 * width}, packed, true);
  const Tensor w = attention_weights({qkv, 0}, {qkv, width}, c.options<float>(tape));
  EXPECT_FALSE(w.needs_gradient());
  EXPECT_TRUE(same_bits(std::vector<float>(w.data<float>(), w.data<float>() + w.size()), weights_of<float>(c)));
}

TEST(AttentionWeights, HaveTheSameBitsOnAnyNumberOfThreads) {
  for (const Call& c : calls()) {
    const auto on = [&](int threads) {
      WithThreads with(threads, Work{0});
      return weights_of<float>(c);
    };
    const auto one = on(1);
    EXPECT_TRUE(same_bits(on(2), one)) << c.name;
    EXPECT_TRUE(same_bits(on(4), one)) << c.name;
  }
}

TEST(AttentionWeights, OfNoKeysAreNone) {
  EXPECT_TRUE(weights_of<float>({"no keys", 2, 1, 3, 0, 4}).empty());
  EXPECT_TRUE(weights_of<float>({"no queries", 2, 1, 0, 3, 4}).empty());
}

/// The errors of attention and of attention_weights, which are equal, for q and k (2, 3, 4) and (2, 5, 4).
std::string error_with(const std::function<void(Tape&, AttentionOptions&)>& change) {
  const auto error = [&](bool weights) {
    return error_of([&] {
      Tape tape;
      AttentionOptions options{.heads = 2, .head_size = 2};
      change(tape, options);
      const HeadColumns q{tape.input<float>({2, 3, 4}, numbers(24, 1))};
      const HeadColumns k{tape.input<float>({2, 5, 4}, numbers(40, 2))};
      weights ? attention_weights(q, k, options) : attention(q, k, k, options);
    });
  };
  EXPECT_EQ(error(true), error(false));
  return error(false);
}

TEST(AttentionBounds, ThatDoNotFitAreNamed) {
  for (Tensor AttentionOptions::* bound : {&AttentionOptions::key_begin, &AttentionOptions::key_end}) {
    const auto of = [bound](Shape shape, std::vector<std::int32_t> keys) {
      return error_with([=](Tape& tape, AttentionOptions& o) { o.*bound = tape.input<std::int32_t>(shape, keys); });
    };
    EXPECT_EQ(of({2, 3}, {0, 5, 1, 2, 3, 4}), "");
    EXPECT_TRUE(names(of({2, 2}, {0, 1, 2, 3}), {"attention", "key bounds", "i32 [2, 2]", "i32 [2, 3]"}));
    EXPECT_TRUE(names(of({3, 2}, {0, 1, 2, 3, 4, 5}), {"attention", "key bounds", "i32 [3, 2]", "i32 [2, 3]"}));
    EXPECT_TRUE(names(of({6}, {0, 1, 2, 3, 4, 5}), {"attention", "key bounds", "i32 [6]", "i32 [2, 3]"}));
    EXPECT_TRUE(names(of({2, 3}, {0, 1, 2, 3, 4, 6}), {"attention", "key bound", "6", "0", "5"}));
    EXPECT_TRUE(names(of({2, 3}, {0, -1, 2, 3, 4, 5}), {"attention", "key bound", "-1", "0", "5"}));
    EXPECT_TRUE(names(error_with([=](Tape& tape, AttentionOptions& o) { o.*bound = tape.input<float>({2, 3}, numbers(6, 1)); }),
                      {"attention", "key bounds", "f32 [2, 3]", "i32 [2, 3]"}));
  }
}

TEST(AttentionWeights, RefuseOperandsThatAttentionRefuses) {
  EXPECT_TRUE(names(error_with([](Tape&, AttentionOptions& o) { o.heads = 0; }), {"attention", "0 heads", "1"}));
  EXPECT_TRUE(names(error_with([](Tape&, AttentionOptions& o) { o.dropout = 1; }), {"attention", "dropout", "1", "0"}));
  EXPECT_NE(error_with([](Tape&, AttentionOptions& o) { o.head_size = 3; }), "");
}

TEST(AttentionGroups, AreAsManyAsDivideTheHeads) {
  const auto of = [](index heads, index key_heads, index key_columns) {
    return error_of([&] {
      Tape tape;
      const HeadColumns q{tape.input<float>({1, 3, heads * 2}, numbers(6 * heads, 1))};
      const HeadColumns k{tape.input<float>({1, 3, key_columns}, numbers(3 * key_columns, 2))};
      attention(q, k, k, {.heads = heads, .head_size = 2, .key_heads = key_heads});
    });
  };
  EXPECT_EQ(of(6, 3, 6), "");
  EXPECT_EQ(of(6, 1, 2), "");
  EXPECT_TRUE(names(of(6, 4, 8), {"attention", "4 heads of keys", "6"}));
  EXPECT_TRUE(names(of(6, 12, 24), {"attention", "12 heads of keys", "6"}));
  EXPECT_TRUE(names(of(6, -1, 12), {"attention", "-1 heads of keys", "6"}));
  EXPECT_TRUE(names(of(6, 3, 5), {"attention", "6 columns", "0", "[1, 3, 5]", "(batch, time, width)"}));
}

TEST(AttentionRotation, HasARowForEachQueryAndKey) {
  const auto of = [](Shape shape, index keys, index size) {
    return error_of([&] {
      Tape tape;
      const HeadColumns q{tape.input<float>({1, 3, size}, numbers(3 * size, 1))};
      const HeadColumns k{tape.input<float>({1, keys, size}, numbers(keys * size, 2))};
      attention(q, k, k, {.heads = 1, .head_size = size, .rotation = tape.input<float>(shape, numbers(shape.size(), 3))});
    });
  };
  EXPECT_EQ(of({3, 4}, 3, 4), "");
  EXPECT_TRUE(names(of({3, 4}, 5, 4), {"attention", "rotation", "[3, 4]", "3 queries", "5 keys", "4"}));
  EXPECT_TRUE(names(of({5, 4}, 3, 4), {"attention", "rotation", "[5, 4]", "3 queries", "3 keys", "4"}));
  EXPECT_TRUE(names(of({3, 2}, 3, 4), {"attention", "rotation", "[3, 2]", "3 queries", "3 keys", "4"}));
  EXPECT_TRUE(names(of({3, 5}, 3, 5), {"attention", "rotation", "[3, 5]", "3 queries", "3 keys", "5", "even"}));
  Tape tape;
  const HeadColumns x{tape.input<float>({1, 1, 2}, numbers(2, 1))};
  EXPECT_NE(error_of([&] {
              attention(x, x, x, {.heads = 1, .head_size = 2, .rotation = tape.input<double>({1, 2}, std::vector<double>{1, 0})});
            }),
            "")
      << "angles of f64 for queries of f32";
}

// Queries come in pieces, each of which sees the keys of those before it. The cache has only heads of keys, which are rotated already.
void expect_pieces_give_the_whole(index heads, index key_heads, index size, bool rotary) {
  const index width = heads * size, key_width = key_heads * size, time = 100, batch = 2;
  const auto qkv = numbers(batch * time * (width + 2 * key_width), 1, -2, 2);
  const auto angles = numbers(time * size, 2);
  for (const bool causal : {true, false}) {
    for (const index piece : {1, 2, 33, 50, 100}) {
      Tape tape(Recording::off);
      std::vector<float> memory(static_cast<std::size_t>(batch * time * 2 * key_width));
      // Compare each piece with attention over all keys so far.
      for (index at = 0; at < time; at += piece) {
        const index count = std::min(piece, time - at);
        const Tensor all = tape.input<float>({batch, time, width + 2 * key_width}, qkv);
        const Tensor rotations = tape.input<float>({time, size}, angles);
        AttentionOptions options{.heads = heads, .head_size = size, .key_heads = key_heads, .causal = causal};
        std::vector<CachedRows> sequences;
        for (index b = 0; b < batch; ++b) {
          sequences.push_back({.data = memory.data() + b * time * 2 * key_width, .max_positions = time, .length = at});
        }
        const AttentionCache cache{.sequences = sequences};
        options.cache = &cache;
        options.rotation = rotary ? slice(rotations, 0, at, count) : Tensor{};
        const Tensor found = self_attention(slice(all, 1, at, count), options);
        options.cache = nullptr;
        options.rotation = rotary ? slice(rotations, 0, 0, at + count) : Tensor{};
        const Tensor expected = slice(self_attention(slice(all, 1, 0, at + count), options), 1, at, count);
        for (index i = 0; i < found.size(); ++i) {
          ASSERT_NEAR(found.data<float>()[i], expected.data<float>()[i], 2e-6) << at << ", " << piece;
        }
      }
    }
  }
}

TEST(AttentionCache, GivesTheResultOfAllQueriesAtOnce) { expect_pieces_give_the_whole(3, 3, 5, false); }
TEST(AttentionCache, OfGroupsGivesTheResultOfAllQueriesAtOnce) { expect_pieces_give_the_whole(6, 2, 5, false); }
TEST(AttentionCache, OfRotatedKeysGivesTheResultOfAllQueriesAtOnce) { expect_pieces_give_the_whole(3, 1, 6, true); }

// Each sequence's queries follow its own keys, at its own angles, as if there were no others. With one query each, as in generation, the
// bits are equal; with several, tiles may end elsewhere.
TEST(AttentionCache, HasSequencesOfDifferentLengths) {
  constexpr index kHeads = 4, kKeyHeads = 2, kSize = 6, kMost = 100, kBatch = 3;
  constexpr index kWidth = (kHeads + 2 * kKeyHeads) * kSize, kRow = 2 * kKeyHeads * kSize;
  const std::vector<std::int32_t> lengths = {7, 0, 90};
  const auto before = numbers(kBatch * kMost * kRow, 3, -2, 2);
  for (const bool causal : {true, false}) {
    for (const index offset : {0, -1, -50}) {
      for (const index count : {1, 5, 10}) {
        SCOPED_TRACE(concat(count, " queries, ", causal, ", offset ", offset));
        const auto qkv = numbers(kBatch * count * kWidth, 1, -2, 2);
        const auto angles = numbers(kBatch * count * kSize, 2);
        const auto attend = [&](index first, index batch, std::vector<float>& memory) {
          Tape tape(Recording::off);
          const auto rows = [&](const std::vector<float>& all, index width) {
            return tape.input<float>({batch, count, width}, std::span(all).subspan(static_cast<std::size_t>(first * count * width),
                                                                                   static_cast<std::size_t>(batch * count * width)));
          };
          std::vector<CachedRows> sequences;
          for (index b = first; b < first + batch; ++b) {
            sequences.push_back(
                {.data = memory.data() + b * kMost * kRow, .max_positions = kMost, .length = lengths[static_cast<std::size_t>(b)]});
          }
          const AttentionCache cache{.sequences = sequences};
          const Tensor y = self_attention(rows(qkv, kWidth), {.heads = kHeads,
                                                              .head_size = kSize,
                                                              .key_heads = kKeyHeads,
                                                              .rotation = rows(angles, kSize),
                                                              .causal = causal,
                                                              .query_offset = offset,
                                                              .cache = &cache});
          return std::vector<float>(y.data<float>(), y.data<float>() + y.size());
        };
        // Compare the batch with its sequences one by one.
        auto together_memory = before, alone_memory = before;
        const auto together = attend(0, kBatch, together_memory);
        std::vector<float> alone;
        for (index b = 0; b < kBatch; ++b) {
          const auto own = attend(b, 1, alone_memory);
          alone.insert(alone.end(), own.begin(), own.end());
        }
        if (count == 1) {
          EXPECT_EQ(together, alone);
        } else {
          EXPECT_LE(relative_error(together, alone), 1e-6);
        }
        EXPECT_EQ(together_memory, alone_memory);
      }
    }
  }
}

// Keys and values that bf16 holds give the same bits from a cache of it, and with AttentionOptions::keys.
TEST(AttentionCache, OfNarrowNumbersLosesOnlyTheirRounding) {
  constexpr index kBatch = 2, kHeads = 4, kKeyHeads = 2, kSize = 6, kBefore = 70;
  constexpr index kWidth = (kHeads + 2 * kKeyHeads) * kSize, kRow = 2 * kKeyHeads * kSize;
  for (const index count : {1, 5, 80}) {
    auto qkv = numbers(kBatch * count * kWidth, 1, -2, 2);
    for (std::size_t i = 0; i < qkv.size(); ++i) {
      qkv[i] = static_cast<index>(i) % kWidth < kHeads * kSize ? qkv[i] : to_float(to_bf16(qkv[i]));
    }
    std::vector<bf16> narrow;
    std::vector<float> wide;
    for (const float x : numbers(kBatch * (kBefore + count) * kRow, 3, -2, 2)) {
      narrow.push_back(to_bf16(x));
      wide.push_back(to_float(narrow.back()));
    }
    Tape tape(Recording::off);
    const Tensor x = tape.input<float>({kBatch, count, kWidth}, qkv);
    const auto attend = [&](DType dtype, auto& memory) {
      std::vector<CachedRows> sequences;
      for (index b = 0; b < kBatch; ++b) {
        sequences.push_back(
            {.data = memory.data() + b * (kBefore + count) * kRow, .max_positions = kBefore + count, .length = kBefore - 3 * b});
      }
      const AttentionCache cache{.dtype = dtype, .sequences = sequences};
      const Tensor y = self_attention(x, {.heads = kHeads, .head_size = kSize, .key_heads = kKeyHeads, .causal = true, .cache = &cache});
      return std::vector<float>(y.data<float>(), y.data<float>() + y.size());
    };
    EXPECT_EQ(attend(DType::bf16, narrow), attend(DType::f32, wide)) << count;
    const AttentionOptions plain{.heads = kHeads, .head_size = kSize, .key_heads = kKeyHeads, .causal = true};
    AttentionOptions rounded = plain;
    rounded.keys = DType::bf16;
    const Tensor expected = self_attention(x, plain), found = self_attention(x, rounded);
    EXPECT_TRUE(std::equal(found.data<float>(), found.data<float>() + found.size(), expected.data<float>())) << count;
    EXPECT_TRUE(names(error_of([&] { attend(DType::f64, wide); }), {"cache", "f64", "f32"}));
  }
  Tape recording;
  AttentionOptions options{.heads = 1, .head_size = 2, .keys = DType::bf16};
  const HeadColumns x{recording.input<float>({1, 1, 2}, numbers(2, 1))};
  EXPECT_TRUE(names(error_of([&] { attention(x, x, x, options); }), {"attention", "rounded", "tape"}));
}

TEST(AttentionCache, NamesASequenceWithoutRoom) {
  Tape tape(Recording::off);
  std::vector<float> memory(2 * 8 * 4);
  const std::vector<CachedRows> sequences = {{.data = memory.data(), .max_positions = 8},
                                             {.data = memory.data() + 32, .max_positions = 8, .length = 7}};
  const AttentionCache cache{.sequences = sequences};
  const auto reading = [&](index batch, index time) {
    const HeadColumns x{tape.input<float>({batch, time, 2}, numbers(batch * time * 2, 1))};
    return error_of([&] { attention(x, x, x, {.heads = 1, .head_size = 2, .cache = &cache}); });
  };
  EXPECT_EQ(reading(2, 1), "");
  EXPECT_EQ(reading(1, 8), "");
  EXPECT_TRUE(names(reading(2, 2), {"attention", "2 keys", "cache of 8", "7"}));
  EXPECT_TRUE(names(reading(3, 1), {"attention", "3 sequences", "cache of 2"}));
}

TEST(AttentionCache, IsForNothingElse) {
  Tape tape(Recording::off);
  const std::vector<CachedRows> sequences = {{.max_positions = 1}};
  const AttentionCache cache{.sequences = sequences};
  const HeadColumns x{tape.input<float>({1, 1, 2}, numbers(2, 1))};
  AttentionOptions options{.heads = 1, .head_size = 2, .cache = &cache};
  EXPECT_TRUE(names(error_of([&] { attention_weights(x, x, options); }), {"attention", "weights", "cache"}));
  options.key_end = tape.input<std::int32_t>({1, 1}, std::vector<std::int32_t>{1});
  EXPECT_TRUE(names(error_of([&] { attention(x, x, x, options); }), {"attention", "key bounds", "cache"}));
}

// Several batches of queries may see the keys of one, as the hypotheses of a beam do: the bits are those with a copy for each.
TEST(AttentionOfSharedKeys, IsThatOfACopyForEach) {
  const std::vector<std::int32_t> rows = {1, 0, 1, 2, 1};
  const index batch = 5, heads = 4, key_heads = 2, size = 5, keys = 70, width = 2 * key_heads * size;
  const auto kv = numbers(3 * keys * width, 2, -2, 2);
  std::vector<float> copies;
  for (const std::int32_t row : rows) {
    copies.insert(copies.end(), kv.begin() + row * keys * width, kv.begin() + (row + 1) * keys * width);
  }
  for (const index queries : {1, 3, 70}) {  // each number has its own way of reading keys
    for (const int threads : {1, 3}) {
      const WithThreads with(threads, Work{0});
      Tape tape(Recording::off);
      const Tensor q = tape.input<float>({batch, queries, heads * size}, numbers(batch * queries * heads * size, 1, -2, 2));
      const auto ends = bounds(batch, queries, [&](index b, index i) { return keys - 9 * b - i % 3; });
      AttentionOptions options{
          .heads = heads, .head_size = size, .key_heads = key_heads, .key_end = tape.input<std::int32_t>({batch, queries}, ends)};
      const auto seen = [&](Tensor all) { return values(attention({q}, {all, 0}, {all, key_heads * size}, options)); };
      const auto weights = [&](Tensor all) { return values(attention_weights({q}, {all, 0}, options)); };
      const Tensor each = tape.input<float>({batch, keys, width}, copies);
      const std::vector<float> expected = seen(each), expected_weights = weights(each);
      options.key_batch = tape.input<std::int32_t>({batch}, rows);
      const Tensor shared = tape.input<float>({3, keys, width}, kv);
      EXPECT_EQ(seen(shared), expected) << queries;
      EXPECT_EQ(weights(shared), expected_weights) << queries;
    }
  }
}

TEST(AttentionOfSharedKeys, NamesOperandsThatDoNotFit) {
  const auto of = [](const std::vector<std::int32_t>& rows, Recording recording = Recording::off, bool cached = false) {
    return error_of([&] {
      Tape tape(recording);
      const std::vector<CachedRows> sequences(2, {.max_positions = 1});
      const AttentionCache cache{.sequences = sequences};
      const HeadColumns q{tape.input<float>({2, 1, 4}, numbers(8, 1))}, kv{tape.input<float>({3, 1, 4}, numbers(12, 2))};
      const Tensor key_batch = tape.input<std::int32_t>({std::ssize(rows)}, rows);
      attention(q, kv, kv, {.heads = 1, .head_size = 4, .key_batch = key_batch, .cache = cached ? &cache : nullptr});
    });
  };
  EXPECT_EQ(of({0, 2}), "");
  EXPECT_TRUE(names(of({0, 3}), {"attention", "batch 3", "keys", "0", "2"}));
  EXPECT_TRUE(names(of({-1, 0}), {"attention", "batch -1", "keys", "0", "2"}));
  EXPECT_TRUE(names(of({0}), {"attention", "batches of keys", "i32 [1]", "i32 [2]"}));
  EXPECT_TRUE(names(of({0, 1}, Recording::off, true), {"attention", "batches of keys", "i32 [2]", "no cache"}));
  EXPECT_TRUE(names(of({0, 1}, Recording::on), {"attention", "batches of keys", "gradients", "tape"}));
}

}  // namespace
}  // namespace dikkat::attention_test
