#include <algorithm>
#include <numbers>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/attention/attention_query.h"
#include "autograd/kernels/attention/attention_tiles.h"
#include "autograd/kernels/gemm/tile_transpose.h"
#include "autograd/simd/exp.h"

namespace dikkat::kernels {
namespace {

using namespace attention_tiles;

constexpr index kMostReads = 16;  // by blocks of queries, of keys and values that stay in place

/// Copies of the rows of all heads of keys or values, starting at row `begin`, contiguous, (B, heads, rows, width). They are made once if
/// several tasks read them, and if they are rotated, or so many that rows in place would leave the cache.
template <class T>
struct CopiedRows {
  const T* data = nullptr;  // null: no copies
  index begin = 0, rows = 0, width = 0;
};

/// Returns the first key that any query sees, or one before it.
index first_key_of(const AttentionShape& s) {
  if (s.key_begin == nullptr) {
    return std::clamp<index>(s.first_of(0, 0), 0, s.keys);
  }
  index first = s.keys;
  for (index i = 0; i < s.batch * s.queries; ++i) {
    first = std::min<index>(first, s.key_begin[i]);
  }
  return first;
}

/// Copies the rows of all heads from row `begin` to `to`.
template <class Operand, class T>
CopiedRows<T> copy_rows(const Heads<const Operand>& heads, const AttentionShape& s, const T* rotation, index begin, T* to) {
  const index width = round_up(s.head_size, kLanes<T>);
  const index rows = s.keys - begin;
  const index blocks = ceil_div(rows, kBlock);
  const index all = s.batch * s.heads_of_keys();
  parallel_for(all * blocks, Work::elements(all * rows * width), [&](index task) {
    const index head = task / blocks;
    const index first = task % blocks * kBlock;
    const index count = std::min(kBlock, rows - first);
    gather(heads, s, rotation, s.keys_of(head / s.heads_of_keys()), head % s.heads_of_keys(), begin + first, count, count,
           to + (head * rows + first) * width);
  });
  return {to, begin, rows, width};
}

/// This thread's memory for forward_block(), and its products.
template <class Operand, class T>
struct ForwardMemory {
  explicit ForwardMemory(const AttentionShape& s)
      : products(s), width(round_up(s.head_size, kLanes<T>)), memory((5 * width + 2 * kBlock) * kBlock), pieces(memory) {}

  Products<Operand, T> products;
  index width;  // width of a head's row, in whole vectors
  Scratch<T> memory;
  Pieces<T> pieces;
  T* q = pieces.take(kBlock * width);         // (queries, width)
  T* q_t = pieces.take(kBlock * width);       // (width, queries), scaled
  T* k = pieces.take(kBlock * width);         // (keys, width)
  T* v = pieces.take(kBlock * width);         // (keys, width)
  T* y = pieces.take(kBlock * width);         // (queries, width), before the division by the sums
  T* weights = pieces.take(kBlock * kBlock);  // (keys, queries)
  T* keep = pieces.take(kBlock * kBlock);     // (keys, queries)
  RowsAhead ahead{};
  bool has_copies = false;  // of keys and values

  /// Lets the products fetch keys and values of a head from `key` up to `end`, at most a tile.
  template <class Key>
  void fetch_keys(const AttentionForward<Operand, T, Key>& p, index b, index h, index key, index end) {
    if (has_copies) {  // they lie side by side, so the processor fetches them
      return;
    }
    const AttentionShape& s = p.shape;
    const index from = s.keys_of(b), key_head = h / s.group();
    ahead.add(head_at(p.k, s, from, key_head) + key * p.k.row_stride, p.k.row_stride, std::min(kBlock, end - key), s.head_size);
    ahead.add(head_at(p.v, s, from, key_head) + key * p.v.row_stride, p.v.row_stride, std::min(kBlock, end - key), s.head_size);
  }
  /// Lets the products fetch what the first task of a head reads first.
  template <class Key>
  void fetch_head(const AttentionForward<Operand, T, Key>& p, index b, index h) {
    const AttentionShape& s = p.shape;
    const index query = (s.queries - 1) / kBlock * kBlock;
    ahead.add(head_at(p.q, s, b, h) + query * p.q.row_stride, p.q.row_stride, s.queries - query, s.head_size);
    fetch_keys(p, b, h, std::max<index>(s.first_of(b, query), 0) / kBlock * kBlock, s.keys);
  }
};

/// Returns a tile's rows of a head of keys or values: their copies, the rows in place, or what it gathers to `own`.
template <class Key, class T>
HeadRows<T> read_tile(const Heads<const Key>& heads, const AttentionShape& s, const T* rotation, const CopiedRows<T>& copies, index b,
                      index h, index key, index count, T* own) {
  if (copies.data != nullptr) {
    return {copies.data + ((b * s.heads_of_keys() + h) * copies.rows + key - copies.begin) * copies.width, copies.width};
  }
  return read_rows(heads, s, rotation, s.keys_of(b), h, key, count, count, own);
}

/// Online softmax of a block of queries.
template <class T>
struct Sums {
  alignas(64) T highest[kBlock];  // highest score so far
  alignas(64) T total[kBlock];    // sum of 2^(score - highest)
  alignas(64) T rescale[kBlock];  // factor for the sums so far, as the highest score has changed
};

/// Replaces scores by weights 2^(score - highest), times `keep` if it is given.
template <class T>
void weigh(const Part& part, T* scores, const T* keep, Sums<T>& sums) {
  for (index i = part.query; i < part.query + part.queries; i += kLanes<T>) {
    const Vec<T> before = simd::load(sums.highest + i);
    Vec<T> top = before;
    for (index j = part.key; j < part.key + part.keys; ++j) {
      top = simd::max<T>(simd::load(scores + j * kBlock + i), top);
    }
    const Vec<T> base = top == -kInfinity<T> ? Vec<T>{} : top;  // no key seen so far: 2^(-inf - 0) = 0
    const Vec<T> factor = simd::exp2_of_negative(before - base);
    Vec<T> total = simd::load(sums.total + i) * factor;
    for (index j = part.key; j < part.key + part.keys; ++j) {
      T* at = scores + j * kBlock + i;
      const Vec<T> w = simd::exp2_of_negative(simd::load(at) - base);
      total += w;
      simd::store(at, keep == nullptr ? w : w * simd::load(keep + j * kBlock + i));
    }
    simd::store(sums.highest + i, top);
    simd::store(sums.total + i, total);
    simd::store(sums.rescale + i, factor);
  }
}

/// Computes one block of queries of one head with all keys that it sees.
template <class Operand, class T, class Key>
void forward_block(const AttentionForward<Operand, T, Key>& p, const CopiedRows<T>& all_k, const CopiedRows<T>& all_v,
                   const Intervals<T>& see, index b, index h, index query) {
  const AttentionShape& s = p.shape;
  const index count = std::min(kBlock, s.queries - query);
  ForwardMemory<Operand, T> m(s);
  m.has_copies = all_v.data != nullptr;
  const index width = m.width;
  const T factor = static_cast<T>(s.scale * std::numbers::log2e);
  const index key_head = h / s.group();
  // Gather and transpose the queries, and begin with empty sums.
  const HeadRows<T> q = read_rows(p.q, s, p.q_rotation == nullptr ? nullptr : p.q_rotation + b * p.q_rotation_batch_stride, b, h, query,
                                  count, see.columns, m.q);
  tile_transpose(see.columns, width, scales_scores<Operand, T>() ? T(1) : factor, q.data, q.stride, m.q_t, kBlock);
  std::fill_n(m.y, count * width, T(0));
  Sums<T> sums;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as far as it is used
  std::fill_n(sums.highest, kBlock, -kInfinity<T>);
  std::fill_n(sums.total, kBlock, T(0));

  // Go through the blocks of keys that any of the queries sees.
  for (index key = see.whole.any_begin / kBlock * kBlock; key < see.whole.any_end; key += kBlock) {
    const index keys = std::min(kBlock, s.keys - key);
    const Seen<T> seen(see, key, keys);
    const HeadRows<T> k = read_tile(p.k, s, p.k_rotation, all_k, b, key_head, key, keys, m.k);
    const HeadRows<T> v = read_tile<Key, T>(p.v, s, nullptr, all_v, b, key_head, key, keys, m.v);
    if (key + kBlock < see.whole.any_end) {
      m.fetch_keys(p, b, h, key + kBlock, see.whole.any_end);
    } else if (const index head = b * s.heads + h + 1; s.queries > kBlock && query <= kBlock && head < s.batch * s.heads) {
      m.fetch_head(p, head / s.heads, head % s.heads);
    }
    // Compute the scores.
    seen.by_keys([&](const Part& part) {
      m.products({.m = part.keys,
                  .n = part.queries,
                  .k = s.head_size,
                  .a = k.data + part.key * k.stride,
                  .a_row = k.stride,
                  .b = m.q_t + part.query,
                  .ldb = kBlock,
                  .c = m.weights + part.key * kBlock + part.query,
                  .ldc = kBlock,
                  .ahead = &m.ahead},
                 factor);
    });
    // Turn the scores into weights, and add the weighted values.
    for (const Part& part : seen) {
      if (!seen.whole()) {
        hide_keys(see, key, part, m.weights);
      }
      if (s.dropout > 0) {
        draw_dropout(s, b, h, query, key, part, m.keep);
      }
      weigh(part, m.weights, s.dropout > 0 ? m.keep : nullptr, sums);
      const index rows = seen.whole() ? part.queries : kRows;
      for (index i = part.query; i < std::min(part.query + part.queries, count); i += rows) {
        const index seen_keys = seen.whole() ? part.keys : std::min(part.keys, see.end_of_rows[i / kRows] - key - part.key);
        if (seen_keys <= 0) {
          continue;  // these queries keep their sums
        }
        m.products({.m = std::min(rows, count - i),
                    .n = width,
                    .k = seen_keys,
                    .a = m.weights + part.key * kBlock + i,
                    .a_row = 1,
                    .a_col = kBlock,
                    .b = v.data + part.key * v.stride,
                    .ldb = v.stride,
                    .c = m.y + i * width,
                    .ldc = width,
                    .add = true,
                    .row_factors = sums.rescale + i,
                    .ahead = &m.ahead});
      }
    }
  }

  // Save the logarithms of the sums, and divide the results by the sums.
  T* log2_sum = p.log2_sum + (b * s.heads + h) * s.queries + query;
  simd::for_vectors<T>(0, count, [&](index i, auto lanes) {
    const Vec<T> total = simd::load(sums.total + i);
    const Vec<T> log = simd::load(sums.highest + i) + simd::log2_of_positive(total);
    simd::store(log2_sum + i, total == T(0) ? simd::broadcast(kInfinity<T>) : log, lanes);
  });
  Operand* to = head_at(p.y, s, b, h) + query * p.y.row_stride;
  for (index i = 0; i < count; ++i, to += p.y.row_stride) {
    const bool sees_none = sums.total[i] == T(0);
    const T factor_of_row = sees_none ? T(0) : 1 / sums.total[i];
    simd::for_vectors<T>(0, s.head_size, [&](index d, auto lanes) {
      simd::store_as<T>(to + d, sees_none ? Vec<T>{} : factor_of_row * simd::load(m.y + i * width + d), lanes);
    });
  }
}

}  // namespace

template <class Operand, class T, class Key>
void attention_forward(const AttentionForward<Operand, T, Key>& p) {
  const AttentionShape& s = p.shape;
  if constexpr (std::is_same_v<Operand, T>) {
    if (is_one_query(s) && p.k_rotation == nullptr) {
      attention_one_query(p);
      return;
    }
  }
  const index blocks = ceil_div(s.queries, kBlock);
  const index heads = s.batch * s.heads;
  CopiedRows<T> k, v;
  const index begin = first_key_of(s) / kBlock * kBlock;
  const bool copies_v = blocks > kMostReads || (blocks > 1 && !std::is_same_v<Key, T>);
  const bool copies_k = copies_v || (blocks > 1 && p.k_rotation != nullptr);
  const index copied = s.batch * s.heads_of_keys() * (s.keys - begin) * round_up(s.head_size, kLanes<T>);
  const Scratch<T> own_k(copies_k ? copied : 0), own_v(copies_v ? copied : 0);
  if (copies_k) {
    k = copy_rows(p.k, s, p.k_rotation, begin, own_k.data());
  }
  if (copies_v) {
    v = copy_rows<Key, T>(p.v, s, nullptr, begin, own_v.data());
  }
  const BlockIntervals<T> see(s);
  for_each_task(
      heads * blocks, blocks > 1, work_of(s, 2), [&] { ForwardMemory<Operand, T>{s}; },
      [&](index task) {
        // Go head by head, so that keys stay in cache, and begin with the last blocks. Under a causal mask they see the most keys, and the
        // longest tasks should not begin last.
        const index head = task / blocks;
        const index block = blocks - 1 - task % blocks;
        forward_block(p, k, v, see.at(head / s.heads, block), head / s.heads, head % s.heads, block * kBlock);
      });
}

template <class T>
void rotate_heads(const RotateHeads<T>& p) {
  parallel_for(p.rows, Work::elements(p.rows * p.heads * p.head_size), [&](index row) {
    for (index h = 0; h < p.heads; ++h) {
      rotate_head(p.head_size, p.from + row * p.from_stride + h * p.head_size, p.rotation + row * p.head_size,
                  p.to + row * p.to_stride + h * p.head_size);
    }
  });
}

template <class Operand, class Key>
void append_keys(const AppendKeys<Operand, Key>& p) {
  using T = Computed<Operand>;
  const index width = p.heads * p.head_size;
  parallel_for(p.batch * p.rows, Work::elements(2 * p.batch * p.rows * width), [&](index task) {
    const index b = task / p.rows;
    const index row = task % p.rows;
    const Operand* k = p.k.of(b) + row * p.k.row_stride;
    const Operand* v = p.v.of(b) + row * p.v.row_stride;
    Key* to = p.to[b] + row * 2 * width;
    const auto copy = [width](const Operand* from, Key* into) {
      simd::for_vectors<T>(0, width, [&](index d, auto lanes) { simd::store_as<T>(into + d, simd::load_as<T>(from + d, lanes), lanes); });
    };
    if (p.rotation == nullptr) {
      copy(k, to);
    } else {
      const T* angles = p.rotation + b * p.rotation_batch_stride + row * p.head_size;
      for (index h = 0; h < p.heads; ++h) {
        rotate_head(p.head_size, k + h * p.head_size, angles, to + h * p.head_size);
      }
    }
    copy(v, to + width);
  });
}

template void append_keys(const AppendKeys<float>&);
template void append_keys(const AppendKeys<double>&);
template void append_keys(const AppendKeys<bf16>&);
template void append_keys(const AppendKeys<float, bf16>&);
template void rotate_heads(const RotateHeads<float>&);
template void rotate_heads(const RotateHeads<double>&);
template void rotate_heads(const RotateHeads<bf16>&);
template void attention_forward(const AttentionForward<float>&);
template void attention_forward(const AttentionForward<double>&);
template void attention_forward(const AttentionForward<float, double>&);
template void attention_forward(const AttentionForward<bf16, float>&);
template void attention_forward(const AttentionForward<float, float, bf16>&);

}  // namespace dikkat::kernels
