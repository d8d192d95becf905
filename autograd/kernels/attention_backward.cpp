#include <algorithm>
#include <numbers>

#include "autograd/base/exp.h"
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/attention_tiles.h"
#include "autograd/kernels/tile_gemm.h"
#include "autograd/kernels/tile_transpose.h"

namespace dikkat::kernels {
namespace {

using namespace attention_tiles;

constexpr index kTilesAtOnce = 4;  // tiles of keys that stay in cache while the loop goes over the queries
constexpr index kTasks = 48;       // least number of tasks: with fewer heads, the keys of a head are split into groups
constexpr index kMostGroups = 16;  // most groups that the keys of a head are split into

/// The keys of a head, split into groups of about equal work: group i is [first[i], first[i + 1]). Depends on the shape alone.
struct Groups {
  index count = 0;
  index first[kMostGroups + 1] = {};

  explicit Groups(const AttentionShape& s) {
    const index tiles = ceil_div(s.keys, kBlock);
    const index wanted =
        std::clamp<index>(ceil_div(kTasks, std::max<index>(s.batch * s.heads, 1)), 1, std::clamp<index>(tiles / 2, 1, kMostGroups));
    const auto queries_of = [&](index tile) {
      return s.causal ? std::clamp<index>(s.queries + s.query_offset - tile * kBlock, 1, s.queries) : s.queries;
    };
    index total = 0;
    for (index tile = 0; tile < tiles; ++tile) {
      total += queries_of(tile);
    }
    index done = 0;
    for (index tile = 0; tile < tiles; ++tile) {
      if (done * wanted >= count * total && count < wanted) {
        first[count++] = tile * kBlock;
      }
      done += queries_of(tile);
    }
    first[count] = s.keys;
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
  T* q_t;       // (width, queries), scaled
  T* dy;        // (queries, width)
  T* dy_t;      // (width, queries)
  T* log2_sum;  // +inf past the end, so that weights there are 0
  T* delta;     // <dy, y>

  template <class Operand>
  void fill(const AttentionBackward<Operand, T>& p, index b, index h, index query) const {
    const AttentionShape& s = p.shape;
    const index width = round_up(s.head_size, kLanes<T>);
    const index count = std::min(kBlock, s.queries - query);
    const index columns = round_up(count, kLanes<T>);
    gather(p.q, s, b, h, query, count, columns, q);
    gather(p.dy, s, b, h, query, count, columns, dy);
    tile_transpose(columns, width, static_cast<T>(s.scale * std::numbers::log2e), q, width, q_t, kBlock);
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

/// This thread's memory for backward_group().
template <class T>
struct BackwardMemory {
  BackwardMemory(const AttentionShape& s, bool own_dq)
      : width(round_up(s.head_size, kLanes<T>)),
        memory(QueryBlock<T>::size(width) + 4 * kTilesAtOnce * kBlock * width + 3 * kBlock * kBlock + (own_dq ? s.queries * width : 0)),
        pieces(memory) {}

  index width;  // of a head's row, in whole vectors
  Scratch<T> memory;
  Pieces<T> pieces;
  T* queries = pieces.take(QueryBlock<T>::size(width));
  T* weights = pieces.take(kBlock * kBlock);          // (keys, queries)
  T* ds = pieces.take(kBlock * kBlock);               // (keys, queries)
  T* keep = pieces.take(kBlock * kBlock);             // (keys, queries)
  T* k = pieces.take(kTilesAtOnce * kBlock * width);  // (keys, width)
  T* v = pieces.take(kTilesAtOnce * kBlock * width);
  T* dk = pieces.take(kTilesAtOnce * kBlock * width);
  T* dv = pieces.take(kTilesAtOnce * kBlock * width);
  T* dq = pieces.take(0);  // (queries, width), if this thread has a dq of its own
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

/// One group of keys of one head: computes dk and dv of these keys, and their part of dq / scale (queries, width), for the blocks of
/// queries that see one of them. `query_blocks` are the copies of the head's queries; if null, each block is copied when it is needed. With
/// weights w, dw = dy v^T and, for each query, delta = <dy, y>:  dv = w^T dy,  ds = w (dw - delta), dq = scale ds k,  dk = scale ds^T q.
template <class Operand, class T>
void backward_group(const AttentionBackward<Operand, T>& p, T* query_blocks, const BackwardMemory<T>& m, index b, index h,
                    index group_first, index group_last, T* dq) {
  const AttentionShape& s = p.shape;
  const index width = m.width;
  constexpr index kKeys = kTilesAtOnce * kBlock;
  for (index first = group_first; first < group_last; first += kKeys) {
    const index held = std::min(kKeys, group_last - first);
    gather(p.k, s, b, h, first, held, held, m.k);
    gather(p.v, s, b, h, first, held, held, m.v);
    std::fill_n(m.dk, held * width, T(0));
    std::fill_n(m.dv, held * width, T(0));
    for (index query = 0; query < s.queries; query += kBlock) {
      const index count = std::min(kBlock, s.queries - query);
      const Intervals<T> see(s, b, query, count);
      if (!see.whole.sees_any(first, held)) {
        continue;
      }
      const QueryBlock<T> of(width, query_blocks == nullptr ? m.queries : query_blocks + query / kBlock * QueryBlock<T>::size(width));
      if (query_blocks == nullptr) {
        of.fill(p, b, h, query);
      }

      for (index key = first; key < first + held; key += kBlock) {
        const index keys = std::min(kBlock, first + held - key);
        const Seen<T> seen(see, key, keys);
        const index at = (key - first) * width;
        seen.by_keys([&](const Part& part) {
          const auto scores = [&](const T* a, const T* b_t, T* c) {
            tile_gemm<T>({.m = part.keys,
                          .n = part.queries,
                          .k = s.head_size,
                          .a = a + part.key * width,
                          .a_row = width,
                          .b = b_t + part.query,
                          .ldb = kBlock,
                          .c = c + part.key * kBlock + part.query,
                          .ldc = kBlock});
          };
          scores(m.k + at, of.q_t, m.weights);
          scores(m.v + at, of.dy_t, m.ds);
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
            tile_gemm<T>({.m = part.keys,
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
        for (const Part& part : seen) {
          tile_gemm<T>({.m = std::min(part.queries, count - part.query),
                        .n = width,
                        .k = part.keys,
                        .a = m.ds + part.key * kBlock + part.query,
                        .a_row = 1,
                        .a_col = kBlock,
                        .b = m.k + at + part.key * width,
                        .ldb = width,
                        .c = dq + (query + part.query) * width,
                        .ldc = width,
                        .add = true});
        }
      }
    }
    scatter(p.dk, s, b, h, first, held, m.dk, static_cast<T>(s.scale));
    scatter(p.dv, s, b, h, first, held, m.dv, T(1));
  }
}

}  // namespace

template <class Operand, class T>
void attention_backward(const AttentionBackward<Operand, T>& p) {
  const AttentionShape& s = p.shape;
  const Groups groups(s);
  const index heads = s.batch * s.heads;
  const index width = round_up(s.head_size, kLanes<T>);
  const bool one = groups.count <= 1;
  const index size = s.queries * width;
  // Each group of keys writes its part of dq to its own memory; the parts are added in the order of the groups.
  const Scratch<T> parts(one ? 0 : heads * groups.count * size);
  const auto write_dq = [&](index head, index query, T* first_part) {
    const index count = std::min(kBlock, s.queries - query);
    const Intervals<T> see(s, head / s.heads, query, count);
    T* sum = first_part + query * width;
    for (index group = 1; group < groups.count; ++group) {
      if (see.whole.sees_any(groups.first[group], groups.first[group + 1] - groups.first[group])) {
        for (index i = 0; i < count * width; i += kLanes<T>) {
          simd::store(sum + i, simd::load(sum + i) + simd::load(sum + group * size + i));
        }
      }
    }
    scatter(p.dq, s, head / s.heads, head % s.heads, query, count, sum, static_cast<T>(s.scale));
  };
  const index blocks = ceil_div(s.queries, kBlock);
  const index block_size = QueryBlock<T>::size(width);
  const bool queries_pass_again = blocks > 1 && s.keys > kTilesAtOnce * kBlock;
  const Scratch<T> query_blocks(queries_pass_again ? heads * blocks * block_size : 0);
  if (queries_pass_again) {
    parallel_for(heads * blocks, Work::elements(heads * blocks * block_size), [&](index task) {
      const index head = task / blocks;
      QueryBlock<T>(width, query_blocks + task * block_size).fill(p, head / s.heads, head % s.heads, task % blocks * kBlock);
    });
  }
  parallel_for_uneven(
      heads * std::max<index>(groups.count, 1), work_of(s, 5),
      [&] {
        BackwardMemory<T>{s, one};
      },
      [&](index task) {
        const BackwardMemory<T> m(s, one);
        const index group = one ? 0 : task % groups.count;
        const index head = one ? task : task / groups.count;
        T* dq = one ? m.dq : parts + task * size;
        std::fill_n(dq, size, T(0));
        backward_group(p, queries_pass_again ? query_blocks + head * blocks * block_size : nullptr, m, head / s.heads, head % s.heads,
                       groups.first[group], groups.first[group + 1], dq);
        for (index query = 0; one && query < s.queries; query += kBlock) {
          write_dq(head, query, dq);
        }
      });
  if (!one) {
    parallel_for(heads * blocks, Work::elements(heads * groups.count * size),
                 [&](index tile) { write_dq(tile / blocks, tile % blocks * kBlock, parts + tile / blocks * groups.count * size); });
  }
}

template void attention_backward(const AttentionBackward<float>&);
template void attention_backward(const AttentionBackward<double>&);
template void attention_backward(const AttentionBackward<float, double>&);
template void attention_backward(const AttentionBackward<bf16, float>&);

}  // namespace dikkat::kernels
