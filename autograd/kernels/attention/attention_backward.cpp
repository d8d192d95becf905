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
constexpr index kMostCopies = 4;  // of a block of queries, one for each chunk of keys; with more chunks, they share one
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

/// The factor of scores, in base 2.
template <class T>
T factor_of_scores(const AttentionShape& s) {
  return static_cast<T>(s.scale * std::numbers::log2e);
}

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
  void fill(const AttentionBackward<Operand, T>& p, index b, index h, index query) const {
    const AttentionShape& s = p.shape;
    const T factor = scales_scores<Operand, T>() ? T(1) : factor_of_scores<T>(s);
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

/// This thread's memory for a ChunkTask, and its products.
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
  RowsAhead ahead{};
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
  T* query_blocks;  // (heads, blocks): copies of the queries that many chunks read; null: each task makes its own
  T* dq;            // (heads, queries, width): dq / scale of the chunks so far; null: one chunk has all keys
  T* dk;            // (heads of keys, keys, width): dk / scale of the group's heads so far; null: each head has keys of its own
  T* dv;            // as dk
  TaskOrder* order;
  const BlockIntervals<T>* see;
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

/// A tile of scores: a block of queries, and at most kBlock keys of a chunk.
template <class T>
struct ScoreTile {
  index query, count;  // the queries
  index key, at;       // the first key; where its rows of dk and dv begin
  const QueryBlock<T>& of;
  const Intervals<T>& see;
  Seen<T> seen;
};

/// The task of one chunk of the keys of one head. Computes dk and dv of these keys, and adds their part to dq / scale, for the blocks of
/// queries that see one of them. The last chunk writes dq, and the last head of a group dk and dv. With weights w, dw = dy v^T and, for
/// each query, delta = <dy, y>:
///   dv = w^T dy,  ds = w (dw - delta),  dq = scale ds k,  dk = scale ds^T q
template <class Operand, class T>
class ChunkTask {
 public:
  ChunkTask(const AttentionBackward<Operand, T>& p, const Shared<T>& shared, index head, index chunk)
      : p_(p), shared_(shared), head_(head), chunk_(chunk), b_(head / p.shape.heads), h_(head % p.shape.heads), m_(p.shape, shared.chunks) {
    const HeadRows<T> k = rows_in_place(p_.k, s_, p_.k_rotation, b_, key_head_, first_);
    const HeadRows<T> v = rows_in_place<T>(p_.v, s_, static_cast<const T*>(nullptr), b_, key_head_, first_);
    k_ = k.data == nullptr ? HeadRows<T>{m_.k, width_} : k;
    v_ = v.data == nullptr ? HeadRows<T>{m_.v, width_} : v;
  }

  void run() {
    for (index block = 0; block < blocks_; ++block) {
      add_block(block);
    }
    read_keys(held_);
    write_keys();
  }

 private:
  /// Gathers the chunk's first `count` keys and values, as far as they are not there yet and cannot be read in place, and begins their
  /// gradients.
  void read_keys(index count) {
    for (; read_ < count; read_ = std::min(read_ + kBlock, held_)) {
      const index keys = std::min(kBlock, held_ - read_);
      const index at = read_ * width_;
      if (k_.data == m_.k) {
        gather(p_.k, s_, p_.k_rotation, b_, key_head_, first_ + read_, keys, keys, m_.k + at);
      }
      if (v_.data == m_.v) {
        gather<Operand, T>(p_.v, s_, nullptr, b_, key_head_, first_ + read_, keys, keys, m_.v + at);
      }
      std::fill_n(m_.dk + at, keys * width_, T(0));
      std::fill_n(m_.dv + at, keys * width_, T(0));
      const index next = read_ + keys;
      fetch_ahead(p_.k, key_head_, first_ + next, std::min(kBlock, held_ - next));
      fetch_ahead(p_.v, key_head_, first_ + next, std::min(kBlock, held_ - next));
    }
  }
  /// Lets the products fetch rows of a head.
  template <class Element>
  void fetch_ahead(const Heads<Element>& heads, index h, index first, index count) {
    if (heads.data != nullptr) {
      m_.ahead.add(head_at(heads, s_, b_, h) + first * heads.row_stride, heads.row_stride, count, s_.head_size);
    }
  }

  /// Adds a block of queries to dk and dv, and in turn the chunk's keys to the block's dq.
  void add_block(index block) {
    const index query = block * kBlock;
    const index count = std::min(kBlock, s_.queries - query);
    const Intervals<T>& see = shared_.see->at(b_, block);
    T* dq = shared_.dq == nullptr ? m_.dq : shared_.dq + (head_ * s_.queries + query) * width_;
    if (chunk_ == 0) {
      std::fill_n(dq, count * width_, T(0));
    }
    if (see.whole.sees_any(first_, held_)) {
      const index block_size = QueryBlock<T>::size(width_);
      const bool is_shared = shared_.query_blocks != nullptr;
      const QueryBlock<T> of(width_, is_shared ? shared_.query_blocks + (head_ * blocks_ + block) * block_size : m_.queries);
      if (!is_shared) {
        of.fill(p_, b_, h_, query);
        fetch_ahead(p_.q, h_, query + kBlock, std::min(kBlock, s_.queries - query - kBlock));
        fetch_ahead(p_.dy, h_, query + kBlock, std::min(kBlock, s_.queries - query - kBlock));
        fetch_ahead(p_.y, h_, query + kBlock, std::min(kBlock, s_.queries - query - kBlock));
      }
      for (index key = first_; key < first_ + held_; key += kBlock) {
        const index keys = std::min(kBlock, first_ + held_ - key);
        read_keys(key - first_ + keys);
        const ScoreTile<T> tile{query, count, key, (key - first_) * width_, of, see, Seen<T>(see, key, keys)};
        compute_weights_again(tile);
        add_to_keys(tile);
        take_turn(block);
        add_to_queries(tile, dq);
      }
    }
    take_turn(block);
    if (chunk_ == shared_.chunks.count - 1) {
      scatter(p_.dq, s_, p_.q_rotation, b_, h_, query, count, dq, static_cast<T>(s_.scale));
    } else {
      shared_.order->report(shared_.task(head_, chunk_), block + 1);
    }
  }
  /// Returns when the chunk before this one has added to the block's dq.
  void take_turn(index block) const {
    if (chunk_ > 0) {
      shared_.order->wait(shared_.task(head_, chunk_ - 1), block + 1);
    }
  }

  /// Computes a tile's w and ds, (keys, queries).
  void compute_weights_again(const ScoreTile<T>& t) {
    const auto scores = [&](const Part& part, const HeadRows<T>& a, const T* b_t, T* c, T of_scores) {
      m_.products({.m = part.keys,
                   .n = part.queries,
                   .k = s_.head_size,
                   .a = a.data + (t.key - first_ + part.key) * a.stride,
                   .a_row = a.stride,
                   .b = b_t + part.query,
                   .ldb = kBlock,
                   .c = c + part.key * kBlock + part.query,
                   .ldc = kBlock,
                   .ahead = &m_.ahead},
                  of_scores);
    };
    t.seen.by_keys([&](const Part& part) {
      scores(part, k_, t.of.q_t, m_.weights, factor_);
      scores(part, v_, t.of.dy_t, m_.ds, T(1));
    });
    for (const Part& part : t.seen) {
      if (!t.seen.whole()) {
        hide_keys(t.see, t.key, part, m_.weights);
      }
      if (s_.dropout > 0) {
        draw_dropout(s_, b_, h_, t.query, t.key, part, m_.keep);
      }
      weigh_again(part, m_.weights, m_.ds, s_.dropout > 0 ? m_.keep : nullptr, t.of);
    }
  }

  /// Adds w^T dy to the chunk's dv, and ds^T q to its dk / scale.
  void add_to_keys(const ScoreTile<T>& t) {
    const auto add = [&](const Part& part, const T* a, const T* rows, T* c) {
      m_.products({.m = part.keys,
                   .n = width_,
                   .k = std::min(part.queries, t.count - part.query),
                   .a = a + part.key * kBlock + part.query,
                   .a_row = kBlock,
                   .b = rows + part.query * width_,
                   .ldb = width_,
                   .c = c + part.key * width_,
                   .ldc = width_,
                   .add = true,
                   .ahead = &m_.ahead});
    };
    t.seen.by_keys([&](const Part& part) {
      add(part, m_.weights, t.of.dy, m_.dv + t.at);
      add(part, m_.ds, t.of.q, m_.dk + t.at);
    });
  }

  /// Adds ds k to the block's dq / scale.
  void add_to_queries(const ScoreTile<T>& t, T* dq) {
    for (const Part& part : t.seen) {
      m_.products({.m = std::min(part.queries, t.count - part.query),
                   .n = width_,
                   .k = part.keys,
                   .a = m_.ds + part.key * kBlock + part.query,
                   .a_row = 1,
                   .a_col = kBlock,
                   .b = k_.data + (t.key - first_ + part.key) * k_.stride,
                   .ldb = k_.stride,
                   .c = dq + part.query * width_,
                   .ldc = width_,
                   .add = true,
                   .ahead = &m_.ahead});
    }
  }

  /// Writes dk and dv. The heads of a group add theirs in turn, and the last one writes them.
  void write_keys() const {
    if (shared_.dk != nullptr) {
      const index in_group = h_ % s_.group();
      if (in_group > 0) {
        shared_.order->wait(shared_.task(head_ - 1, chunk_), blocks_ + 1);
      }
      const index at = ((b_ * s_.heads_of_keys() + key_head_) * s_.keys + first_) * width_;
      add_to_group(in_group == 0, held_ * width_, m_.dk, shared_.dk + at);
      add_to_group(in_group == 0, held_ * width_, m_.dv, shared_.dv + at);
      shared_.order->report(shared_.task(head_, chunk_), blocks_ + 1);
      if (in_group < s_.group() - 1) {
        return;
      }
    }
    scatter(p_.dk, s_, p_.k_rotation, b_, key_head_, first_, held_, m_.dk, static_cast<T>(s_.scale));
    scatter<Operand, T>(p_.dv, s_, nullptr, b_, key_head_, first_, held_, m_.dv, T(1));
  }

  const AttentionBackward<Operand, T>& p_;
  const AttentionShape& s_ = p_.shape;
  const Shared<T>& shared_;
  index head_, chunk_;
  index b_, h_;  // the head's batch, and its index there
  index key_head_ = h_ / s_.group();
  index first_ = chunk_ * shared_.chunks.keys;                    // the first key
  index held_ = std::min(shared_.chunks.keys, s_.keys - first_);  // keys
  index blocks_ = ceil_div(s_.queries, kBlock);                   // of queries
  index read_ = 0;                                                // keys that are gathered
  T factor_ = factor_of_scores<T>(s_);
  BackwardMemory<Operand, T> m_;
  index width_ = m_.width;
  HeadRows<T> k_, v_;  // the chunk's
};

}  // namespace

template <class Operand, class T>
void attention_backward(const AttentionBackward<Operand, T>& p) {
  const AttentionShape& s = p.shape;
  const Chunks chunks(s);
  const index heads = s.batch * s.heads;
  const index width = round_up(s.head_size, kLanes<T>);
  const bool one = chunks.count == 1;
  // With several chunks, the tasks share a dq that they add to in turn.
  const index grouped = s.group() == 1 ? 0 : s.batch * s.heads_of_keys() * s.keys * width;
  const Scratch<T> dq(one ? 0 : heads * s.queries * width);
  const Scratch<T> dk(grouped), dv(grouped);
  TaskOrder order(one && grouped == 0 ? 0 : heads * chunks.count);
  const index blocks = ceil_div(s.queries, kBlock);
  const index block_size = QueryBlock<T>::size(width);
  const bool shares_queries = chunks.count > kMostCopies;
  const Scratch<T> query_blocks(shares_queries ? heads * blocks * block_size : 0);
  if (shares_queries) {
    parallel_for(heads * blocks, Work::elements(heads * blocks * block_size), [&](index task) {
      const index head = task / blocks;
      QueryBlock<T>(width, query_blocks + task * block_size).fill(p, head / s.heads, head % s.heads, task % blocks * kBlock);
    });
  }
  const BlockIntervals<T> see(s);
  const Shared<T> shared{.chunks = chunks,
                         .heads = heads,
                         .query_blocks = shares_queries ? query_blocks.data() : nullptr,
                         .dq = one ? nullptr : dq.data(),
                         .dk = grouped == 0 ? nullptr : dk.data(),
                         .dv = dv.data(),
                         .order = &order,
                         .see = &see};
  auto lease = [&] { BackwardMemory<Operand, T>{s, chunks}; };
  // The first chunks of all heads come first: under a causal mask most queries see them, and the longest tasks should not begin last.
  auto run = [&](index task) { ChunkTask<Operand, T>(p, shared, task % heads, task / heads).run(); };
  for_each_task(heads * chunks.count, !one, work_of(s, 5), lease, run);
}

template void attention_backward(const AttentionBackward<float>&);
template void attention_backward(const AttentionBackward<double>&);
template void attention_backward(const AttentionBackward<float, double>&);
template void attention_backward(const AttentionBackward<bf16, float>&);

}  // namespace dikkat::kernels
