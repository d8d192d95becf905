#pragma once

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/attention/attention.h"
#include "autograd/kernels/attention/rotation.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/gemm/tile_gemm.h"
#include "autograd/kernels/gemm/tile_gemm_amx.h"
#include "autograd/kernels/instruction_set.h"
#include "autograd/simd/simd.h"

// Shared parts of attention forward and backward. Tiles of scores are transposed, (keys, queries): a row is one key against a block of
// queries. So maxima and sums over keys are vertical vector operations. Rows of heads are far apart in memory, often in the same sets of a
// cache. So the rows of a tile are first copied next to each other. Scores are in base 2: the factor of the queries includes log2(e).
namespace dikkat::kernels::attention_tiles {

using simd::IntVec;
using simd::kLanes;
using simd::Vec;

constexpr index kBlock = 64;  // queries, and keys, of a tile

constexpr index kPanel = 16;  // queries that are masked together, and keys, in tiles of which they see only a part
constexpr index kPanels = kBlock / kPanel;
constexpr index kRows = 8;  // queries whose results end with the last key that any of them sees
template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

/// Returns the work of `products` products of queries and keys.
inline Work work_of(const AttentionShape& s, index products) {
  const index seen = s.window == 0 ? s.keys : std::min(s.keys, s.window + kBlock);
  return Work::products(products * s.batch * s.heads * s.queries, seen, s.head_size);
}

/// Calls f(task) for each task. If they all take equally long, each thread gets an equal share of adjacent tasks. So it reads the rows that
/// it wrote in the op before.
template <class P, class F>
void for_each_task(index tasks, bool uneven, Work work, P&& on_thread, F&& f) {
  uneven ? parallel_for_uneven(tasks, work, on_thread, f) : parallel_for(tasks, work, on_thread, f);
}

template <class T>
T* head_at(const Heads<T>& heads, const AttentionShape& s, index b, index h) {
  return heads.of(b) + h * s.head_size;
}

/// Returns whether products are those of AMX. Then their operands, also weights, are rounded to bf16. Scores are multiplied by their factor
/// after the product, so that queries are rounded without it.
template <class Operand, class T>
bool scales_scores() {
  return std::is_same_v<Operand, bf16> && std::is_same_v<T, float> && has_amx_products();
}

/// The products of a task.
template <class Operand, class T>
class Products {
 public:
  explicit Products(const AttentionShape& s) {
    if (scales_scores<Operand, T>()) {
      amx_.emplace(std::max(kBlock, round_up(s.head_size, kLanes<T>)));
    }
  }
  void operator()(const TileGemm<T>& p, T factor = 1) const {
    if constexpr (std::is_same_v<T, float>) {
      if (amx_) {
        (*amx_)(p, factor);
        if (p.ahead != nullptr) {
          p.ahead->fetch();
        }
        return;
      }
    }
    tile_gemm<T>(p);
  }

 private:
  std::optional<AmxTileGemm> amx_{};
};

/// Copies `count` rows of a head to `to` (rows, width), and fills the other rows with zeros. Each row is padded with zeros to whole
/// vectors. rotation: (.., head_size) or null; row i of the head is rotated by its row i.
template <class Operand, class T>
void gather(const Heads<const Operand>& heads, const AttentionShape& s, const T* rotation, index b, index h, index first, index count,
            index rows, T* to) {
  const Operand* from = head_at(heads, s, b, h) + first * heads.row_stride;
  const index width = round_up(s.head_size, kLanes<T>);
  for (index row = 0; row < count; ++row) {
    if (rotation != nullptr) {
      rotate_head(s.head_size, from + row * heads.row_stride, rotation + (first + row) * s.head_size, to + row * width);
      std::fill(to + row * width + s.head_size, to + (row + 1) * width, T(0));
      continue;
    }
    simd::for_vectors<T>(0, s.head_size, [&](index d, auto lanes) {
      simd::store(to + row * width + d, simd::load_as<T>(from + row * heads.row_stride + d, lanes));
    });
  }
  std::fill_n(to + count * width, (rows - count) * width, T(0));
}

/// Rows of a head, `stride` elements apart.
template <class T>
struct HeadRows {
  const T* data = nullptr;
  index stride = 0;
};

/// Returns rows of a head that lie in place, if they need no conversion, rotation or padding. Otherwise data is null.
template <class T, class Operand>
HeadRows<T> rows_in_place(const Heads<const Operand>& heads, const AttentionShape& s, const T* rotation, index b, index h, index first) {
  if constexpr (std::is_same_v<Operand, T>) {
    if (rotation == nullptr && s.head_size % kLanes<T> == 0) {
      return {head_at(heads, s, b, h) + first * heads.row_stride, heads.row_stride};
    }
  }
  return {};
}
/// Returns `count` rows of a head: in place if they can be read there, and no more are wanted, or gathered to `own`.
template <class Operand, class T>
HeadRows<T> read_rows(const Heads<const Operand>& heads, const AttentionShape& s, const T* rotation, index b, index h, index first,
                      index count, index wanted, T* own) {
  if (const HeadRows<T> rows = rows_in_place(heads, s, rotation, b, h, first); rows.data != nullptr && count == wanted) {
    return rows;
  }
  gather(heads, s, rotation, b, h, first, count, wanted, own);
  return {own, round_up(s.head_size, kLanes<T>)};
}

/// Does the reverse of gather(): writes `count` rows, multiplied by a factor and rotated back, to a head.
template <class Operand, class T>
void scatter(const HeadsOut<Operand>& out, const AttentionShape& s, const T* rotation, index b, index h, index first, index count,
             const T* rows, T factor) {
  if (out.at.data == nullptr) {
    return;
  }
  Operand* to = head_at(out.at, s, b, h) + first * out.at.row_stride;
  const index width = round_up(s.head_size, kLanes<T>);
  for (index row = 0; row < count; ++row) {
    const auto put = [&](index d, Vec<T> value, auto lanes) {
      Operand* place = to + row * out.at.row_stride + d;
      const Vec<T> before = out.add ? simd::load_as<T>(place, lanes) : Vec<T>{};
      simd::store_as<T>(place, before + value, lanes);
    };
    if (rotation != nullptr) {
      rotate_back(s.head_size, rows + row * width, rotation + (first + row) * s.head_size, factor, put);
      continue;
    }
    simd::for_vectors<T>(0, s.head_size, [&](index d, auto lanes) { put(d, factor * simd::load(rows + row * width + d), lanes); });
  }
}

/// The keys that the queries of a block see.
template <class T>
struct Intervals {
  struct Panel {
    index all_begin, all_end;  // each of its queries sees all keys of [all_begin, all_end)
    index any_begin, any_end;  // none of its queries sees a key outside of [any_begin, any_end)
    void add(index lo, index hi) {
      all_begin = std::max(all_begin, lo);
      all_end = std::min(all_end, hi);
      if (lo < hi) {
        any_begin = std::min(any_begin, lo);
        any_end = std::max(any_end, hi);
      }
    }
    bool sees_all(index key, index count) const { return all_begin <= key && key + count <= all_end; }
    bool sees_any(index key, index count) const { return key < any_end && any_begin < key + count; }
  };
  IntVec<T> key_begin[kBlock / kLanes<T>] = {}, key_end[kBlock / kLanes<T>] = {};  // for each query; those past the block's end see no key
  Panel panels[kPanels] = {};
  Panel whole;
  index end_of_rows[kBlock / kRows] = {};  // the key after the last one that any of these kRows queries sees
  index columns;                           // queries, in whole vectors

  Intervals(const AttentionShape& s, index b, index query, index count) : columns(round_up(count, kLanes<T>)) {
    const Panel nothing{0, s.keys, s.keys, 0};
    whole = nothing;
    for (index i = 0; i < count; ++i) {
      const index lo = s.first_of(b, query + i);
      const index hi = std::max(s.last_of(b, query + i), lo);
      Panel& panel = panels[i / kPanel];
      if (i % kPanel == 0) {
        panel = nothing;
      }
      panel.add(lo, hi);
      whole.add(lo, hi);
      index& end = end_of_rows[i / kRows];
      end = lo < hi ? std::max(end, hi) : end;
      key_begin[i / kLanes<T>][i % kLanes<T>] = static_cast<std::int32_t>(lo);
      key_end[i / kLanes<T>][i % kLanes<T>] = static_cast<std::int32_t>(hi);
    }
  }
};

/// The intervals of all blocks of queries. All batches have the same ones if the shape gives none of its own.
template <class T>
class BlockIntervals {
 public:
  explicit BlockIntervals(const AttentionShape& s)
      : blocks_(ceil_div(s.queries, kBlock)),
        batch_stride_(s.key_begin == nullptr && s.key_end == nullptr ? 0 : blocks_),
        intervals_((batch_stride_ == 0 ? 1 : s.batch) * blocks_) {
    for (index b = 0; b < (batch_stride_ == 0 ? std::min<index>(s.batch, 1) : s.batch); ++b) {
      for (index query = 0; query < s.queries; query += kBlock) {
        new (intervals_ + b * blocks_ + query / kBlock) Intervals<T>(s, b, query, std::min(kBlock, s.queries - query));
      }
    }
  }
  const Intervals<T>& at(index b, index block) const { return intervals_[b * batch_stride_ + block]; }

 private:
  index blocks_, batch_stride_;
  Scratch<Intervals<T>> intervals_;  // which have no destructor
};
static_assert(std::is_trivially_destructible_v<Intervals<float>>);

/// A rectangle of a tile, relative to the tile's first key and query.
struct Part {
  index key = 0, keys = 0, query = 0, queries = 0;
};

/// The parts of a tile that are computed. If all of it is seen, it is one part. Otherwise each panel of queries has the keys from the first
/// to the last that any of them sees, rounded to multiples of kPanel.
template <class T>
class Seen {
 public:
  Seen(const Intervals<T>& see, index key, index keys) : whole_(see.whole.sees_all(key, keys)), keys_(keys) {
    if (whole_) {
      parts_[count_++] = {0, keys, 0, see.columns};
      return;
    }
    for (index query = 0; query < see.columns; query += kPanel) {
      const auto& panel = see.panels[query / kPanel];
      if (panel.sees_any(key, keys)) {
        const index first = std::max<index>(panel.any_begin - key, 0) / kPanel * kPanel;
        const index last = std::min(round_up(panel.any_end - key, kPanel), keys);
        parts_[count_++] = {first, last - first, query, std::min(kPanel, see.columns - query)};
      }
    }
  }
  bool whole() const { return whole_; }
  const Part* begin() const { return parts_; }
  const Part* end() const { return parts_ + count_; }

  /// Calls f for these parts, split by keys. Adjacent panels are merged.
  template <class F>
  void by_keys(F&& f) const {
    if (whole_) {
      f(parts_[0]);
      return;
    }
    for (index key = 0; key < keys_; key += kPanel) {
      Part run{key, std::min(kPanel, keys_ - key), 0, 0};
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
  Part parts_[kPanels];
  int count_ = 0;
  bool whole_;
  index keys_;
};

/// Sets scores (keys, kBlock) of a part of a panel to -inf where the query does not see the key.
template <class T>
void hide_keys(const Intervals<T>& see, index key, const Part& part, T* scores) {
  const auto& panel = see.panels[part.query / kPanel];
  for (index j = part.key; j < part.key + part.keys; ++j) {
    if (panel.sees_all(key + j, 1)) {
      continue;
    }
    const IntVec<T> position = IntVec<T>{} + static_cast<std::int32_t>(key + j);
    for (index i = part.query; i < part.query + part.queries; i += kLanes<T>) {
      T* at = scores + j * kBlock + i;
      const auto seen = (position >= see.key_begin[i / kLanes<T>]) & (position < see.key_end[i / kLanes<T>]);
      simd::store(at, seen ? simd::load(at) : simd::broadcast(-kInfinity<T>));
    }
  }
}

/// Fills keep (keys, kBlock): 0 for a dropped weight, 1 / (1 - dropout) for a kept one. The tile begins at (query, key).
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

/// Splits a block of memory into consecutive arrays.
template <class T>
class Pieces {
 public:
  explicit Pieces(T* memory) : next_(memory) {}
  T* take(index count) { return std::exchange(next_, next_ + count); }

 private:
  T* next_;
};

}  // namespace dikkat::kernels::attention_tiles
