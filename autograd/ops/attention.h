#pragma once

#include <optional>
#include <span>

#include "autograd/simd/philox.h"
#include "autograd/tape/tensor.h"

namespace dikkat {

/// Columns of x (B, T, width), starting at `column`: `heads * head_size` for queries, `key_heads * head_size` for keys and for values.
/// Queries, keys and values may be columns of one tensor, such as a packed (B, T, 3C). They are read in place, and their gradients are
/// written in place.
struct HeadColumns {
  Tensor x;
  index column = 0;
};

/// Keys and values of a sequence's earlier positions. A row is k | v, of key_heads * head_size columns each; keys are rotated already.
struct CachedRows {
  void* data = nullptr;     // (max_positions, 2 * key_heads * head_size)
  index max_positions = 0;  // rows that there is memory for
  index length = 0;         // rows that the sequence has
};

/// Keys and values of earlier positions. attention() appends its own k and v, and its queries see both. The owner of the memory keeps the
/// lengths up to date.
struct AttentionCache {
  DType dtype = DType::f32;                 // type of q, k and v, or bf16 if those are f32
  std::span<const CachedRows> sequences{};  // at least as many as a call has
};

struct AttentionOptions {
  index heads = 1;  // heads of queries
  index head_size = 0;
  index key_heads = 0;  // heads of keys and values: each serves heads / key_heads adjacent heads of queries; 0: as many as heads
  /// Rotary positions: (T, head_size) of cosines | sines as RotaryPositions makes them, in the type that q is computed in; absent: none.
  /// Query i and key i are rotated by row i, so there must be as many queries as keys. head_size is even. With a cache it may be (B, T,
  /// head_size): each sequence has its own rows.
  Tensor rotation{};
  std::optional<double> scale{};  // factor of the scores; by default 1 / sqrt(head_size)
  bool causal = false;            // query i sees keys up to query_offset + i
  index query_offset = 0;
  index window = 0;               // if causal: only the last `window` of the keys up to query_offset + i; 0: all
  Tensor key_begin{}, key_end{};  // i32 (B, queries), or absent: query i of batch b sees keys key_begin[b, i] to key_end[b, i] - 1
  Tensor key_batch{};             // for inference only: i32 (B), batch b sees keys and values of batch key_batch[b]; absent: b
  double dropout = 0;             // probability that a weight becomes 0
  RandomStream stream{};          // the random numbers of dropout
  index first_batch = 0;          // index of the first sequence in the step's batch, if this is a part of it
  /// bf16: keys, rotated, and values that are f32 are rounded first, as a cache of this type stores them. For inference only.
  std::optional<DType> keys{};
  const AttentionCache* cache = nullptr;  // for inference only, without key_begin and key_end; query_offset counts from its end
};

/// Returns softmax(scale q k^T) v for each head: q (B, queries, ...), k and v (B, keys, ...) to (B, queries, heads * head_size). With fewer
/// heads of keys than of queries it is grouped-query attention (Ainslie et al., arXiv 2305.13245). The result of a query that sees no key
/// is 0. No (queries, keys) matrix is stored. Columns of two operands in one tensor must be the same or disjoint. Throws Error for shapes
/// or key bounds that do not fit, for a cache that is full, and for a cache on a tape that records.
Tensor attention(HeadColumns q, HeadColumns k, HeadColumns v, const AttentionOptions& options);

/// Returns the weights by which attention() multiplies values, (B, H, queries, keys), for inspection: they have no gradient. They are
/// computed as attention over the identity matrix. So they are 0 where a query does not see a key, and include dropout if the options have
/// it. Takes ceil(keys / head_size) times as long as attention().
Tensor attention_weights(HeadColumns q, HeadColumns k, const AttentionOptions& options);

/// Returns the self-attention of a packed qkv (B, T, (heads + 2 key_heads) * head_size): columns of q, then of k, then of v.
inline Tensor self_attention(Tensor qkv, const AttentionOptions& options) {
  const index width = options.heads * options.head_size;
  const index key_width = options.key_heads == 0 ? width : options.key_heads * options.head_size;
  return attention({qkv, 0}, {qkv, width}, {qkv, width + key_width}, options);
}

}  // namespace dikkat
