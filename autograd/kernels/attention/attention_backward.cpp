#include <algorithm>
#include <numbers>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/attention/attention_tiles.h"
#include "autograd/kernels/gemm/tile_transpose.h"
#include "autograd/kernels/task_order.h"
#include "autograd/simd/exp.h"

namespace dikkat::kernels {
namespace {

using namespace attention_tiles;

constexpr index kMostTiles = 4;   // of keys that a task holds in cache while it reads the queries
constexpr index kLeastTiles = 2;  // with fewer, queries are read too often
constexpr index kTasks = 48;      // least number of tasks, if there are enough keys

/// The keys of a head are divided into chunks of equal size, one for each task. Depends only on the shape.
struct Chunks {
  index keys;   // of a chunk
  index count;  // of a head's chunks

  explicit Chunks(const AttentionShape& s) {
    index tiles = kMostTiles;
    while (tiles > kLeastTiles && s.batch * s.heads * ceil_div(s.keys, tiles * kBlock) < kTasks) {
      tiles /= 2;
    }
    keys = tiles * kBlock;
    count = std::max<index>(ceil_div(s.keys, keys), 1);
  }
};

/// A block of queries as backward reads it.
template <class T>
struct QueryBlock {
  QueryBlock(index width, T* memory) : pieces(memory) {
    q = pieces.take(kBlock * width);
    q_t = pieces.take(kBlock * width);
    dy = pieces.take(kBlock * width);
    dy_t = pieces.take(kBlock * width);
    log2_sum = pieces.take(kBlock);
    delta = pieces.take(kBlock);
  }
  static index size(index width) { return (4 * width + 2) * kBlock; }

  Pieces<T> pieces;
  T* q;         // (queries, width)
  T* q_t;       // (width, queries), times `factor`
  T* dy;        // (queries, width)
  T* dy_t;      // (width, queries)
  T* log2_sum;  // +inf past the end, so that weights there are 0
  T* delta;     // <dy, y>

  template <class Operand>
  void fill(const AttentionBackward<Operand, T>& p, index b, index h, index query, T factor) const {
    const AttentionShape& s = p.shape;
    const index width = round_up(s.head_size, kLanes<T>);
    const index count = std::min(kBlock, s.queries - query);
    const index columns = round_up(count, kLanes<T>);
    gather(p.q, s, p.q_rotation, b, h, query, count, columns, q);
    gather<Operand, T>(p.dy, s, nullptr, b, h, query, count, columns, dy);
    tile_transpose(columns, width, factor, q, width, q_t, kBlock);
    tile_transpose(columns, width, T(1), dy, width, dy_t, kBlock);
    std::fill_n(log2_sum, kBlock, kInfinity<T>);
    std::fill_n(delta, kBlock, T(0));
    const Operand* y = head_at(p.y, s, b, h) + query * p.y.row_stride;
    for (index i = 0; i < count; ++i) {
      log2_sum[i] = p.log2_sum[(b * s.heads + h) * s.queries + query + i];
      Vec<T> products{};
      simd::for_vectors<T>(0, s.head_size, [&](index d, auto lanes) {
        products += simd::load(dy + i * width + d) * simd::load_as<T>(y + i * p.y.row_stride + d, lanes);
      });
      delta[i] = simd::sum<T>(products);
    }
  }
};

/// The factor of scores, in base 2.
template <class T>
T factor_of_scores(const AttentionShape& s) {
  return static_cast<T>(s.scale * std::numbers::log2e);
}

/// This thread's memory for backward_chunk(), and its products.
template <class Operand, class T>
struct BackwardMemory {
  BackwardMemory(const AttentionShape& s, const Chunks& chunks)
      : products(s),
        width(round_up(s.head_size, kLanes<T>)),
        held(chunks.keys * width),
        memory(QueryBlock<T>::size(width) + 4 * held + 3 * kBlock * kBlock + (chunks.count == 1 ? kBlock * width : 0)),
        pieces(memory) {}

  Products<Operand, T> products;
  index width;  // of a head's row, in whole vectors
  index held;   // numbers of a chunk
  Scratch<T> memory;
  Pieces<T> pieces;
  T* queries = pieces.take(QueryBlock<T>::size(width));
  T* weights = pieces.take(kBlock * kBlock);  // (keys, queries)
  T* ds = pieces.take(kBlock * kBlock);       // (keys, queries)
  T* keep = pieces.take(kBlock * kBlock);     // (keys, queries)
  T* k = pieces.take(held);                   // (keys, width)
  T* v = pieces.take(held);
  T* dk = pieces.take(held);
  T* dv = pieces.take(held);
  T* dq = pieces.take(0);  // of a block of queries (queries, width), if one chunk has all keys
};

/// Replaces scores by weights w, and ds, which holds dw, by w (dw - delta). Dropped weights become 0.
template <class T>
void weigh_again(const Part& part, T* scores, T* ds, const T* keep, const QueryBlock<T>& of) {
  for (index j = part.key; j < part.key + part.keys; ++j) {
    for (index i = part.query; i < part.query + part.queries; i += kLanes<T>) {
      const index at = j * kBlock + i;
      const Vec<T> w = simd::exp2_of_negative(simd::load(scores + at) - simd::load(of.log2_sum + i));
      const Vec<T> mask = keep == nullptr ? simd::broadcast(T(1)) : simd::load(keep + at);
      simd::store(scores + at, w * mask);
      simd::store(ds + at, w * (simd::load(ds + at) * mask - simd::load(of.delta + i)));
    }
  }
}

/// The data that all tasks share. Task (head, chunk) has number chunk * heads + head; its steps are the blocks of queries, and then dk and
/// dv. In turn, the chunks of a head add to each block of its dq, and the heads of a group to a chunk's dk and dv.
template <class T>
struct Shared {
  Chunks chunks;
  index heads;      // of all batches
  T* query_blocks;  // (heads, blocks): copies of the queries; null: each task makes its own
  T* dq;            // (heads, queries, width): dq / scale of the chunks so far; null: one chunk has all keys
  T* dk;            // (heads of keys, keys, width): dk / scale of the group's heads so far; null: each head has keys of its own
  T* dv;            // as dk
  TaskOrder* order;
  index task(index head, index chunk) const { return chunk * heads + head; }
};

/// Adds a task's dk or dv (count, width) to the sum of the earlier heads of its group. The result is in `own` too.
template <class T>
void add_to_group(bool first, index count, T* own, T* of_group) {
  for (index i = 0; i < count; i += kLanes<T>) {  // rows are whole vectors
    const Vec<T> sum = first ? simd::load(own + i) : simd::load(of_group + i) + simd::load(own + i);
    simd::store(own + i, sum);
    simd::store(of_group + i, sum);
  }
}

/// Handles one chunk of the keys of one head. Computes dk and dv of these keys, and adds their part to dq / scale, for the blocks of
/// queries that see one of them. The last chunk writes dq, and the last head of a group dk and dv. With weights w, dw = dy v^T and, for
/// each query, delta = <dy, y>:
///   dv = w^T dy,  ds = w (dw - delta),  dq = scale ds k,  dk = scale ds^T q
template <class Operand, class T>
void backward_chunk(const AttentionBackward<Operand, T>& p, const Shared<T>& shared, index head, index chunk) {
  const AttentionShape& s = p.shape;
  const index b = head / s.heads;
  const index h = head % s.heads;
  const BackwardMemory<Operand, T> m(s, shared.chunks);
  const T factor = factor_of_scores<T>(s);
  const index width = m.width;
  const index first = chunk * shared.chunks.keys;
  const index held = std::min(shared.chunks.keys, s.keys - first);
  const index key_head = h / s.group();
  gather(p.k, s, p.k_rotation, b, key_head, first, held, held, m.k);
  gather<Operand, T>(p.v, s, nullptr, b, key_head, first, held, held, m.v);
  std::fill_n(m.dk, held * width, T(0));
  std::fill_n(m.dv, held * width, T(0));
  // Each block of queries adds to dk and dv, and in turn to dq.
  const index blocks = ceil_div(s.queries, kBlock);
  for (index block = 0; block < blocks; ++block) {
    const index query = block * kBlock;
    const index count = std::min(kBlock, s.queries - query);
    const Intervals<T> see(s, b, query, count);
    T* dq = shared.dq == nullptr ? m.dq : shared.dq + (head * s.queries + query) * width;
    if (chunk == 0) {
      std::fill_n(dq, count * width, T(0));
    }
    bool is_my_turn = chunk == 0;
    const auto take_turn = [&] {
      if (!is_my_turn) {
        shared.order->wait(shared.task(head, chunk - 1), block + 1);
        is_my_turn = true;
      }
    };
    if (see.whole.sees_any(first, held)) {
      const index block_size = QueryBlock<T>::size(width);
      const QueryBlock<T> of(width,
                             shared.query_blocks == nullptr ? m.queries : shared.query_blocks + (head * blocks + block) * block_size);
      if (shared.query_blocks == nullptr) {
        of.fill(p, b, h, query, scales_scores<Operand, T>() ? T(1) : factor);
      }
      // One tile of scores at a time: recompute the weights, then add the tile's part of each gradient.
      for (index key = first; key < first + held; key += kBlock) {
        const index keys = std::min(kBlock, first + held - key);
        const Seen<T> seen(see, key, keys);
        const index at = (key - first) * width;
        seen.by_keys([&](const Part& part) {
          const auto scores = [&](const T* a, const T* b_t, T* c, T of_scores) {
            m.products({.m = part.keys,
                        .n = part.queries,
                        .k = s.head_size,
                        .a = a + part.key * width,
                        .a_row = width,
                        .b = b_t + part.query,
                        .ldb = kBlock,
                        .c = c + part.key * kBlock + part.query,
                        .ldc = kBlock},
                       of_scores);
          };
          scores(m.k + at, of.q_t, m.weights, factor);
          scores(m.v + at, of.dy_t, m.ds, T(1));
        });
        for (const Part& part : seen) {
          if (!seen.whole()) {
            hide_keys(see, key, part, m.weights);
          }
          if (s.dropout > 0) {
            draw_dropout(s, b, h, query, key, part, m.keep);
          }
          weigh_again(part, m.weights, m.ds, s.dropout > 0 ? m.keep : nullptr, of);
        }
        seen.by_keys([&](const Part& part) {
          const auto add = [&](const T* a, const T* rows, T* c) {
            m.products({.m = part.keys,
                        .n = width,
                        .k = std::min(part.queries, count - part.query),
                        .a = a + part.key * kBlock + part.query,
                        .a_row = kBlock,
                        .b = rows + part.query * width,
                        .ldb = width,
                        .c = c + part.key * width,
                        .ldc = width,
                        .add = true});
          };
          add(m.weights, of.dy, m.dv + at);
          add(m.ds, of.q, m.dk + at);
        });
        take_turn();
        for (const Part& part : seen) {
          m.products({.m = std::min(part.queries, count - part.query),
                      .n = width,
                      .k = part.keys,
                      .a = m.ds + part.key * kBlock + part.query,
                      .a_row = 1,
                      .a_col = kBlock,
                      .b = m.k + at + part.key * width,
                      .ldb = width,
                      .c = dq + part.query * width,
                      .ldc = width,
                      .add = true});
        }
      }
    }
    take_turn();
    if (chunk == shared.chunks.count - 1) {
      scatter(p.dq, s, p.q_rotation, b, h, query, count, dq, static_cast<T>(s.scale));
    } else {
      shared.order->report(shared.task(head, chunk), block + 1);
    }
  }
  // The heads of a group add their dk and dv in turn, and the last one writes them.
  if (shared.dk != nullptr) {
    const index in_group = h % s.group();
    if (in_group > 0) {
      shared.order->wait(shared.task(head - 1, chunk), blocks + 1);
    }
    const index at = ((b * s.heads_of_keys() + key_head) * s.keys + first) * width;
    add_to_group(in_group == 0, held * width, m.dk, shared.dk + at);
    add_to_group(in_group == 0, held * width, m.dv, shared.dv + at);
    shared.order->report(shared.task(head, chunk), blocks + 1);
    if (in_group < s.group() - 1) {
      return;
    }
  }
  scatter(p.dk, s, p.k_rotation, b, key_head, first, held, m.dk, static_cast<T>(s.scale));
  scatter<Operand, T>(p.dv, s, nullptr, b, key_head, first, held, m.dv, T(1));
}

}  // namespace

template <class Operand, class T>
void attention_backward(const AttentionBackward<Operand, T>& p) {
  const AttentionShape& s = p.shape;
  const Chunks chunks(s);
  const index heads = s.batch * s.heads;
  const index width = round_up(s.head_size, kLanes<T>);
  const index blocks = ceil_div(s.queries, kBlock);
  const index block_size = QueryBlock<T>::size(width);
  const bool one = chunks.count == 1;
  // With several chunks, the tasks share copies of the queries and a dq that they add to in turn.
  const index grouped = s.group() == 1 ? 0 : s.batch * s.heads_of_keys() * s.keys * width;
  const Scratch<T> dq(one ? 0 : heads * s.queries * width);
  const Scratch<T> query_blocks(one ? 0 : heads * blocks * block_size);
  const Scratch<T> dk(grouped), dv(grouped);
  TaskOrder order(one && grouped == 0 ? 0 : heads * chunks.count);
  if (!one) {
    const T factor = scales_scores<Operand, T>() ? T(1) : factor_of_scores<T>(s);
    parallel_for(heads * blocks, Work::elements(heads * blocks * block_size), [&](index task) {
      const index head = task / blocks;
      QueryBlock<T>(width, query_blocks + task * block_size).fill(p, head / s.heads, head % s.heads, task % blocks * kBlock, factor);
    });
  }
  const Shared<T> shared{.chunks = chunks,
                         .heads = heads,
                         .query_blocks = one ? nullptr : query_blocks.data(),
                         .dq = one ? nullptr : dq.data(),
                         .dk = grouped == 0 ? nullptr : dk.data(),
                         .dv = dv.data(),
                         .order = &order};
  auto lease = [&] { BackwardMemory<Operand, T>{s, chunks}; };
  // The first chunks of all heads come first: under a causal mask most queries see them, and the longest tasks should not begin last.
  auto run = [&](index task) { backward_chunk(p, shared, task % heads, task / heads); };
  for_each_task(heads * chunks.count, !one, work_of(s, 5), lease, run);
}

template void attention_backward(const AttentionBackward<float>&);
template void attention_backward(const AttentionBackward<double>&);
template void attention_backward(const AttentionBackward<float, double>&);
template void attention_backward(const AttentionBackward<bf16, float>&);

}  // namespace dikkat::kernels
