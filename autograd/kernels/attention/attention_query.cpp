#include "autograd/kernels/attention/attention_query.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/reduce/lane_sums.h"
#include "autograd/simd/exp.h"

namespace dikkat::kernels {
namespace {

using simd::kLanes;
using simd::Vec;

constexpr index kGroup = 32;  // keys of a task

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

/// Partial results: those of one group of keys for the query of one batch. The memory is the caller's.
template <class T>
struct Parts {
  Parts(const AttentionShape& s, index count)
      : heads(s.heads),
        width(round_up(s.heads * s.head_size, kLanes<T>)),
        padded(round_up(s.heads, kLanes<T>)),
        memory(count * (width + 2 * padded)) {}

  T* y(index i) const { return memory + i * (width + 2 * padded); }  // (heads, head_size), not yet divided by the totals
  T* highest(index i) const { return y(i) + width; }                 // (heads): highest score
  T* total(index i) const { return highest(i) + padded; }            // (heads): sum of 2^(score - highest)

  index heads, width, padded;
  Scratch<T> memory;
};

/// The keys that the query of a batch sees.
struct Interval {
  index first, last;
  Interval(const AttentionShape& s, index b) : first(s.first_of(b, 0)), last(s.last_of(b, 0)) {}
};

/// The groups that hold the keys which each batch sees, one batch after another; at least one for each batch.
struct Groups {
  explicit Groups(const AttentionShape& s) : batch(s.batch), ends(s.batch) {
    index count = 0;
    for (index b = 0; b < batch; ++b) {
      const Interval see(s, b);
      keys += std::max<index>(see.last - see.first, 0);
      count += std::max<index>(ceil_div(see.last, kGroup) - see.first / kGroup, 1);
      ends[b] = count;
    }
  }

  index begin(index b) const { return b == 0 ? 0 : ends[b - 1]; }
  index end(index b) const { return ends[b]; }
  index count() const { return begin(batch); }
  index batch_of(index group) const { return std::upper_bound(ends.data(), ends.data() + batch, group) - ends.data(); }

  index batch;
  index keys = 0;  // keys that all batches see together
  Scratch<index> ends;
};

/// Returns the scores, in base 2, of `count` keys (up to kLanes); -inf in the other lanes. Prefetches their values, which begin at v.
template <class T, class Key>
Vec<T> scores_of(const AttentionShape& s, const T* q, const Key* k, const Key* v, index stride, index count) {
  constexpr int kIntoL2 = 2;
  Vec<T> sums[kLanes<T>] = {};
  const Key* rows[kLanes<T>];
  const index to_values = simd::elements_between(k, v);
  for (index j = 0; j < kLanes<T>; ++j) {
    rows[j] = k + std::min(j, count - 1) * stride;
  }
  simd::for_vectors<T>(0, s.head_size, [&](index d, auto lanes) {
    const Vec<T> factor = simd::load(q + d, lanes);
#pragma GCC unroll 16
    for (index j = 0; j < kLanes<T>; ++j) {
      sums[j] += factor * simd::load_as<T>(rows[j] + d, lanes);
      simd::prefetch<kIntoL2>(rows[j] + d, to_values);
      simd::prefetch<kIntoL2>(rows[j] + d, kLanes<T> * stride);  // the next keys
    }
  });
  Vec<T> scores = lane_sums<T>(sums) * static_cast<T>(s.scale * std::numbers::log2e);
  for (index j = count; j < kLanes<T>; ++j) {
    scores[j] = -kInfinity<T>;
  }
  return scores;
}

/// Computes the part of keys begin to end of a batch, for all heads. q: the queries of its heads.
template <class T, class Key>
void one_group(const AttentionForward<T, T, Key>& p, const T* q, index b, index begin, index end, const Parts<T>& parts, index part) {
  const AttentionShape& s = p.shape;
  const index size = s.head_size;
  T* highest = parts.highest(part);
  T* total = parts.total(part);
  std::fill_n(parts.y(part), parts.width, T(0));
  std::fill_n(highest, parts.padded, -kInfinity<T>);
  std::fill_n(total, parts.padded, T(0));
  // The online softmax continues over groups of kLanes keys.
  for (index key = begin; key < end; key += kLanes<T>) {
    const index count = std::min(kLanes<T>, end - key);
    const Key* k = p.k.of(s.keys_of(b)) + key * p.k.row_stride;
    const Key* v = p.v.of(s.keys_of(b)) + key * p.v.row_stride;
    for (index h = 0; h < s.heads; ++h) {
      const index of_keys = h / s.group() * size;
      const Vec<T> scores = scores_of(s, q + h * size, k + of_keys, v + of_keys, p.k.row_stride, count);
      const T top = std::max(highest[h], simd::max<T>(scores));
      const T base = top == -kInfinity<T> ? T(0) : top;  // no key seen so far: 2^(-inf - 0) = 0
      // The factor corrects the sums so far for the new highest score.
      const Vec<T> weights = simd::exp2_of_negative(scores - base);
      const T factor = simd::exp2_of_negative(simd::broadcast(highest[h] - base))[0];
      highest[h] = top;
      total[h] = total[h] * factor + simd::sum<T>(weights);
      T w[kLanes<T>];
      simd::store(w, weights);
      simd::for_vectors<T>(h * size, (h + 1) * size, [&](index d, auto lanes) {
        T* y = parts.y(part) + d;
        Vec<T> mixed = factor * simd::load(y, lanes);
        for (index j = 0; j < count; ++j) {
          mixed += w[j] * simd::load_as<T>(v + j * p.v.row_stride + d - h * size + of_keys, lanes);
        }
        simd::store(y, mixed, lanes);
      });
    }
  }
}

/// Adds the parts of a batch, `first` to `last` - 1, in this order.
template <class T, class Key>
void add_parts(const AttentionForward<T, T, Key>& p, index b, const Parts<T>& parts, index first, index last) {
  const AttentionShape& s = p.shape;
  T* y = p.y.data + b * p.y.batch_stride;
  simd::for_vectors<T>(0, s.heads, [&](index h, auto lanes) {
    Vec<T> top = simd::broadcast(-kInfinity<T>);
    for (index g = first; g < last; ++g) {
      top = simd::max<T>(simd::load(parts.highest(g) + h), top);
    }
    const Vec<T> base = top == -kInfinity<T> ? Vec<T>{} : top;
    Vec<T> total{};
    for (index g = first; g < last; ++g) {
      T* highest = parts.highest(g) + h;
      const Vec<T> factor = simd::exp2_of_negative(simd::load(highest) - base);
      total += factor * simd::load(parts.total(g) + h);
      simd::store(highest, factor);
    }
    const Vec<T> log = top + simd::log2_of_positive(total);
    simd::store(p.log2_sum + b * s.heads + h, total == T(0) ? simd::broadcast(kInfinity<T>) : log, lanes);
    simd::store(parts.total(first) + h, total == T(0) ? Vec<T>{} : T(1) / total);  // the result of a query that sees no key is 0
  });
  for (index h = 0; h < s.heads; ++h) {
    simd::for_vectors<T>(h * s.head_size, (h + 1) * s.head_size, [&](index d, auto lanes) {
      Vec<T> mixed{};
      for (index g = first; g < last; ++g) {
        mixed += parts.highest(g)[h] * simd::load(parts.y(g) + d, lanes);
      }
      simd::store(y + d, mixed * parts.total(first)[h], lanes);
    });
  }
}

}  // namespace

template <class T, class Key>
void attention_one_query(const AttentionForward<T, T, Key>& p) {
  const AttentionShape& s = p.shape;
  const Groups groups(s);
  const Parts<T> parts(s, groups.count());
  const index width = s.heads * s.head_size;
  const Scratch<T> rotated(p.q_rotation != nullptr ? s.batch * width : 0);
  Heads<const T> q = p.q;
  if (p.q_rotation != nullptr) {
    for (index b = 0; b < s.batch; ++b) {
      rotate_heads<T>({.rows = 1,
                       .heads = s.heads,
                       .head_size = s.head_size,
                       .from = p.q.data + b * p.q.batch_stride,
                       .rotation = p.q_rotation + b * p.q_rotation_batch_stride,
                       .to = rotated + b * width});
    }
    q = {rotated, width, width};
  }
  const index all = groups.count();
  parallel_for(all, Work::elements(groups.keys * s.heads_of_keys() * s.head_size), [&](index group) {
    const index b = groups.batch_of(group);
    const Interval see(s, b);
    const index begin = (see.first / kGroup + group - groups.begin(b)) * kGroup;
    one_group(p, q.data + b * q.batch_stride, b, std::max(begin, see.first), std::min(begin + kGroup, see.last), parts, group);
  });
  parallel_for(s.batch, Work::elements(all * width), [&](index b) { add_parts(p, b, parts, groups.begin(b), groups.end(b)); });
}

template void attention_one_query(const AttentionForward<float>&);
template void attention_one_query(const AttentionForward<double>&);
template void attention_one_query(const AttentionForward<float, float, bf16>&);

}  // namespace dikkat::kernels
