#include "autograd/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/exp2.h"
#include "autograd/kernels/tile_gemm.h"
#include "autograd/kernels/tile_transpose.h"

// Tiles of scores are kept transposed, (keys, queries): a row is one key against a block of queries, so maxima and sums over keys
// are plain vector operations. Rows of heads lie far apart in memory, often in the same places of a cache, so what a tile needs is
// copied next to each other first. Scores are those of base 2: log2(e) is a part of the factor that queries are multiplied by.
namespace dikkat::kernels {
namespace {

using simd::IntVec;
using simd::kLanes;
using simd::Vec;

constexpr index kBlock = 64;       // queries, and keys, of a tile
constexpr index kTilesAtOnce = 4;  // of keys, that backward holds while queries pass by
constexpr index kTasks = 48;       // that backward is cut into at least, where there are fewer heads
constexpr index kMostGroups = 16;  // that the keys of a head are cut into for this

template <class T>
constexpr index kPanel = 2 * kLanes<T>;  // queries that are looked at together in tiles that they see in part
template <class T>
constexpr index kPanels = kBlock / kPanel<T>;
template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

template <class T>
T* head_at(const Heads<T>& heads, const AttentionShape& s, index b, index h) {
  return heads.data + b * heads.batch_stride + h * s.head_size;
}

/// to (rows, width) = `count` rows of a head, then zeros. Rows are padded with zeros to whole vectors.
template <class T>
void gather(const Heads<const T>& heads, const AttentionShape& s, index b, index h, index first, index count, index rows, T* to) {
  const T* from = head_at(heads, s, b, h) + first * heads.row_stride;
  const index width = round_up(s.head_size, kLanes<T>);
  for (index row = 0; row < count; ++row) {
    simd::for_vectors<T>(0, s.head_size, [&](index d, auto lanes) {
      simd::store(to + row * width + d, simd::load(from + row * heads.row_stride + d, lanes));
    });
  }
  std::fill_n(to + count * width, (rows - count) * width, T(0));
}

/// The reverse, of `count` rows multiplied by a factor.
template <class T>
void scatter(const HeadsOut<T>& out, const AttentionShape& s, index b, index h, index first, index count, const T* rows, T factor) {
  if (out.at.data == nullptr) {
    return;
  }
  T* to = head_at(out.at, s, b, h) + first * out.at.row_stride;
  const index width = round_up(s.head_size, kLanes<T>);
  for (index row = 0; row < count; ++row) {
    simd::for_vectors<T>(0, s.head_size, [&](index d, auto lanes) {
      T* place = to + row * out.at.row_stride + d;
      const Vec<T> before = out.add ? simd::load(place, lanes) : Vec<T>{};
      simd::store(place, before + factor * simd::load(rows + row * width + d), lanes);
    });
  }
}

/// The keys that the queries of a block see.
template <class T>
struct Intervals {
  struct Panel {
    index all_first, all_last;  // each of its queries sees [all_first, all_last)
    index any_first, any_last;  // none sees a key outside of [any_first, any_last), which is empty where none sees any
    void add(index lo, index hi) {
      all_first = std::max(all_first, lo);
      all_last = std::min(all_last, hi);
      if (lo < hi) {
        any_first = std::min(any_first, lo);
        any_last = std::max(any_last, hi);
      }
    }
    bool sees_all(index key, index count) const { return all_first <= key && key + count <= all_last; }
    bool sees_any(index key, index count) const { return key < any_last && any_first < key + count; }
  };
  IntVec<T> first[kBlock / kLanes<T>], last[kBlock / kLanes<T>];  // by query; lanes past the block's end are of any value
  Panel panels[kPanels<T>];
  Panel whole;
  index columns;  // queries, in whole vectors

  Intervals(const AttentionShape& s, index b, index query, index count) : columns(round_up(count, kLanes<T>)) {
    const Panel nothing{0, s.keys, s.keys, 0};
    whole = nothing;
    for (index i = 0; i < count; ++i) {
      const index at = b * s.queries + query + i;
      const index lo = s.first_key == nullptr ? 0 : s.first_key[at];
      index hi = s.last_key == nullptr ? s.keys : s.last_key[at];
      if (s.causal) {
        hi = std::min(hi, s.query_offset + query + i + 1);
      }
      hi = std::max(hi, lo);
      Panel& panel = panels[i / kPanel<T>];
      if (i % kPanel<T> == 0) {
        panel = nothing;
      }
      panel.add(lo, hi);
      whole.add(lo, hi);
      first[i / kLanes<T>][i % kLanes<T>] = static_cast<std::int32_t>(lo);
      last[i / kLanes<T>][i % kLanes<T>] = static_cast<std::int32_t>(hi);
    }
  }
};

/// A rectangle of a tile, counted from the tile's first key and query.
struct Part {
  index key = 0, keys = 0, query = 0, queries = 0;
};

/// What is computed of a tile: all of it, or for each panel of queries the keys between the first and the last that one of them sees, in
/// steps of kPanel.
template <class T>
class Seen {
 public:
  Seen(const Intervals<T>& see, index key, index keys) : whole_(see.whole.sees_all(key, keys)), keys_(keys) {
    if (whole_) {
      parts_[count_++] = {0, keys, 0, see.columns};
      return;
    }
    for (index query = 0; query < see.columns; query += kPanel<T>) {
      const auto& panel = see.panels[query / kPanel<T>];
      if (panel.sees_any(key, keys)) {
        const index first = std::max<index>(panel.any_first - key, 0) / kPanel<T> * kPanel<T>;
        const index last = std::min(round_up(panel.any_last - key, kPanel<T>), keys);
        parts_[count_++] = {first, last - first, query, std::min(kPanel<T>, see.columns - query)};
      }
    }
  }
  bool whole() const { return whole_; }
  const Part* begin() const { return parts_; }
  const Part* end() const { return parts_ + count_; }

  /// Calls f for the same, cut by keys: each part has the queries of neighbouring panels.
  template <class F>
  void by_keys(F&& f) const {
    if (whole_) {
      f(parts_[0]);
      return;
    }
    for (index key = 0; key < keys_; key += kPanel<T>) {
      Part run{key, std::min(kPanel<T>, keys_ - key), 0, 0};
      for (const Part& part : *this) {
        if (key < part.key || part.key + part.keys <= key) {
          continue;
        }
        if (run.queries > 0 && run.query + run.queries < part.query) {
          f(run);
          run.queries = 0;
        }
        run.query = run.queries == 0 ? part.query : run.query;
        run.queries = part.query + part.queries - run.query;
      }
      if (run.queries > 0) {
        f(run);
      }
    }
  }

 private:
  Part parts_[kPanels<T>];
  int count_ = 0;
  bool whole_;
  index keys_;
};

/// scores (keys, kBlock) of a part of a panel: -inf where the query does not see the key.
template <class T>
void hide_keys(const Intervals<T>& see, index key, const Part& part, T* scores) {
  const auto& panel = see.panels[part.query / kPanel<T>];
  for (index j = part.key; j < part.key + part.keys; ++j) {
    if (panel.sees_all(key + j, 1)) {
      continue;
    }
    const IntVec<T> place = IntVec<T>{} + static_cast<std::int32_t>(key + j);
    for (index i = part.query; i < part.query + part.queries; i += kLanes<T>) {
      T* at = scores + j * kBlock + i;
      const auto seen = (place >= see.first[i / kLanes<T>]) & (place < see.last[i / kLanes<T>]);
      simd::store(at, seen ? simd::load(at) : simd::broadcast(-kInfinity<T>));
    }
  }
}

/// keep (keys, kBlock): 0 for a dropped weight, 1 / (1 - dropout) for a kept one. The tile begins at (query, key).
template <class T>
void draw_dropout(const AttentionShape& s, index b, index h, index query, index key, const Part& part, T* keep) {
  constexpr index kColumns = RandomStream::kGroups;
  const auto threshold = static_cast<std::uint32_t>(dropout_threshold(s.dropout));
  const T kept = static_cast<T>(1 / (1 - s.dropout));
  std::uint32_t words[4 * kColumns];
  for (index i = part.query; i < part.query + part.queries; i += kColumns) {
    const index columns = std::min(kColumns, part.query + part.queries - i);
    for (index j = part.key; j < part.key + part.keys; j += 4) {  // tiles and parts begin at multiples of four
      s.stream.columns(attention_dropout_element(s, b, h, query + i, key + j) / 4, ceil_div(s.keys, 4), words);
      for (index row = j; row < std::min(j + 4, part.key + part.keys); ++row) {
        for (index column = 0; column < columns; ++column) {
          keep[row * kBlock + i + column] = words[(row - j) * kColumns + column] < threshold ? T(0) : kept;
        }
      }
    }
  }
}

/// This thread's memory, in pieces.
template <class T>
class Pieces {
 public:
  explicit Pieces(T* memory) : next_(memory) {}
  T* take(index count) { return std::exchange(next_, next_ + count); }

 private:
  T* next_;
};

/// Rows of every head next to each other, (B, H, rows, width), where more than one task reads them.
template <class T>
struct GatheredHeads {
  const T* data = nullptr;  // null: each task gathers what it needs
  index rows = 0, width = 0;

  /// Rows from `first` on of a head; gathered to `own` if they are not here.
  const T* at(const Heads<const T>& heads, const AttentionShape& s, index b, index h, index first, index count, T* own) const {
    if (data != nullptr) {
      return data + ((b * s.heads + h) * rows + first) * width;
    }
    gather(heads, s, b, h, first, count, count, own);
    return own;
  }
};

template <class T>
GatheredHeads<T> gather_heads(const Heads<const T>& heads, const AttentionShape& s, index rows, Scratch slot) {
  const index width = round_up(s.head_size, kLanes<T>);
  const index blocks = ceil_div(rows, kBlock);
  T* to = scratch<T>(slot, s.batch * s.heads * rows * width);
  parallel_for(s.batch * s.heads * blocks, [&](index task) {
    const index head = task / blocks;
    const index first = task % blocks * kBlock;
    const index count = std::min(kBlock, rows - first);
    gather(heads, s, head / s.heads, head % s.heads, first, count, count, to + (head * rows + first) * width);
  });
  return {to, rows, width};
}

/// This thread's memory for forward_block().
template <class T>
struct ForwardMemory {
  explicit ForwardMemory(const AttentionShape& s)
      : width(round_up(s.head_size, kLanes<T>)), pieces(scratch<T>(Scratch::a, (5 * width + 2 * kBlock) * kBlock)) {}

  index width;  // of a head's row, in whole vectors
  Pieces<T> pieces;
  T* q = pieces.take(kBlock * width);         // (queries, width)
  T* q_t = pieces.take(kBlock * width);       // (width, queries), scaled
  T* k = pieces.take(kBlock * width);         // (keys, width)
  T* v = pieces.take(kBlock * width);         // (keys, width)
  T* y = pieces.take(kBlock * width);         // (queries, width), before the division by the sums
  T* weights = pieces.take(kBlock * kBlock);  // (keys, queries)
  T* keep = pieces.take(kBlock * kBlock);     // (keys, queries)
};

/// Of a block of queries.
template <class T>
struct Sums {
  alignas(64) T highest[kBlock];  // score so far
  alignas(64) T total[kBlock];    // of 2^(score - highest)
  alignas(64) T rescale[kBlock];  // what sums so far are multiplied by, as the highest score has changed
};

/// Scores become weights 2^(score - highest), which are multiplied by `keep` where it is given.
template <class T>
void weigh(const Part& part, T* scores, const T* keep, Sums<T>& sums) {
  for (index i = part.query; i < part.query + part.queries; i += kLanes<T>) {
    const Vec<T> before = simd::load(sums.highest + i);
    Vec<T> top = before;
    for (index j = part.key; j < part.key + part.keys; ++j) {
      top = simd::max<T>(simd::load(scores + j * kBlock + i), top);
    }
    const Vec<T> base = top == -kInfinity<T> ? Vec<T>{} : top;  // nothing seen yet: 2^(-inf - 0) = 0
    const Vec<T> factor = exp2_of_negative(before - base);
    Vec<T> total = simd::load(sums.total + i) * factor;
    for (index j = part.key; j < part.key + part.keys; ++j) {
      T* at = scores + j * kBlock + i;
      const Vec<T> w = exp2_of_negative(simd::load(at) - base);
      total += w;
      simd::store(at, keep == nullptr ? w : w * simd::load(keep + j * kBlock + i));
    }
    simd::store(sums.highest + i, top);
    simd::store(sums.total + i, total);
    simd::store(sums.rescale + i, factor);
  }
}

/// One block of queries of one head against all the keys that it sees.
template <class T>
void forward_block(const AttentionForward<T>& p, const GatheredHeads<T>& all_k, const GatheredHeads<T>& all_v, index b, index h,
                   index query) {
  const AttentionShape& s = p.shape;
  const index count = std::min(kBlock, s.queries - query);
  const ForwardMemory<T> m(s);
  const index width = m.width;
  const Intervals<T> see(s, b, query, count);
  gather(p.q, s, b, h, query, count, see.columns, m.q);
  tile_transpose(see.columns, width, static_cast<T>(s.scale * std::numbers::log2e), m.q, width, m.q_t, kBlock);
  std::fill_n(m.y, count * width, T(0));
  Sums<T> sums;
  std::fill_n(sums.highest, kBlock, -kInfinity<T>);
  std::fill_n(sums.total, kBlock, T(0));

  for (index key = see.whole.any_first / kBlock * kBlock; key < see.whole.any_last; key += kBlock) {
    const index keys = std::min(kBlock, s.keys - key);
    const Seen<T> seen(see, key, keys);
    const T* k = all_k.at(p.k, s, b, h, key, keys, m.k);
    const T* v = all_v.at(p.v, s, b, h, key, keys, m.v);
    for (const Part& part : seen) {
      tile_gemm<T>({.m = part.keys,
                    .n = part.queries,
                    .k = s.head_size,
                    .a = k + part.key * width,
                    .a_row = width,
                    .b = m.q_t + part.query,
                    .ldb = kBlock,
                    .c = m.weights + part.key * kBlock + part.query,
                    .ldc = kBlock});
      if (!seen.whole()) {
        hide_keys(see, key, part, m.weights);
      }
      if (s.dropout > 0) {
        draw_dropout(s, b, h, query, key, part, m.keep);
      }
      weigh(part, m.weights, s.dropout > 0 ? m.keep : nullptr, sums);
      tile_gemm<T>({.m = std::min(part.queries, count - part.query),
                    .n = width,
                    .k = part.keys,
                    .a = m.weights + part.key * kBlock + part.query,
                    .a_row = 1,
                    .a_col = kBlock,
                    .b = v + part.key * width,
                    .ldb = width,
                    .c = m.y + part.query * width,
                    .ldc = width,
                    .add = true,
                    .row_factors = sums.rescale + part.query});
    }
  }

  T* log_sum_exp = p.log_sum_exp + (b * s.heads + h) * s.queries + query;
  simd::for_vectors<T>(0, count, [&](index i, auto lanes) {
    const Vec<T> total = simd::load(sums.total + i);
    const Vec<T> log = (simd::load(sums.highest + i) + log2_of_positive(total)) * std::numbers::ln2_v<T>;
    simd::store(log_sum_exp + i, total == T(0) ? simd::broadcast(kInfinity<T>) : log, lanes);
  });
  for (index i = 0; i < count; ++i) {
    if (sums.total[i] == T(0)) {  // it saw no key
      std::fill_n(m.y + i * width, width, T(0));
    }
    const HeadsOut<T> out{p.y};
    scatter(out, s, b, h, query + i, 1, m.y + i * width, sums.total[i] == T(0) ? T(0) : 1 / sums.total[i]);
  }
}

/// The keys of a head in pieces that take about the same time: [first[i], first[i + 1]). They follow from the shape alone.
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

/// What backward reads of a block of queries.
template <class T>
struct QueryBlock {
  QueryBlock(index width, T* memory) : pieces(memory) {
    q = pieces.take(kBlock * width);
    q_t = pieces.take(kBlock * width);
    dy = pieces.take(kBlock * width);
    dy_t = pieces.take(kBlock * width);
    log_sum_exp = pieces.take(kBlock);
    delta = pieces.take(kBlock);
  }
  static index size(index width) { return (4 * width + 2) * kBlock; }

  Pieces<T> pieces;
  T* q;            // (queries, width)
  T* q_t;          // (width, queries), scaled
  T* dy;           // (queries, width)
  T* dy_t;         // (width, queries)
  T* log_sum_exp;  // of base 2; +inf past the end, so that weights there are 0
  T* delta;        // <dy, y>

  void fill(const AttentionBackward<T>& p, index b, index h, index query) const {
    const AttentionShape& s = p.shape;
    const index width = round_up(s.head_size, kLanes<T>);
    const index count = std::min(kBlock, s.queries - query);
    const index columns = round_up(count, kLanes<T>);
    gather(p.q, s, b, h, query, count, columns, q);
    gather(p.dy, s, b, h, query, count, columns, dy);
    tile_transpose(columns, width, static_cast<T>(s.scale * std::numbers::log2e), q, width, q_t, kBlock);
    tile_transpose(columns, width, T(1), dy, width, dy_t, kBlock);
    std::fill_n(log_sum_exp, kBlock, kInfinity<T>);
    std::fill_n(delta, kBlock, T(0));
    const T* y = head_at(p.y, s, b, h) + query * p.y.row_stride;
    for (index i = 0; i < count; ++i) {
      log_sum_exp[i] = p.log_sum_exp[(b * s.heads + h) * s.queries + query + i] * std::numbers::log2e_v<T>;
      Vec<T> products{};
      simd::for_vectors<T>(0, s.head_size, [&](index d, auto lanes) {
        products += simd::load(dy + i * width + d) * simd::load(y + i * p.y.row_stride + d, lanes);
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
        pieces(scratch<T>(Scratch::a, QueryBlock<T>::size(width) + 4 * kTilesAtOnce * kBlock * width + 3 * kBlock * kBlock +
                                          (own_dq ? s.queries * width : 0))) {}

  index width;  // of a head's row, in whole vectors
  Pieces<T> pieces;
  T* queries = pieces.take(QueryBlock<T>::size(width));
  T* weights = pieces.take(kBlock * kBlock);          // (keys, queries)
  T* ds = pieces.take(kBlock * kBlock);               // (keys, queries)
  T* keep = pieces.take(kBlock * kBlock);             // (keys, queries)
  T* k = pieces.take(kTilesAtOnce * kBlock * width);  // (keys, width)
  T* v = pieces.take(kTilesAtOnce * kBlock * width);
  T* dk = pieces.take(kTilesAtOnce * kBlock * width);
  T* dv = pieces.take(kTilesAtOnce * kBlock * width);
  T* dq = pieces.take(0);  // (queries, width), where it is this thread's own
};

/// Scores become weights w, and ds, which holds dw, becomes w (dw - delta). Dropped weights are 0 times their own value.
template <class T>
void weigh_again(const Part& part, T* scores, T* ds, const T* keep, const QueryBlock<T>& of) {
  for (index j = part.key; j < part.key + part.keys; ++j) {
    for (index i = part.query; i < part.query + part.queries; i += kLanes<T>) {
      const index at = j * kBlock + i;
      const Vec<T> w = exp2_of_negative(simd::load(scores + at) - simd::load(of.log_sum_exp + i));
      const Vec<T> mask = keep == nullptr ? simd::broadcast(T(1)) : simd::load(keep + at);
      simd::store(scores + at, w * mask);
      simd::store(ds + at, w * (simd::load(ds + at) * mask - simd::load(of.delta + i)));
    }
  }
}

/// A group of keys of one head: their dk and dv, and dq / scale (queries, width) as far as it comes from them, for the blocks of queries
/// that see one of them. `query_blocks` are the head's, or null: then they are made as they pass by. With weights w, dw = dy v^T and delta
/// = <dy, y> by queries:  dv = w^T dy,  ds = w (dw - delta), dq = scale ds k,  dk = scale ds^T q.
template <class T>
void backward_group(const AttentionBackward<T>& p, T* query_blocks, const BackwardMemory<T>& m, index b, index h, index group_first,
                    index group_last, T* dq) {
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
        for (const Part& part : seen) {
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

template <class T>
void attention_forward(const AttentionForward<T>& p) noexcept {
  const AttentionShape& s = p.shape;
  const index blocks = ceil_div(s.queries, kBlock);
  const index heads = s.batch * s.heads;
  GatheredHeads<T> k, v;
  if (blocks > 1) {
    k = gather_heads(p.k, s, s.keys, Scratch::b);
    v = gather_heads(p.v, s, s.keys, Scratch::c);
  }
  parallel_for_uneven(
      heads * blocks, [&] { ForwardMemory<T>{s}; },
      [&](index task) {
        // A head after the other, so that its keys stay in cache. Last blocks first: under a causal mask they see the most keys, and the
        // longest tasks should not be the last to begin.
        const index head = task / blocks;
        const index block = blocks - 1 - task % blocks;
        forward_block(p, k, v, head / s.heads, head % s.heads, block * kBlock);
      });
}

template <class T>
void attention_backward(const AttentionBackward<T>& p) noexcept {
  const AttentionShape& s = p.shape;
  const Groups groups(s);
  const index heads = s.batch * s.heads;
  const index width = round_up(s.head_size, kLanes<T>);
  const bool one = groups.count <= 1;
  const index size = s.queries * width;
  // What each group of keys adds to dq lies apart, and is added in the order of the groups.
  T* const parts = one ? nullptr : scratch<T>(Scratch::b, heads * groups.count * size);
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
  T* query_blocks = nullptr;
  if (blocks > 1 && s.keys > kTilesAtOnce * kBlock) {  // they pass by more than once
    query_blocks = scratch<T>(Scratch::c, heads * blocks * block_size);
    parallel_for(heads * blocks, [&](index task) {
      const index head = task / blocks;
      QueryBlock<T>(width, query_blocks + task * block_size).fill(p, head / s.heads, head % s.heads, task % blocks * kBlock);
    });
  }
  parallel_for_uneven(
      heads * std::max<index>(groups.count, 1),
      [&] {
        BackwardMemory<T>{s, one};
      },
      [&](index task) {
        const BackwardMemory<T> m(s, one);
        const index group = one ? 0 : task % groups.count;
        const index head = one ? task : task / groups.count;
        T* dq = one ? m.dq : parts + task * size;
        std::fill_n(dq, size, T(0));
        backward_group(p, query_blocks == nullptr ? nullptr : query_blocks + head * blocks * block_size, m, head / s.heads, head % s.heads,
                       groups.first[group], groups.first[group + 1], dq);
        for (index query = 0; one && query < s.queries; query += kBlock) {
          write_dq(head, query, dq);
        }
      });
  if (!one) {
    parallel_for(heads * blocks,
                 [&](index tile) { write_dq(tile / blocks, tile % blocks * kBlock, parts + tile / blocks * groups.count * size); });
  }
}

template void attention_forward<float>(const AttentionForward<float>&) noexcept;
template void attention_forward<double>(const AttentionForward<double>&) noexcept;
template void attention_backward<float>(const AttentionBackward<float>&) noexcept;
template void attention_backward<double>(const AttentionBackward<double>&) noexcept;

}  // namespace dikkat::kernels
