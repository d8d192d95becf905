#include "autograd/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/base/exp.h"
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/tile_gemm.h"

// Tiles are kept transposed, (keys, queries): a row is one key against a block of queries, so maxima and sums over keys are
// plain vector operations, keys and values are read where they lie, and only the block of queries is ever transposed.
namespace dikkat::kernels {
namespace {

using simd::IntVec;
using simd::kLanes;
using simd::Vec;

constexpr index kBlock = 64;  // queries, and keys, of a tile
template <class T>
constexpr index kVectors = kBlock / kLanes<T>;
template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

/// Rows of one head, each padded with zeros to whole vectors.
template <class T>
struct Rows {
  const T* data = nullptr;
  index stride = 0;
  const T* at(index row) const { return data + row * stride; }
};

template <class T>
T* head_at(const Heads<T>& heads, const AttentionShape& s, index b, index h) {
  return heads.data + b * heads.batch_stride + h * s.head_size;
}

/// Where the head's size is whole vectors its rows are used where they lie; otherwise they are copied to `padded`.
template <class T>
Rows<T> rows_of(const Heads<const T>& heads, const AttentionShape& s, index b, index h, index first, index count, T* padded) {
  const T* from = head_at(heads, s, b, h) + first * heads.row_stride;
  const index width = round_up(s.head_size, kLanes<T>);
  if (width == s.head_size) {
    return {from, heads.row_stride};
  }
  for (index row = 0; row < count; ++row) {
    std::copy_n(from + row * heads.row_stride, s.head_size, padded + row * width);
    std::fill_n(padded + row * width + s.head_size, width - s.head_size, T(0));
  }
  return {padded, width};
}

/// to (head_size, kBlock) = factor * rows transposed; columns from `count` on are zero.
template <class T>
void transpose_block(Rows<T> rows, index count, index head_size, T factor, T* to) {
  for (index d = 0; d < head_size; ++d) {
    for (index i = 0; i < count; ++i) {
      to[d * kBlock + i] = factor * rows.at(i)[d];
    }
    std::fill_n(to + d * kBlock + count, kBlock - count, T(0));
  }
}

/// The keys that the queries of a block see.
template <class T>
struct Intervals {
  IntVec<T> first[kVectors<T>], last[kVectors<T>];  // by query; empty for lanes past the block's end
  index all_first = 0, all_last = 0;                // every query of the block sees [all_first, all_last)
  index any_first = 0, any_last = 0;                // none sees a key outside of [any_first, any_last)

  Intervals(const AttentionShape& s, index b, index query, index count) {
    all_last = any_first = s.keys;
    for (index i = 0; i < kBlock; ++i) {
      index lo = 0;
      index hi = 0;
      if (i < count) {
        const index at = b * s.queries + query + i;
        lo = s.first_key == nullptr ? 0 : s.first_key[at];
        hi = s.last_key == nullptr ? s.keys : s.last_key[at];
        if (s.causal) {
          hi = std::min(hi, s.query_offset + query + i + 1);
        }
        hi = std::max(hi, lo);
        any_first = lo < hi ? std::min(any_first, lo) : any_first;
        any_last = lo < hi ? std::max(any_last, hi) : any_last;
      }
      all_first = std::max(all_first, lo);
      all_last = std::min(all_last, hi);
      first[i / kLanes<T>][i % kLanes<T>] = static_cast<std::int32_t>(lo);
      last[i / kLanes<T>][i % kLanes<T>] = static_cast<std::int32_t>(hi);
    }
  }
  bool sees_all(index key, index count) const { return all_first <= key && key + count <= all_last; }
};

/// scores (keys, kBlock): -inf where the query does not see the key.
template <class T>
void hide_keys(const Intervals<T>& see, index key, index count, T* scores) {
  if (see.sees_all(key, count)) {
    return;
  }
  for (index j = 0; j < count; ++j) {
    const IntVec<T> place = IntVec<T>{} + static_cast<std::int32_t>(key + j);
    for (index v = 0; v < kVectors<T>; ++v) {
      T* at = scores + j * kBlock + v * kLanes<T>;
      const auto seen = (place >= see.first[v]) & (place < see.last[v]);
      simd::store(at, seen ? simd::load(at) : simd::broadcast(-kInfinity<T>));
    }
  }
}

/// keep (keys, kBlock): 0 for a dropped weight, 1 / (1 - dropout) for a kept one.
template <class T>
void draw_dropout(const AttentionShape& s, index b, index h, index query, index queries, index key, index keys, T* keep) {
  const std::uint64_t threshold = dropout_threshold(s.dropout);
  const T kept = static_cast<T>(1 / (1 - s.dropout));
  std::fill_n(keep, keys * kBlock, T(0));
  std::uint32_t words[kBlock];
  static_assert(kBlock == 4 * RandomStream::kGroups);
  for (index i = 0; i < queries; ++i) {
    s.stream.groups(attention_dropout_element(s, b, h, query + i, key) / 4, words);  // key tiles begin at multiples of four
    for (index j = 0; j < keys; ++j) {
      keep[j * kBlock + i] = words[j] < threshold ? T(0) : kept;
    }
  }
}

/// This thread's memory for forward_block(). What is not needed is null.
template <class T>
struct ForwardMemory {
  explicit ForwardMemory(const AttentionShape& s)
      : width(round_up(s.head_size, kLanes<T>)),
        q_t(scratch<T>(Scratch::a, s.head_size * kBlock)),
        weights(scratch<T>(Scratch::b, kBlock * kBlock)),
        keep(s.dropout > 0 ? scratch<T>(Scratch::c, kBlock * kBlock) : nullptr),
        y(scratch<T>(Scratch::d, kBlock * width)),
        q_padded(width > s.head_size ? scratch<T>(Scratch::e, kBlock * width) : nullptr),
        v_padded(width > s.head_size ? scratch<T>(Scratch::f, kBlock * width) : nullptr) {}

  index width;  // of a head's row, in whole vectors
  T* q_t;       // (head_size, queries), scaled
  T* weights;   // (keys, queries)
  T* keep;      // (keys, queries)
  T* y;         // (queries, width), before the division by the sums
  T* q_padded;  // (queries, width)
  T* v_padded;  // (keys, width)
};

/// One block of queries of one head against all the keys that it sees.
template <class T>
void forward_block(const AttentionForward<T>& p, index b, index h, index query) {
  const AttentionShape& s = p.shape;
  const index count = std::min(kBlock, s.queries - query);
  const auto [width, q_t, weights, keep, y, q_padded, v_padded] = ForwardMemory<T>(s);
  const Intervals<T> see(s, b, query, count);
  const Rows<T> q = rows_of(p.q, s, b, h, query, count, q_padded);
  transpose_block(q, count, s.head_size, static_cast<T>(s.scale), q_t);

  Vec<T> highest[kVectors<T>];
  Vec<T> sums[kVectors<T>];
  for (index v = 0; v < kVectors<T>; ++v) {
    highest[v] = simd::broadcast(-kInfinity<T>);
    sums[v] = Vec<T>{};
  }
  bool first = true;
  for (index key = see.any_first / kBlock * kBlock; key < see.any_last; key += kBlock, first = false) {
    const index keys = std::min(kBlock, s.keys - key);
    const Rows<T> k{head_at(p.k, s, b, h) + key * p.k.row_stride, p.k.row_stride};  // read by elements: no padding needed
    const Rows<T> v_rows = rows_of(p.v, s, b, h, key, keys, v_padded);
    tile_gemm<T>(
        {.m = keys, .n = kBlock, .k = s.head_size, .a = k.data, .a_row = k.stride, .b = q_t, .ldb = kBlock, .c = weights, .ldc = kBlock});
    hide_keys(see, key, keys, weights);

    T rescale[kBlock];
    for (index v = 0; v < kVectors<T>; ++v) {
      T* column = weights + v * kLanes<T>;
      Vec<T> top = highest[v];
      for (index j = 0; j < keys; ++j) {
        top = simd::max<T>(simd::load(column + j * kBlock), top);
      }
      const Vec<T> base = top == -kInfinity<T> ? Vec<T>{} : top;  // nothing seen yet: e^(-inf - 0) = 0
      const Vec<T> factor = simd::exp(highest[v] - base);
      Vec<T> total = sums[v] * factor;
      for (index j = 0; j < keys; ++j) {
        const Vec<T> w = simd::exp(simd::load(column + j * kBlock) - base);
        total += w;
        simd::store(column + j * kBlock, w);
      }
      highest[v] = top;
      sums[v] = total;
      simd::store(rescale + v * kLanes<T>, factor);
    }
    if (keep != nullptr) {
      draw_dropout(s, b, h, query, count, key, keys, keep);
      for (index i = 0; i < keys * kBlock; i += kLanes<T>) {
        simd::store(weights + i, simd::load(weights + i) * simd::load(keep + i));
      }
    }
    for (index i = 0; i < count && !first; ++i) {
      for (index d = 0; d < width; d += kLanes<T>) {
        simd::store(y + i * width + d, simd::load(y + i * width + d) * rescale[i]);
      }
    }
    tile_gemm<T>({.m = count,
                  .n = width,
                  .k = keys,
                  .a = weights,
                  .a_row = 1,
                  .a_col = kBlock,
                  .b = v_rows.data,
                  .ldb = v_rows.stride,
                  .c = y,
                  .ldc = width,
                  .add = !first});
  }

  T* out = head_at(p.y, s, b, h) + query * p.y.row_stride;
  T* log_sum_exp = p.log_sum_exp + (b * s.heads + h) * s.queries + query;
  for (index i = 0; i < count; ++i) {
    const T total = sums[i / kLanes<T>][i % kLanes<T>];
    const bool blind = first || total == T(0);
    for (index d = 0; d < s.head_size; ++d) {
      out[i * p.y.row_stride + d] = blind ? T(0) : y[i * width + d] / total;
    }
    log_sum_exp[i] = blind ? kInfinity<T> : highest[i / kLanes<T>][i % kLanes<T>] + std::log(total);
  }
}

template <class T>
void write_rows(HeadsOut<T> out, const AttentionShape& s, index b, index h, index first, index count, const T* rows, index width,
                T factor) {
  if (out.at.data == nullptr) {
    return;
  }
  T* to = head_at(out.at, s, b, h) + first * out.at.row_stride;
  for (index i = 0; i < count; ++i) {
    for (index d = 0; d < s.head_size; ++d) {
      T& place = to[i * out.at.row_stride + d];
      place = (out.add ? place : T(0)) + factor * rows[i * width + d];
    }
  }
}

/// This thread's memory for backward_head(). What is not needed is null.
template <class T>
struct BackwardMemory {
  explicit BackwardMemory(const AttentionShape& s)
      : width(round_up(s.head_size, kLanes<T>)),
        rows(round_up(s.queries, kBlock)),
        q_t(scratch<T>(Scratch::a, 2 * rows * s.head_size)),
        dy_t(q_t + rows * s.head_size),
        weights(scratch<T>(Scratch::b, 3 * kBlock * kBlock)),
        ds(weights + kBlock * kBlock),
        keep(ds + kBlock * kBlock),
        dq(scratch<T>(Scratch::c, rows * width)),
        dk(scratch<T>(Scratch::d, 2 * kBlock * width)),
        dv(dk + kBlock * width),
        lse(scratch<T>(Scratch::g, 2 * rows)),
        delta(lse + rows),
        q_padded(width > s.head_size ? scratch<T>(Scratch::e, s.queries * width) : nullptr),
        dy_padded(width > s.head_size ? scratch<T>(Scratch::f, s.queries * width) : nullptr),
        k_padded(width > s.head_size ? scratch<T>(Scratch::h, kBlock * width) : nullptr) {}

  index width;              // of a head's row, in whole vectors
  index rows;               // queries, in whole blocks
  T *q_t, *dy_t;            // by blocks: (head_size, queries)
  T *weights, *ds;          // (keys, queries)
  T* keep;                  // (keys, queries)
  T* dq;                    // (rows, width)
  T *dk, *dv;               // (keys, width)
  T* lse;                   // (rows): +inf past the end, so that weights there are 0
  T* delta;                 // (rows)
  T *q_padded, *dy_padded;  // (queries, width)
  T* k_padded;              // (keys, width)
};

/// One head. With weights w, dw = dy v^T and delta = <dy, y> by queries:  dv = w^T dy,  ds = w (dw - delta),
/// dq = scale ds k,  dk = scale ds^T q.
template <class T>
void backward_head(const AttentionBackward<T>& p, index b, index h) {
  const AttentionShape& s = p.shape;
  const auto [width, rows, q_t, dy_t, weights, ds, keep, dq, dk, dv, lse, delta, q_padded, dy_padded, k_padded] = BackwardMemory<T>(s);
  const index blocks = rows / kBlock;
  const Rows<T> q = rows_of(p.q, s, b, h, 0, s.queries, q_padded);
  const Rows<T> dy = rows_of(p.dy, s, b, h, 0, s.queries, dy_padded);

  for (index block = 0; block < blocks; ++block) {
    const index query = block * kBlock;
    const index count = std::min(kBlock, s.queries - query);
    transpose_block<T>({q.at(query), q.stride}, count, s.head_size, static_cast<T>(s.scale), q_t + block * s.head_size * kBlock);
    transpose_block<T>({dy.at(query), dy.stride}, count, s.head_size, T(1), dy_t + block * s.head_size * kBlock);
  }
  std::fill_n(lse, blocks * kBlock, kInfinity<T>);
  std::copy_n(p.log_sum_exp + (b * s.heads + h) * s.queries, s.queries, lse);
  std::fill_n(delta, blocks * kBlock, T(0));
  const T* y = head_at(p.y, s, b, h);
  for (index i = 0; i < s.queries; ++i) {
    Vec<T> total{};
    simd::for_vectors<T>(0, s.head_size, [&](index d, auto lanes) {
      total += simd::load(dy.at(i) + d, lanes) * simd::load(y + i * p.y.row_stride + d, lanes);
    });
    delta[i] = simd::sum<T>(total);
  }
  std::fill_n(dq, blocks * kBlock * width, T(0));

  for (index key = 0; key < s.keys; key += kBlock) {
    const index keys = std::min(kBlock, s.keys - key);
    const Rows<T> k = rows_of(p.k, s, b, h, key, keys, k_padded);
    const Rows<T> v{head_at(p.v, s, b, h) + key * p.v.row_stride, p.v.row_stride};  // read by elements: no padding needed
    bool first = true;
    for (index block = 0; block < blocks; ++block) {
      const index query = block * kBlock;
      const index count = std::min(kBlock, s.queries - query);
      const Intervals<T> see(s, b, query, count);
      if (key >= see.any_last || key + keys <= see.any_first) {
        continue;
      }
      const T* own_q_t = q_t + block * s.head_size * kBlock;
      const T* own_dy_t = dy_t + block * s.head_size * kBlock;
      tile_gemm<T>({.m = keys,
                    .n = kBlock,
                    .k = s.head_size,
                    .a = k.data,
                    .a_row = k.stride,
                    .b = own_q_t,
                    .ldb = kBlock,
                    .c = weights,
                    .ldc = kBlock});
      hide_keys(see, key, keys, weights);
      tile_gemm<T>(
          {.m = keys, .n = kBlock, .k = s.head_size, .a = v.data, .a_row = v.stride, .b = own_dy_t, .ldb = kBlock, .c = ds, .ldc = kBlock});
      if (s.dropout > 0) {
        draw_dropout(s, b, h, query, count, key, keys, keep);
      }
      for (index j = 0; j < keys; ++j) {
        for (index i = 0; i < kBlock; i += kLanes<T>) {
          const index at = j * kBlock + i;
          const Vec<T> w = simd::exp(simd::load(weights + at) - simd::load(lse + query + i));
          const Vec<T> mask = s.dropout > 0 ? simd::load(keep + at) : simd::broadcast(T(1));
          simd::store(weights + at, w * mask);
          simd::store(ds + at, w * (simd::load(ds + at) * mask - simd::load(delta + query + i)));
        }
      }
      tile_gemm<T>({.m = keys,
                    .n = width,
                    .k = count,
                    .a = weights,
                    .a_row = kBlock,
                    .b = dy.at(query),
                    .ldb = dy.stride,
                    .c = dv,
                    .ldc = width,
                    .add = !first});
      tile_gemm<T>({.m = keys,
                    .n = width,
                    .k = count,
                    .a = ds,
                    .a_row = kBlock,
                    .b = q.at(query),
                    .ldb = q.stride,
                    .c = dk,
                    .ldc = width,
                    .add = !first});
      tile_gemm<T>({.m = count,
                    .n = width,
                    .k = keys,
                    .a = ds,
                    .a_row = 1,
                    .a_col = kBlock,
                    .b = k.data,
                    .ldb = k.stride,
                    .c = dq + query * width,
                    .ldc = width,
                    .add = true});
      first = false;
    }
    if (first) {  // a key that no query sees
      std::fill_n(dk, 2 * kBlock * width, T(0));
    }
    write_rows(p.dk, s, b, h, key, keys, dk, width, static_cast<T>(s.scale));
    write_rows(p.dv, s, b, h, key, keys, dv, width, T(1));
  }
  write_rows(p.dq, s, b, h, 0, s.queries, dq, width, static_cast<T>(s.scale));
}

}  // namespace

template <class T>
void attention_forward(const AttentionForward<T>& p) noexcept {
  const AttentionShape& s = p.shape;
  const index blocks = ceil_div(s.queries, kBlock);
  parallel_for_uneven(
      s.batch * s.heads * blocks, [&] { ForwardMemory<T>{s}; },
      [&](index task) {
        // Last blocks first: under a causal mask they see the most keys, and the longest tasks should not be the last to begin.
        const index block = blocks - 1 - task % blocks;
        const index head = task / blocks;
        forward_block(p, head / s.heads, head % s.heads, block * kBlock);
      });
}

template <class T>
void attention_backward(const AttentionBackward<T>& p) noexcept {
  const AttentionShape& s = p.shape;
  parallel_for_uneven(
      s.batch * s.heads, [&] { BackwardMemory<T>{s}; }, [&](index task) { backward_head(p, task / s.heads, task % s.heads); });
}

template void attention_forward<float>(const AttentionForward<float>&) noexcept;
template void attention_forward<double>(const AttentionForward<double>&) noexcept;
template void attention_backward<float>(const AttentionBackward<float>&) noexcept;
template void attention_backward<double>(const AttentionBackward<double>&) noexcept;

}  // namespace dikkat::kernels
