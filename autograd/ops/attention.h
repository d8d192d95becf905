#pragma once

#include <optional>

#include "autograd/base/philox.h"
#include "autograd/tape/tensor.h"

namespace dikkat {

/// Columns `column` to `column + heads * head_size` of x (B, T, width): queries, keys and values may lie side by side in one
/// tensor, such as a packed (B, T, 3C), and are read, and their gradients written, where they lie.
struct HeadColumns {
  Tensor x;
  index column = 0;
};

/// Keys and values of earlier positions, in rows k | v of heads * head_size columns each. attention() appends its own k and v, and its
/// queries see both. The owner of the memory keeps `length` up to date.
struct AttentionCache {
  DType dtype = DType::f32;
  void* data = nullptr;         // (batch, places, 2 * heads * head_size)
  index batch = 0, places = 0;  // room for: a call may have fewer batches
  index length = 0;             // rows that every batch has
};

struct AttentionOptions {
  index heads = 1;
  index head_size = 0;
  std::optional<double> scale{};  // of the scores; by default 1 / sqrt(head_size)
  bool causal = false;            // query i sees keys up to query_offset + i
  index query_offset = 0;
  Tensor key_begin{}, key_end{};          // i32 (B, queries), or absent: query i of batch b sees keys key_begin[b, i] to key_end[b, i] - 1
  double dropout = 0;                     // on the weights
  RandomStream stream{};                  // that dropout draws from
  index first_batch = 0;                  // place of batch 0 among the step's batches
  const AttentionCache* cache = nullptr;  // without gradients, and without bounds; query_offset counts from its end
};

/// softmax(scale q k^T) v by heads: q (B, queries, ...), k and v (B, keys, ...) to (B, queries, heads * head_size). A query that
/// sees no key gives 0. No (queries, keys) matrix is computed. Columns of two operands in one tensor must be the same or apart.
/// Throws Error where shapes or bounds do not fit, where a cache is full, and for a cache on a tape that records.
Tensor attention(HeadColumns q, HeadColumns k, HeadColumns v, const AttentionOptions& options);

/// The weights that attention() applies to values, (B, H, queries, keys), for inspection: no gradient flows through them. They are computed
/// as attention over the identity matrix, so they are 0 where a query does not see a key, and include dropout if the options have it.
/// Takes as long as attention() for every head_size keys.
Tensor attention_weights(HeadColumns q, HeadColumns k, const AttentionOptions& options);

/// Self-attention of a packed qkv (B, T, 3C), C = heads * head_size: columns of q, then of k, then of v.
inline Tensor self_attention(Tensor qkv, const AttentionOptions& options) {
  const index width = options.heads * options.head_size;
  return attention({qkv, 0}, {qkv, width}, {qkv, 2 * width}, options);
}

}  // namespace dikkat
