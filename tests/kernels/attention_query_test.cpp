#include "autograd/kernels/attention/attention_query.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/kernels/reference/attention.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::attention_query_test {
namespace {

using testing::converted;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

constexpr index kGap = 3;  // between rows of keys, each of which its values follow, as in a cache

template <class T>
struct Result {
  std::vector<T> y, log2_sum;
};

/// Keys and values of all batches, row after row: k | v | gap.
std::vector<float> keys_and_values(const AttentionShape& s, float range = 2) {
  return numbers(s.batch * s.keys * (2 * s.heads_of_keys() * s.head_size + kGap), 2, -range, range);
}

/// rotation: that of the queries, (head_size) or (batch, head_size), or empty.
template <class T, class F>
Result<T> run(const AttentionShape& s, const std::vector<float>& kv32, const std::vector<float>& rotation32, F&& forward) {
  const index width = s.heads * s.head_size;
  const index key_width = s.heads_of_keys() * s.head_size;
  const index row = 2 * key_width + kGap;
  const auto q = converted<T>(numbers(s.batch * width, 1, -2, 2));
  const auto rotation = converted<T>(rotation32);
  const auto kv = converted<T>(kv32);
  Result<T> r{.y = std::vector<T>(q.size(), T(9)), .log2_sum = std::vector<T>(static_cast<std::size_t>(s.batch * s.heads))};
  forward(AttentionForward<T>{.shape = s,
                              .q = {q.data(), width, width},
                              .k = {kv.data(), s.keys * row, row},
                              .v = {kv.data() + key_width, s.keys * row, row},
                              .y = {r.y.data(), width, width},
                              .log2_sum = r.log2_sum.data(),
                              .q_rotation = rotation.empty() ? nullptr : rotation.data(),
                              .q_rotation_batch_stride = std::ssize(rotation) > s.head_size ? s.head_size : 0});
  return r;
}
template <class T>
Result<T> by_kernel(const AttentionShape& s, const std::vector<float>& kv, const std::vector<float>& rotation = {}) {
  return run<T>(s, kv, rotation, [](const AttentionForward<T>& p) { attention_one_query(p); });
}
Result<double> by_reference(const AttentionShape& s, const std::vector<float>& kv, const std::vector<float>& rotation = {}) {
  return run<double>(s, kv, rotation, [](const AttentionForward<double>& p) { reference::attention_forward(p); });
}

AttentionShape one_query(index batch, index heads, index keys, index head_size) {
  AttentionShape s{};
  s.batch = batch;
  s.heads = heads;
  s.queries = 1;
  s.keys = keys;
  s.head_size = head_size;
  s.scale = 1 / std::sqrt(static_cast<double>(head_size));
  return s;
}

template <class T>
void expect_close(const Result<T>& found, const Result<double>& expected, double bound) {
  EXPECT_LE(relative_error(found.y, expected.y), bound);
  for (std::size_t i = 0; i < found.log2_sum.size(); ++i) {
    if (std::isinf(expected.log2_sum[i])) {
      EXPECT_TRUE(std::isinf(found.log2_sum[i]) && found.log2_sum[i] > 0) << "a query that sees no key";
    } else {
      EXPECT_NEAR(found.log2_sum[i] * std::numbers::ln2, expected.log2_sum[i] * std::numbers::ln2, 20 * bound);
    }
  }
}

TEST(AttentionOfOneQuery, EqualsPlainLoops) {
  for (const index head_size : {1, 5, 16, 20, 64}) {
    for (const index keys : {1, 7, 15, 16, 17, 63, 64, 65, 129, 300}) {
      for (const index heads : {1, 2, 12, 17}) {
        AttentionShape s = one_query(3, heads, keys, head_size);
        const auto kv = keys_and_values(s);
        const std::vector<std::int32_t> first = {0, static_cast<std::int32_t>(keys / 3), static_cast<std::int32_t>(keys)};
        const std::vector<std::int32_t> last = {static_cast<std::int32_t>(keys / 2), static_cast<std::int32_t>(keys), 1};
        for (int variant = 0; variant < 4; ++variant) {
          s.causal = variant % 2 == 1;
          s.query_offset = variant == 1 ? keys / 2 : variant == 3 ? keys - 1 : 0;
          s.window = variant == 3 ? keys / 3 + 1 : 0;
          s.key_begin = variant == 2 ? first.data() : nullptr;
          s.key_end = variant == 2 ? last.data() : nullptr;
          SCOPED_TRACE(::testing::Message() << heads << " of " << head_size << ", " << keys << " keys, variant " << variant);
          const auto expected = by_reference(s, kv);
          expect_close(by_kernel<double>(s, kv), expected, 1e-13);
          expect_close(by_kernel<float>(s, kv), expected, 5e-6);
        }
      }
    }
  }
}

TEST(AttentionOfOneQuery, OfKeysOfAnotherBatchEqualsPlainLoops) {
  AttentionShape s = one_query(3, 2, 70, 16);
  const std::vector<std::int32_t> of = {2, 0, 2};
  const auto kv = keys_and_values(s);
  s.key_batch = of.data();
  expect_close(by_kernel<float>(s, kv), by_reference(s, kv), 5e-6);
}

// There is one rotation for the queries of all batches, or one for each; the keys in a cache are rotated already.
TEST(AttentionOfOneQuery, WithGroupsAndARotationEqualsPlainLoops) {
  for (const index head_size : {2, 6, 20, 64}) {
    for (const index keys : {1, 16, 33, 130}) {
      for (const auto& [heads, key_heads] : {std::pair<index, index>{1, 1}, {5, 1}, {4, 2}, {9, 3}, {34, 17}}) {
        AttentionShape s = one_query(3, heads, keys, head_size);
        s.key_heads = key_heads;
        const auto kv = keys_and_values(s);
        for (const index rotations : {0, 1, 3}) {
          SCOPED_TRACE(::testing::Message() << heads << " heads, " << key_heads << " of " << keys << " keys, of " << head_size << ", "
                                            << rotations);
          const auto rotation = numbers(rotations * head_size, 3);
          const auto expected = by_reference(s, kv, rotation);
          expect_close(by_kernel<double>(s, kv, rotation), expected, 1e-13);
          expect_close(by_kernel<float>(s, kv, rotation), expected, 5e-6);
        }
      }
    }
  }
}

TEST(AttentionOfOneQuery, OfAGroupIsThatOfHeadsWithTheSameKeys) {
  constexpr index kHeads = 6, kKeyHeads = 2, kSize = 20, kKeys = 77;
  AttentionShape s = one_query(1, kHeads, kKeys, kSize);
  const AttentionShape apart = s;
  s.key_heads = kKeyHeads;
  const auto kv = keys_and_values(s);
  std::vector<float> copied;
  for (index at = 0; at < std::ssize(kv); at += 2 * kKeyHeads * kSize + kGap) {
    for (index head = 0; head < 2 * kKeyHeads; ++head) {
      for (int copy = 0; copy < kHeads / kKeyHeads; ++copy) {
        copied.insert(copied.end(), kv.begin() + at + head * kSize, kv.begin() + at + (head + 1) * kSize);
      }
    }
    copied.insert(copied.end(), kGap, 5.0F);
  }
  EXPECT_TRUE(same_bits(by_kernel<float>(s, kv).y, by_kernel<float>(apart, copied).y));
}

TEST(AttentionOfOneQuery, GivesTheSameBitsOnAnyNumberOfThreads) {
  AttentionShape s = one_query(3, 4, 500, 20);
  s.key_heads = 2;
  const auto kv = keys_and_values(s);
  const auto rotation = numbers(s.head_size, 3);
  const auto on = [&](int threads) {
    const WithThreads with(threads, Work{0});
    return by_kernel<float>(s, kv, rotation);
  };
  const auto one = on(1);
  for (const int threads : {2, 3, 4}) {
    const auto found = on(threads);
    EXPECT_TRUE(same_bits(found.y, one.y));
    EXPECT_TRUE(same_bits(found.log2_sum, one.log2_sum));
  }
}

TEST(AttentionOfOneQuery, GivesABatchTheSameBitsBesideAnyOthersAndKeysItDoesNotSee) {
  for (const std::int32_t own : {1, 31, 32, 33, 100, 150}) {
    for (const std::int32_t other : {0, 5, 150}) {
      AttentionShape all = one_query(3, 2, 150, 16);
      const std::vector<std::int32_t> last = {own, other, 77};
      all.key_end = last.data();
      const auto kv = keys_and_values(all);
      const auto together = by_kernel<float>(all, kv);
      const auto alone = by_kernel<float>(one_query(1, 2, own, 16), kv);
      EXPECT_TRUE(same_bits(alone.y, {together.y.begin(), together.y.begin() + 32})) << own << " keys beside " << other;
    }
  }
}

TEST(AttentionOfOneQuery, LargeScoresDoNotOverflow) {
  const AttentionShape s = one_query(1, 1, 200, 16);
  const auto kv = keys_and_values(s, 1000);  // scores of some 1e4: the softmax is one key
  EXPECT_LE(relative_error(by_kernel<float>(s, kv).y, by_reference(s, kv).y), 1e-2);
}

TEST(AttentionOfOneQuery, KeysThatItDoesNotSeeDoNotSpread) {
  AttentionShape s = one_query(1, 1, 70, 4);
  auto kv = keys_and_values(s);
  const std::int32_t first = 5, last = 67;
  s.key_begin = &first;
  s.key_end = &last;
  const auto clean = by_kernel<float>(s, kv);
  const std::size_t row = 2 * 4 + kGap;
  for (const std::size_t key : {std::size_t{4}, std::size_t{67}}) {
    std::fill_n(kv.begin() + static_cast<std::ptrdiff_t>(key * row), row, std::numeric_limits<float>::quiet_NaN());
  }
  EXPECT_TRUE(same_bits(by_kernel<float>(s, kv).y, clean.y));
  kv[66 * row] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(by_kernel<float>(s, kv).y[0]));
}

TEST(AttentionOfOneQuery, IsUsedByAttentionForOneQuery) {
  AttentionShape s = one_query(2, 2, 90, 20);
  const auto kv = keys_and_values(s);
  const auto found = run<float>(s, kv, {}, [](const AttentionForward<float>& p) { attention_forward(p); });
  EXPECT_TRUE(same_bits(found.y, by_kernel<float>(s, kv).y));
  EXPECT_TRUE(is_one_query(s));
  s.dropout = 0.1;
  EXPECT_FALSE(is_one_query(s));
  s.dropout = 0;
  s.queries = 2;
  EXPECT_FALSE(is_one_query(s));
}

}  // namespace
}  // namespace dikkat::kernels::attention_query_test
