#pragma once

#include <cstdint>

#include "autograd/base/index.h"
#include "autograd/base/philox.h"

namespace dikkat::kernels {

/// Rows of H heads of D elements each: head h of row t of batch b begins at data + b * batch_stride + t * row_stride + h * D.
template <class T>
struct Heads {
  T* data = nullptr;
  index batch_stride = 0, row_stride = 0;
};

/// Where a gradient is written: nowhere (null), or over what the memory holds, or added to it.
template <class T>
struct HeadsOut {
  Heads<T> at;
  bool add = false;
};

/// The part of the problem that forward and backward share.
///
/// Query i of batch b sees the keys of a half-open interval: [key_begin[b, i], key_end[b, i]) if these are given, and, if causal, only
/// keys up to query_offset + i. A query that sees no key gives 0.
struct AttentionShape {
  index batch = 0, heads = 0, queries = 0, keys = 0, head_size = 0;
  double scale = 1;
  bool causal = false;
  index query_offset = 0;                   // the key at the same position as query 0
  const std::int32_t* key_begin = nullptr;  // (batch, queries), or null: 0
  const std::int32_t* key_end = nullptr;    // (batch, queries), or null: keys
  double dropout = 0;                       // probability that a weight becomes 0
  RandomStream stream{};
  index first_batch = 0;  // number of batch 0 in the step's whole batch
};

/// y = softmax(scale q k^T) v for each head, in tiles with an online softmax, without a (queries, keys) matrix (Milakov and Gimelshein,
/// arXiv 1805.02867; Dao et al., arXiv 2205.14135). Saves log2 of the sum of e^score for each query, +inf if it sees no key. Tensors are
/// stored as Operand. Computations, and the saved sums, are in Sum.
template <class Operand, class Sum = Operand>
struct AttentionForward {
  AttentionShape shape;
  Heads<const Operand> q, k, v;
  Heads<Operand> y;
  Sum* log2_sum = nullptr;  // (batch, heads, queries)
};
template <class Operand, class Sum = Operand>
void attention_forward(const AttentionForward<Operand, Sum>& p);

/// Let f = <dy, y>. Writes df/dq, df/dk and df/dv; a null output is skipped. Recomputes the weights from the saved sums.
template <class Operand, class Sum = Operand>
struct AttentionBackward {
  AttentionShape shape;
  Heads<const Operand> q, k, v, y, dy;
  const Sum* log2_sum = nullptr;  // (batch, heads, queries)
  HeadsOut<Operand> dq{}, dk{}, dv{};
};
template <class Operand, class Sum = Operand>
void attention_backward(const AttentionBackward<Operand, Sum>& p);

/// The element of the stream that decides whether dropout drops the weight of (batch, head, query, key). Batches are counted in the step's
/// whole batch. Four adjacent keys share one call of the generator.
constexpr index attention_dropout_element(const AttentionShape& s, index batch, index head, index query, index key) {
  return (((s.first_batch + batch) * s.heads + head) * s.queries + query) * round_up(s.keys, 4) + key;
}

}  // namespace dikkat::kernels
