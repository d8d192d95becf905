#include "autograd/kernels/attention/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "tests/kernels/reference/attention.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::attention_test {
namespace {

using testing::converted;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T, class Sum = T>
struct Result {
  std::vector<T> y;
  std::vector<Sum> log2_sum;
  std::vector<T> dq, dk, dv;
};

/// Numbers that rotate queries and keys, (queries, D) and (keys, D); empty: none. Any numbers will do, not only cosines and sines.
struct Rotations {
  std::vector<float> q{}, k{};
};

/// Forward and backward of separate tensors (B, T, H D).
template <class T, class Sum = T, class Forward, class Backward>
Result<T, Sum> run(const AttentionShape& s, const std::vector<float>& q32, const std::vector<float>& k32, const std::vector<float>& v32,
                   const Rotations& rotations, Forward&& forward, Backward&& backward) {
  const index width = s.heads * s.head_size;
  const index key_width = s.heads_of_keys() * s.head_size;
  const auto q = converted<T>(q32);
  const auto k = converted<T>(k32);
  const auto v = converted<T>(v32);
  const auto dy = converted<T>(numbers(s.batch * s.queries * width, 14));
  const auto q_rotation = converted<Sum>(rotations.q);
  const auto k_rotation = converted<Sum>(rotations.k);
  Result<T, Sum> r{.y = std::vector<T>(q.size(), T(9)),
                   .log2_sum = std::vector<Sum>(static_cast<std::size_t>(s.batch * s.heads * s.queries)),
                   .dq = std::vector<T>(q.size()),
                   .dk = std::vector<T>(k.size()),
                   .dv = std::vector<T>(v.size())};
  const auto at_q = [&](auto* data) { return Heads<std::remove_pointer_t<decltype(data)>>{data, s.queries * width, width}; };
  const auto at_k = [&](auto* data) { return Heads<std::remove_pointer_t<decltype(data)>>{data, s.keys * key_width, key_width}; };
  const auto angles = [](const std::vector<Sum>& rotation) { return rotation.empty() ? nullptr : rotation.data(); };
  forward(AttentionForward<T, Sum>{.shape = s,
                                   .q = at_q(q.data()),
                                   .k = at_k(k.data()),
                                   .v = at_k(v.data()),
                                   .y = at_q(r.y.data()),
                                   .log2_sum = r.log2_sum.data(),
                                   .q_rotation = angles(q_rotation),
                                   .k_rotation = angles(k_rotation)});
  backward(AttentionBackward<T, Sum>{.shape = s,
                                     .q = at_q(q.data()),
                                     .k = at_k(k.data()),
                                     .v = at_k(v.data()),
                                     .y = at_q(std::as_const(r.y).data()),
                                     .dy = at_q(dy.data()),
                                     .log2_sum = r.log2_sum.data(),
                                     .dq = {at_q(r.dq.data())},
                                     .dk = {at_k(r.dk.data())},
                                     .dv = {at_k(r.dv.data())},
                                     .q_rotation = angles(q_rotation),
                                     .k_rotation = angles(k_rotation)});
  return r;
}
template <class T, class Sum = T>
Result<T, Sum> by_kernel(const AttentionShape& s, const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                         const Rotations& rotations = {}) {
  return run<T, Sum>(
      s, q, k, v, rotations, [](const AttentionForward<T, Sum>& p) { attention_forward(p); },
      [](const AttentionBackward<T, Sum>& p) { attention_backward(p); });
}
Result<double> by_reference(const AttentionShape& s, const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                            const Rotations& rotations = {}) {
  return run<double>(
      s, q, k, v, rotations, [](const AttentionForward<double>& p) { reference::attention_forward(p); },
      [](const AttentionBackward<double>& p) { reference::attention_backward(p); });
}

struct Inputs {
  std::vector<float> q, k, v;
  explicit Inputs(const AttentionShape& s, float range = 2)
      : q(numbers(s.batch * s.queries * s.heads * s.head_size, 11, -range, range)),
        k(numbers(s.batch * s.keys * s.heads_of_keys() * s.head_size, 12, -range, range)),
        v(numbers(s.batch * s.keys * s.heads_of_keys() * s.head_size, 13)) {}
};

/// Gradients count as 0.1 at least. Those of a query that sees one key should be zero, and their computed values are roundings of numbers
/// of up to 5.
template <class T, class Sum>
void expect_close(const Result<T, Sum>& found, const Result<double>& expected, double bound) {
  EXPECT_LE(relative_error(found.y, expected.y), bound);
  EXPECT_LE(relative_error(found.dq, expected.dq, 0.1), bound);
  EXPECT_LE(relative_error(found.dk, expected.dk, 0.1), bound);
  EXPECT_LE(relative_error(found.dv, expected.dv, 0.1), bound);
  for (std::size_t i = 0; i < found.log2_sum.size(); ++i) {
    if (std::isinf(expected.log2_sum[i])) {
      EXPECT_TRUE(std::isinf(found.log2_sum[i]) && found.log2_sum[i] > 0) << "a query that sees no key";
    } else {
      EXPECT_NEAR(found.log2_sum[i] * std::numbers::ln2, expected.log2_sum[i] * std::numbers::ln2, 20 * bound);
    }
  }
}

TEST(AttentionKernel, EqualsPlainLoops) {
  for (const index head_size : {1, 5, 16, 20, 64}) {
    for (const auto& [queries, keys] : {std::pair<index, index>{1, 1}, {7, 65}, {63, 15}, {64, 64}, {65, 129}, {130, 64}}) {
      AttentionShape s{};
      s.batch = 2;
      s.heads = 2;
      s.queries = queries;
      s.keys = keys;
      s.head_size = head_size;
      s.scale = 1 / std::sqrt(static_cast<double>(head_size));
      s.stream = RandomStream(1, 2, 3);
      std::vector<std::int32_t> first;
      std::vector<std::int32_t> last;
      for (index i = 0; i < s.batch * queries; ++i) {  // some empty, some upside down
        first.push_back(static_cast<std::int32_t>(i * 7 % (keys + 1)));
        last.push_back(static_cast<std::int32_t>(i * 11 % (keys + 1)));
      }
      for (int variant = static_cast<int>((queries + head_size) % 2); variant < 4; variant += 2) {
        s.causal = variant % 2 == 1;
        s.query_offset = variant == 3 ? keys - queries : 0;
        s.key_begin = variant == 2 ? first.data() : nullptr;
        s.key_end = variant >= 2 ? last.data() : nullptr;
        s.dropout = variant >= 2 ? 0.25 : 0;
        SCOPED_TRACE(concat(queries, " by ", keys, " of ", head_size, ", variant ", variant));
        const Inputs in(s);
        const auto expected = by_reference(s, in.q, in.k, in.v);
        expect_close(by_kernel<double>(s, in.q, in.k, in.v), expected, 1e-13);
        expect_close(by_kernel<float>(s, in.q, in.k, in.v), expected, 5e-6);
        expect_close(by_kernel<float, double>(s, in.q, in.k, in.v), expected, 3e-7);  // sums in f64: only the tensors are rounded
      }
    }
  }
}

// Six chunks of keys add to each block of queries, in an order that must not depend on which of them is faster.
TEST(AttentionKernel, SameBitsOnAnyNumberOfThreads) {
  constexpr index kTime = 700;
  std::vector<std::int32_t> first, last;
  for (index i = 0; i < kTime; ++i) {
    first.push_back(static_cast<std::int32_t>(i * 37 % kTime / 2));
    last.push_back(static_cast<std::int32_t>(kTime - i * 53 % kTime / 3));
  }
  for (const int variant : {0, 1, 2, 3}) {
    const AttentionShape s{.batch = 1,
                           .heads = 2,
                           .queries = kTime,
                           .keys = kTime,
                           .head_size = 16,
                           .causal = variant % 2 == 1,
                           .window = variant == 3 ? 100 : 0,
                           .key_begin = variant == 2 ? first.data() : nullptr,
                           .key_end = variant == 2 ? last.data() : nullptr,
                           .dropout = variant == 2 ? 0.25 : 0};
    const Inputs in(s);
    const auto alone = [&] {
      const WithThreads one(1);
      return by_kernel<float>(s, in.q, in.k, in.v);
    }();
    for (const int threads : {2, 3, 4}) {
      const WithThreads with(threads);
      for (int again = 0; again < 5; ++again) {
        SCOPED_TRACE(concat("variant ", variant, ", ", threads, " threads"));
        const auto found = by_kernel<float>(s, in.q, in.k, in.v);
        EXPECT_TRUE(same_bits(found.y, alone.y));
        EXPECT_TRUE(same_bits(found.dq, alone.dq));
        EXPECT_TRUE(same_bits(found.dk, alone.dk));
        EXPECT_TRUE(same_bits(found.dv, alone.dv));
      }
    }
  }
}

/// The rotations of these tensors, for both, one or none of queries and keys.
Rotations rotations_of(const AttentionShape& s, bool of_queries, bool of_keys) {
  return {of_queries ? numbers(s.queries * s.head_size, 15) : std::vector<float>{},
          of_keys ? numbers(s.keys * s.head_size, 16) : std::vector<float>{}};
}

// With 300 keys, backward has three chunks, and with 130 queries, three blocks. One query without rotated keys uses the kernel for
// sampling. An odd half of a head, 3 of 6 or 5 of 10, begins in the middle of a vector.
TEST(AttentionKernel, WithGroupsAndRotationsEqualsPlainLoops) {
  int variant = 0;
  for (const auto& [heads, key_heads] : {std::pair<index, index>{1, 1}, {2, 1}, {3, 1}, {4, 2}, {6, 2}}) {
    for (const auto& [queries, keys, head_size] :
         {std::array<index, 3>{1, 1, 2}, {1, 65, 6}, {7, 65, 10}, {64, 64, 16}, {65, 129, 36}, {33, 40, 64}, {130, 300, 6}}) {
      ++variant;
      const AttentionShape s{.batch = queries > 100 ? 1 : 2,
                             .heads = heads,
                             .queries = queries,
                             .keys = keys,
                             .head_size = head_size,
                             .key_heads = key_heads,
                             .scale = 1 / std::sqrt(static_cast<double>(head_size)),
                             .causal = variant % 3 == 1,
                             .query_offset = keys - queries,
                             .dropout = variant % 4 == 1 ? 0.25 : 0,
                             .stream = RandomStream(1, 2, 3)};
      const Rotations rotations = rotations_of(s, variant % 5 != 0, variant % 5 != 1);
      SCOPED_TRACE(concat(heads, " heads, ", key_heads, " of keys, ", queries, " by ", keys, " of ", head_size, ", variant ", variant));
      const Inputs in(s);
      const auto expected = by_reference(s, in.q, in.k, in.v, rotations);
      expect_close(by_kernel<double>(s, in.q, in.k, in.v, rotations), expected, 1e-13);
      expect_close(by_kernel<float>(s, in.q, in.k, in.v, rotations), expected, 5e-6);
      expect_close(by_kernel<float, double>(s, in.q, in.k, in.v, rotations), expected, 1e-6);
    }
  }
}

// Windows end within a panel of queries, at its edge, within a tile, at its edge and beyond all keys. Some have key bounds besides.
TEST(AttentionKernel, WithAWindowEqualsPlainLoops) {
  int variant = 0;
  for (const index window : {1, 2, 15, 16, 17, 64, 65, 100, 400}) {
    for (const auto& [queries, keys] : {std::pair<index, index>{1, 90}, {7, 65}, {64, 64}, {70, 200}, {140, 140}, {200, 200}}) {
      ++variant;
      std::vector<std::int32_t> first;
      for (index i = 0; i < 2 * queries; ++i) {
        first.push_back(static_cast<std::int32_t>(i * 7 % (keys + 1)));
      }
      const AttentionShape s{.batch = queries > 100 ? 1 : 2,
                             .heads = 4,
                             .queries = queries,
                             .keys = keys,
                             .head_size = 6,
                             .key_heads = variant % 2 == 0 ? 2 : 4,
                             .scale = 0.4,
                             .causal = true,
                             .query_offset = variant % 7 == 6 ? 0 : keys - queries,
                             .window = window,
                             .key_begin = variant % 5 == 4 ? first.data() : nullptr,
                             .dropout = variant % 4 == 3 ? 0.25 : 0,
                             .stream = RandomStream(1, 2, 3)};
      SCOPED_TRACE(concat("a window of ", window, ", ", queries, " by ", keys, ", variant ", variant));
      const Rotations rotations = rotations_of(s, variant % 3 != 0, variant % 3 != 0);
      const Inputs in(s);
      const auto expected = by_reference(s, in.q, in.k, in.v, rotations);
      expect_close(by_kernel<double>(s, in.q, in.k, in.v, rotations), expected, 1e-13);
      expect_close(by_kernel<float>(s, in.q, in.k, in.v, rotations), expected, 5e-6);
    }
  }
}

TEST(AttentionKernel, AWindowThatHoldsAllKeysChangesNoBit) {
  AttentionShape s{.batch = 2, .heads = 2, .queries = 300, .keys = 300, .head_size = 16, .scale = 0.25, .causal = true};
  const Inputs in(s);
  const auto all = by_kernel<float>(s, in.q, in.k, in.v);
  s.window = 300;
  const auto found = by_kernel<float>(s, in.q, in.k, in.v);
  EXPECT_TRUE(same_bits(found.y, all.y));
  EXPECT_TRUE(same_bits(found.dq, all.dq));
  EXPECT_TRUE(same_bits(found.dk, all.dk));
  EXPECT_TRUE(same_bits(found.dv, all.dv));
  s.window = 299;
  EXPECT_FALSE(same_bits(by_kernel<float>(s, in.q, in.k, in.v).y, all.y));
}

// Blocks of keys before every window are not read: not even numbers that would spread change anything.
TEST(AttentionKernel, DoesNotReadBlocksOutsideOfTheWindow) {
  constexpr index kKeys = 1100, kFirst = 896;  // the block of key 1000 - 99
  const AttentionShape s{.batch = 1,
                         .heads = 2,
                         .queries = 100,
                         .keys = kKeys,
                         .head_size = 4,
                         .key_heads = 1,
                         .scale = 0.5,
                         .causal = true,
                         .query_offset = 1000,
                         .window = 100};
  const Inputs in(s);
  Inputs spoilt(s);
  for (auto* rows : {&spoilt.k, &spoilt.v}) {
    std::fill_n(rows->begin(), kFirst * s.head_size, std::numeric_limits<float>::quiet_NaN());
  }
  const auto expected = by_kernel<float>(s, in.q, in.k, in.v), found = by_kernel<float>(s, spoilt.q, spoilt.k, spoilt.v);
  EXPECT_TRUE(same_bits(found.y, expected.y));
  EXPECT_TRUE(same_bits(found.dq, expected.dq));
  EXPECT_TRUE(std::all_of(found.dk.begin(), found.dk.begin() + kFirst * s.head_size, [](float d) { return d == 0; }));
}

TEST(AttentionKernel, MayRotateTheQueriesOfEachBatchByAnglesOfItsOwn) {
  const AttentionShape s{.batch = 3, .heads = 2, .queries = 70, .keys = 90, .head_size = 10, .scale = 0.3};
  const Inputs in(s);
  const auto rotation = numbers(s.batch * s.queries * s.head_size, 15);
  const index width = s.heads * s.head_size;
  const auto forward = [&](auto&& attention) {
    std::vector<float> y(in.q.size()), log2_sum(static_cast<std::size_t>(s.batch * s.heads * s.queries));
    attention(AttentionForward<float>{.shape = s,
                                      .q = {in.q.data(), s.queries * width, width},
                                      .k = {in.k.data(), s.keys * width, width},
                                      .v = {in.v.data(), s.keys * width, width},
                                      .y = {y.data(), s.queries * width, width},
                                      .log2_sum = log2_sum.data(),
                                      .q_rotation = rotation.data(),
                                      .q_rotation_batch_stride = s.queries * s.head_size});
    return y;
  };
  const auto found = forward([](const AttentionForward<float>& p) { attention_forward(p); });
  const auto expected = forward([](const AttentionForward<float>& p) { reference::attention_forward(p); });
  EXPECT_LE(relative_error(found, expected), 5e-6);
}

/// Columns of head h of `heads` from rows of all of them.
std::vector<float> head_of(const std::vector<float>& rows, index heads, index size, index h) {
  std::vector<float> columns;
  for (auto row = rows.begin() + h * size; row < rows.end(); row += heads * size) {
    columns.insert(columns.end(), row, row + size);
    if (rows.end() - row <= heads * size) {
      break;
    }
  }
  return columns;
}

// The results must be those of heads with copies of the keys, bit by bit. dk and dv must be the sums of theirs in the order of heads. The
// scale is a power of two, so the sum may be scaled before or after the addition.
TEST(AttentionKernel, AGroupIsHeadsWithTheSameKeysAndAddsTheirGradientsInOrder) {
  constexpr index kGroup = 4, kKeyHeads = 2, kHeads = kGroup * kKeyHeads, kSize = 12, kTime = 150;
  const AttentionShape grouped{.batch = 2,
                               .heads = kHeads,
                               .queries = kTime,
                               .keys = kTime,
                               .head_size = kSize,
                               .key_heads = kKeyHeads,
                               .scale = 0.25,
                               .causal = true};
  AttentionShape apart = grouped;
  apart.key_heads = kHeads;
  const Inputs in(grouped);
  const auto copied = [](const std::vector<float>& rows) {  // each head kGroup times
    std::vector<float> wide;
    for (std::size_t at = 0; at < rows.size(); at += kSize) {
      for (int copy = 0; copy < kGroup; ++copy) {
        wide.insert(wide.end(), rows.begin() + static_cast<std::ptrdiff_t>(at), rows.begin() + static_cast<std::ptrdiff_t>(at + kSize));
      }
    }
    return wide;
  };
  // Compare the outputs and dq with those of separate heads.
  const auto found = by_kernel<float>(grouped, in.q, in.k, in.v);
  const auto expected = by_kernel<float>(apart, in.q, copied(in.k), copied(in.v));
  EXPECT_TRUE(same_bits(found.y, expected.y));
  EXPECT_TRUE(same_bits(found.log2_sum, expected.log2_sum));
  EXPECT_TRUE(same_bits(found.dq, expected.dq));
  // dk and dv must be sums over the heads of a group.
  const auto expect_sums = [&](const std::vector<float>& sums, const std::vector<float>& parts) {
    for (index key_head = 0; key_head < kKeyHeads; ++key_head) {
      std::vector<float> total = head_of(parts, kHeads, kSize, key_head * kGroup);
      for (index h = key_head * kGroup + 1; h < (key_head + 1) * kGroup; ++h) {
        const std::vector<float> part = head_of(parts, kHeads, kSize, h);
        std::transform(total.begin(), total.end(), part.begin(), total.begin(), std::plus<>());
      }
      EXPECT_TRUE(same_bits(head_of(sums, kKeyHeads, kSize, key_head), total)) << "head of keys " << key_head;
    }
  };
  expect_sums(found.dk, expected.dk);
  expect_sums(found.dv, expected.dv);
}

// Heads of a group add to one dk and dv, and three chunks of keys to one dq. Neither order may depend on which task is faster.
TEST(AttentionKernel, GroupsHaveTheSameBitsOnAnyNumberOfThreads) {
  for (const auto& [heads, key_heads, time] : {std::array<index, 3>{8, 1, 300}, {6, 2, 300}, {8, 2, 100}}) {
    const AttentionShape s{.batch = 2,
                           .heads = heads,
                           .queries = time,
                           .keys = time,
                           .head_size = 16,
                           .key_heads = key_heads,
                           .causal = true,
                           .dropout = heads == 6 ? 0.25 : 0,
                           .stream = RandomStream(1, 2, 3)};
    const Inputs in(s);
    const Rotations rotations = rotations_of(s, true, true);
    const auto on = [&](int threads) {
      const WithThreads with(threads, Work{0});
      return by_kernel<float>(s, in.q, in.k, in.v, rotations);
    };
    const auto alone = on(1);
    for (const int threads : {2, 3, 4}) {
      for (int again = 0; again < 5; ++again) {
        SCOPED_TRACE(concat(heads, " heads, ", key_heads, " of keys, ", threads, " threads"));
        const auto found = on(threads);
        EXPECT_TRUE(same_bits(found.y, alone.y));
        EXPECT_TRUE(same_bits(found.dq, alone.dq));
        EXPECT_TRUE(same_bits(found.dk, alone.dk));
        EXPECT_TRUE(same_bits(found.dv, alone.dv));
      }
    }
  }
}

// Earlier gradients are added to once, by the last head of a group.
TEST(AttentionKernel, GroupsAddToEarlierGradients) {
  const AttentionShape s{.batch = 1, .heads = 3, .queries = 140, .keys = 140, .head_size = 6, .key_heads = 1, .scale = 0.5, .causal = true};
  const Inputs in(s);
  const Rotations rotations = rotations_of(s, true, true);
  const auto expected = by_kernel<double>(s, in.q, in.k, in.v, rotations);
  const auto added = run<double>(
      s, in.q, in.k, in.v, rotations, [](const AttentionForward<double>& p) { attention_forward(p); },
      [](AttentionBackward<double> p) {
        for (HeadsOut<double>* out : {&p.dq, &p.dk, &p.dv}) {
          out->add = true;
          std::fill_n(out->at.data, p.shape.queries * out->at.row_stride, 7.0);
        }
        attention_backward(p);
      });
  const auto expect_added = [](const std::vector<double>& found, std::vector<double> plain) {
    for (double& value : plain) {
      value += 7;
    }
    EXPECT_LE(relative_error(found, plain), 1e-14);
  };
  expect_added(added.dq, expected.dq);
  expect_added(added.dk, expected.dk);
  expect_added(added.dv, expected.dv);
}

TEST(AttentionKernel, RotatesHeadsRowByRow) {
  constexpr index kRows = 5, kHeads = 3, kSize = 10, kStride = kHeads * kSize + 4;
  const auto from = converted<double>(numbers(kRows * kStride, 1));
  const auto angles = converted<double>(numbers(kRows * kSize, 2));
  std::vector<double> to(static_cast<std::size_t>(kRows * (kStride + 3)), 9.0);
  rotate_heads<double>({.rows = kRows,
                        .heads = kHeads,
                        .head_size = kSize,
                        .from = from.data(),
                        .from_stride = kStride,
                        .rotation = angles.data(),
                        .to = to.data(),
                        .to_stride = kStride + 3});
  const AttentionShape s{.batch = 1, .heads = kHeads, .queries = kRows, .keys = kRows, .head_size = kSize};
  for (index row = 0; row < kRows; ++row) {
    for (index h = 0; h < kHeads; ++h) {
      const auto expected = reference::rotated<double>({from.data(), 0, kStride}, s, 0, h, row, angles.data());
      for (index d = 0; d < kSize; ++d) {
        EXPECT_NEAR(to[static_cast<std::size_t>(row * (kStride + 3) + h * kSize + d)], expected[static_cast<std::size_t>(d)], 1e-15);
      }
    }
    EXPECT_EQ(to[static_cast<std::size_t>(row * (kStride + 3) + kHeads * kSize)], 9) << "nothing is written past the heads";
  }
}

AttentionShape square(index time, index head_size) {
  AttentionShape s{};
  s.batch = s.heads = 1;
  s.queries = s.keys = time;
  s.head_size = head_size;
  return s;
}

TEST(AttentionKernel, LargeScoresDoNotOverflow) {
  AttentionShape s = square(70, 16);
  const Inputs in(s, 100);  // scores of some 1e4: the softmax is one key
  const auto found = by_kernel<float>(s, in.q, in.k, in.v);
  const auto expected = by_reference(s, in.q, in.k, in.v);
  EXPECT_LE(relative_error(found.y, expected.y), 1e-3) << "scores of 1e5 have an absolute error of some 0.01 in f32";
  for (const auto* values : {&found.dq, &found.dk, &found.dv}) {
    for (const float value : *values) {
      EXPECT_TRUE(std::isfinite(value));
    }
  }
}

TEST(AttentionKernel, NotANumberSpreadsToTheQueriesThatSeeIt) {
  AttentionShape s = square(70, 4);
  s.causal = true;
  Inputs in(s);
  in.k[40 * 4] = std::numeric_limits<float>::quiet_NaN();
  const auto found = by_kernel<float>(s, in.q, in.k, in.v);
  for (std::size_t i = 0; i < 70; ++i) {
    EXPECT_EQ(std::isnan(found.y[i * 4]), i >= 40) << i;
  }
}

TEST(AttentionKernel, AnInfiniteScoreIsNotANumberAndMinusInfinityIsNotSeen) {
  AttentionShape s = square(3, 1);
  const auto at = [&](float score) { return by_kernel<float>(s, {1, 1, 1}, {0, score, 0}, {1, 5, 3}).y[0]; };
  EXPECT_TRUE(std::isnan(at(kInfinity))) << "infinity over infinity";
  EXPECT_FLOAT_EQ(at(-kInfinity), 2) << "the mean of the other two";
  EXPECT_FLOAT_EQ(at(1e30F), 5);
  EXPECT_FLOAT_EQ(at(-1e30F), 2);
}

TEST(AttentionKernel, QueriesThatSeeNoKeyGiveZeroAndPassNothingBack) {
  AttentionShape s = square(66, 5);
  std::vector<std::int32_t> first(66, 0);
  std::vector<std::int32_t> last(66, 66);
  for (std::size_t i = 0; i < last.size(); i += 2) {
    first[i] = last[i] = static_cast<std::int32_t>(i);
  }
  s.key_begin = first.data();
  s.key_end = last.data();
  const Inputs in(s);
  const auto found = by_kernel<float>(s, in.q, in.k, in.v);
  for (std::size_t i = 0; i < 66; ++i) {
    for (std::size_t d = 0; d < 5; ++d) {
      EXPECT_EQ(found.y[i * 5 + d] == 0, i % 2 == 0);
      EXPECT_EQ(found.dq[i * 5 + d] == 0, i % 2 == 0);
    }
  }
  std::fill(last.begin(), last.end(), 0);
  const auto blind = by_kernel<float>(s, in.q, in.k, in.v);
  for (const auto* values : {&blind.y, &blind.dq, &blind.dk, &blind.dv}) {
    EXPECT_TRUE(same_bits(*values, std::vector<float>(values->size()))) << "all zero";
  }
}

// One batch is cut in two: first_batch gives the position of the second half.
TEST(AttentionKernel, DropoutOfAPartIsPartOfTheWhole) {
  AttentionShape s = square(9, 4);
  s.batch = 3;
  s.dropout = 0.5;
  s.stream = RandomStream(4, 5, 6);
  const Inputs in(s);
  const auto whole = by_kernel<float>(s, in.q, in.k, in.v);
  s.batch = 1;
  s.first_batch = 2;
  const auto third = [](const std::vector<float>& all) { return std::vector<float>(all.begin() + 72, all.end()); };
  const auto part = by_kernel<float>(s, third(in.q), third(in.k), third(in.v));
  EXPECT_TRUE(same_bits(part.y, third(whole.y)));
}

TEST(AttentionKernel, NothingSeenInAnEmptyBatch) {
  AttentionShape s = square(0, 4);
  EXPECT_TRUE(by_kernel<float>(s, {}, {}, {}).y.empty());
  s.queries = 3;
  const auto no_keys = by_kernel<float>(s, numbers(12, 1), {}, {});
  EXPECT_TRUE(same_bits(no_keys.y, std::vector<float>(12)));
  EXPECT_TRUE(same_bits(no_keys.dq, std::vector<float>(12)));
}

}  // namespace
}  // namespace dikkat::kernels::attention_test
