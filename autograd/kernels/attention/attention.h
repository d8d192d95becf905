#pragma once

#include <algorithm>
#include <cstdint>

#include "autograd/base/bf16.h"
#include "autograd/base/index.h"
#include "autograd/simd/philox.h"

namespace dikkat::kernels {

/// Rows of H heads of D elements each: head h of row t of batch b begins at of(b) + t * row_stride + h * D.
template <class T>
struct Heads {
  T* data = nullptr;
  index batch_stride = 0, row_stride = 0;
  T* const* batches = nullptr;  // (batch): where each batch begins, in place of data and batch_stride; or null
  index column = 0;             // column of head 0 in `batches`

  constexpr T* of(index b) const { return batches == nullptr ? data + b * batch_stride : batches[b] + column; }
};

/// The place where a gradient is written: nowhere (null), over the old contents of the memory, or added to them.
template <class T>
struct HeadsOut {
  Heads<T> at;
  bool add = false;
};

/// The part of the problem that forward and backward share.
///
/// Query i of batch b sees the keys of a half-open interval, [key_begin[b, i], key_end[b, i]) if these are given. If causal, it sees only
/// keys up to query_offset + i; with a window, only the last `window` of those. The result of a query that sees no key is 0. Blocks of keys
/// that a block of queries does not see cost nothing.
///
/// Grouped queries (Ainslie et al., arXiv 2305.13245): there may be fewer heads of keys and values than of queries. Then each serves a
/// group of adjacent heads of queries.
struct AttentionShape {
  index batch = 0, heads = 0, queries = 0, keys = 0, head_size = 0;
  index key_heads = 0;  // heads of keys and values; divides heads. 0: as many as heads
  double scale = 1;
  bool causal = false;
  index query_offset = 0;                   // the key at the same position as query 0
  index window = 0;                         // keys that a causal query sees at most, itself included; 0: all
  const std::int32_t* key_begin = nullptr;  // (batch, queries), or null: 0
  const std::int32_t* key_end = nullptr;    // (batch, queries), or null: keys
  const std::int32_t* key_batch = nullptr;  // (batch), or null: forward reads keys and values of batch key_batch[b], not b
  double dropout = 0;                       // probability that a weight becomes 0
  RandomStream stream{};
  index first_batch = 0;  // index of batch 0 in the step's whole batch

  constexpr index heads_of_keys() const { return key_heads == 0 ? heads : key_heads; }
  /// Returns the number of heads of queries for each head of keys.
  constexpr index group() const { return heads / heads_of_keys(); }
  /// Returns the batch whose keys and values the queries of batch b see.
  constexpr index keys_of(index b) const { return key_batch == nullptr ? b : key_batch[b]; }
  /// Returns the first key that query i of batch b sees. It sees none if this is not below last_of().
  constexpr index first_of(index b, index i) const {
    const index first = key_begin == nullptr ? 0 : key_begin[b * queries + i];
    return window == 0 ? first : std::max(first, query_offset + i + 1 - window);
  }
  /// Returns the key after the last one that query i of batch b sees.
  constexpr index last_of(index b, index i) const {
    const index last = key_end == nullptr ? keys : key_end[b * queries + i];
    return causal ? std::min(last, query_offset + i + 1) : last;
  }
};

/// y = softmax(scale q k^T) v for each head, in tiles with an online softmax, without a (queries, keys) matrix (Milakov and Gimelshein,
/// arXiv 1805.02867; Dao et al., arXiv 2205.14135). Saves log2 of the sum of e^score for each query, +inf if it sees no key. Tensors are
/// stored as Operand, keys and values as Key. Computations, and the saved sums, are in Sum. With a rotation (kernels/attention/rotation.h),
/// queries and keys are rotated as they are read: query i by row i, key j by row j.
template <class Operand, class Sum = Operand, class Key = Operand>
struct AttentionForward {
  AttentionShape shape;
  Heads<const Operand> q;
  Heads<const Key> k, v;
  Heads<Operand> y;
  Sum* log2_sum = nullptr;            // (batch, heads, queries)
  const Sum* q_rotation = nullptr;    // (queries, head_size), or null: none
  const Sum* k_rotation = nullptr;    // (keys, head_size), or null: none
  index q_rotation_batch_stride = 0;  // elements from the rows of a batch to those of the next; 0: all batches have the same rows
};
template <class Operand, class Sum = Operand, class Key = Operand>
void attention_forward(const AttentionForward<Operand, Sum, Key>& p);

/// Let f = <dy, y>. Writes df/dq, df/dk and df/dv; a null output is skipped. Recomputes the weights from the saved sums.
template <class Operand, class Sum = Operand>
struct AttentionBackward {
  AttentionShape shape;
  Heads<const Operand> q, k, v, y, dy;
  const Sum* log2_sum = nullptr;  // (batch, heads, queries)
  HeadsOut<Operand> dq{}, dk{}, dv{};
  const Sum* q_rotation = nullptr;  // as in forward
  const Sum* k_rotation = nullptr;
};
template <class Operand, class Sum = Operand>
void attention_backward(const AttentionBackward<Operand, Sum>& p);

/// Copies rows of heads, rotating row t by row t of `rotation`.
template <class T>
struct RotateHeads {
  index rows = 0, heads = 0, head_size = 0;
  const T* from = nullptr;
  index from_stride = 0;                  // elements from row to row
  const Computed<T>* rotation = nullptr;  // (rows, head_size)
  T* to = nullptr;
  index to_stride = 0;
};
template <class T>
void rotate_heads(const RotateHeads<T>& p);

/// Writes rotated keys, and values after them: rows k | v of Key, rounded if that is a narrower type.
template <class Operand, class Key = Operand>
struct AppendKeys {
  index batch = 0, rows = 0, heads = 0, head_size = 0;
  Heads<const Operand> k, v;
  const Computed<Operand>* rotation = nullptr;  // (rows, head_size), or null: none
  index rotation_batch_stride = 0;              // elements from the rows of a batch to those of the next; 0: all batches have the same rows
  Key* const* to = nullptr;                     // (batch): where the first row of each batch is written
};
template <class Operand, class Key = Operand>
void append_keys(const AppendKeys<Operand, Key>& p);

/// Returns the element of the stream that decides whether dropout drops the weight of (batch, head, query, key). Batches are counted in the
/// step's whole batch. Four adjacent keys share one call of the generator.
constexpr index attention_dropout_element(const AttentionShape& s, index batch, index head, index query, index key) {
  return (((s.first_batch + batch) * s.heads + head) * s.queries + query) * round_up(s.keys, 4) + key;
}

}  // namespace dikkat::kernels
