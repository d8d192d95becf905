#pragma once

#include <algorithm>
#include <array>

#include "autograd/base/grad_out.h"
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/reduce/reduced_array.h"
#include "autograd/simd/simd.h"

/// The loops of reductions (kernels/reduce/reduce.cpp).
///
/// A statistic describes a set of numbers by a pair of numbers of type C. It has these members:
///   kIsPair                                    whether the second number is used
///   fold_row(pieces, a, b)                     the pair of some pieces of a row
///   fold_columns(rows, count, a, b)            the pairs of `count` columns
///   join(whole, part)                          adds the pair of further numbers, in f64; the first time, to nothing
///   finish(first, count, a, b)                 writes the results first to first + count - 1, from pairs of C or of double
namespace dikkat::kernels {

inline constexpr index kReduceTile = 1 << 14;     // elements of a tile: enough to be worth a task, and few enough for L2
inline constexpr index kReduceColumns = 1 << 11;  // columns whose pairs stay in L1
inline constexpr index kReduceRows = 64;          // the fewest rows of a tile of columns, if there are so many
inline constexpr index kReduceBlock = 256;        // results that are finished at once

/// Writes or adds one vector.
template <class T, class Lanes>
void put_vector(GradOut<T> out, index at, simd::Vec<Computed<T>> value, Lanes lanes) {
  using C = Computed<T>;
  simd::store_as<C>(out.data + at, out.add ? simd::load_as<C>(out.data + at, lanes) + value : value, lanes);
}

/// Calls f(state, vector, at) for the vectors of n elements, with one of four states in turn. So four chains of additions run at once. The
/// lanes past the end are `rest`.
template <class C, class T, class State, class F>
void for_four(const T* x, index n, C rest, std::array<State, 4>& states, F&& f) {
  constexpr index kLanes = simd::kLanes<C>;
  auto [a, b, c, d] = states;  // in registers
  index at = 0;
  for (; at + 4 * kLanes <= n; at += 4 * kLanes) {
    f(a, simd::load_as<C>(x + at, simd::Whole{}), at);
    f(b, simd::load_as<C>(x + at + kLanes, simd::Whole{}), at + kLanes);
    f(c, simd::load_as<C>(x + at + 2 * kLanes, simd::Whole{}), at + 2 * kLanes);
    f(d, simd::load_as<C>(x + at + 3 * kLanes, simd::Whole{}), at + 3 * kLanes);
  }
  for (; at + kLanes <= n; at += kLanes) {
    f(a, simd::load_as<C>(x + at, simd::Whole{}), at);
  }
  if (at < n) {
    f(a, simd::load_as<C>(x + at, simd::Part{n - at}, rest), at);
  }
  states = {a, b, c, d};
}

/// Some of the pieces that the elements of one result are cut into. Pieces are numbered in row-major order.
template <class T>
struct Pieces {
  const AxisLoop& rows;
  const T* x;
  index width, parts;  // elements and parts of a row
  index begin, end;

  /// Calls f(x, count) for each piece.
  template <class F>
  void for_each(F&& f) const {
    for (index i = begin; i < end; ++i) {
      const index row = parts == 1 ? i : i / parts;
      const index first = (i - row * parts) * kReduceTile;
      f(x + rows.at(row) + first, std::min(kReduceTile, width - first));
    }
  }
  /// Returns the index of the first element among those of the result.
  index first_term() const { return begin / parts * width + begin % parts * kReduceTile; }
};

/// Rows whose elements are reduced column by column.
template <class T>
struct ColumnRows {
  const AxisLoop* loop;  // null: rows lie `step` elements apart
  index step;
  const T* x;
  index begin, count;

  const T* operator[](index i) const { return x + (loop == nullptr ? (begin + i) * step : loop->at(begin + i)); }
};

/// Calls f(index of the first row, rows) for four rows at a time, and for the rest one by one.
template <class T, class F>
void for_row_groups(const ColumnRows<T>& rows, F&& f) {
  index row = 0;
  for (; row + 4 <= rows.count; row += 4) {
    f(row, std::array<const T*, 4>{rows[row], rows[row + 1], rows[row + 2], rows[row + 3]});
  }
  for (; row < rows.count; ++row) {
    f(row, std::array<const T*, 1>{rows[row]});
  }
}

/// Returns f(x[0]) + f(x[1]) + ..., added in pairs.
template <class T, std::size_t n, class F>
auto sum_of(const std::array<const T*, n>& x, F&& f) {
  if constexpr (n == 1) {
    return f(x[0]);
  } else {
    return (f(x[0]) + f(x[1])) + (f(x[2]) + f(x[3]));
  }
}

/// The pair of some elements of a result. Element i of them is element first + i * step of the result.
struct PairOfSome {
  double a, b;
  index count;
  index first, step;
};
/// The pair of the elements of a result so far.
struct PairOfAll {
  double a = 0, b = 0;
  index count = 0;
};

/// The elements of a result that have a pair.
struct SomeTerms {
  index count, first, step;
};

/// The pairs of chunks of elements. A result's elements in a chunk are in one or more groups: the pair of result k * width + c, in chunk i
/// and group g, is at i * slots + (k * groups + g) * width + c.
template <class C>
struct ChunkPairs {
  index results, chunks, slots;
  index width, groups;
  const C *a, *b;
};

/// Joins the pairs of each result in the order of chunks, then of groups. terms_of(chunk, group) are the elements of a pair.
template <class S, class C, class F>
void join_chunks(const S& statistic, const ChunkPairs<C>& p, F&& terms_of) {
  parallel_blocks(p.results, kReduceBlock, Work::elements(p.chunks * p.groups * p.results), [&](index begin, index end) {
    const auto count = static_cast<std::size_t>(end - begin);
    std::array<index, kReduceBlock> slots;
    std::array<PairOfAll, kReduceBlock> whole{};
    for (std::size_t i = 0; i < count; ++i) {
      const index result = begin + static_cast<index>(i);
      slots[i] = p.groups == 1 ? result : result / p.width * p.groups * p.width + result % p.width;
    }
    for (index chunk = 0; chunk < p.chunks; ++chunk) {
      for (index group = 0; group < p.groups; ++group) {
        const SomeTerms terms = terms_of(chunk, group);
        const index from = chunk * p.slots + group * p.width;
        for (std::size_t i = 0; terms.count > 0 && i < count; ++i) {
          const double a = static_cast<double>(p.a[from + slots[i]]);
          const double b = S::kIsPair ? static_cast<double>(p.b[from + slots[i]]) : 0;
          statistic.join(whole[i], {a, b, terms.count, terms.first, terms.step});
          whole[i].count += terms.count;
        }
      }
    }
    std::array<double, kReduceBlock> a, b;
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = whole[i].a;
      b[i] = whole[i].b;
    }
    statistic.finish(begin, end - begin, a.data(), b.data());
  });
}

/// Reduces rows: each has one result, or a part of one.
template <class C, class T, class S>
void reduce_rows(const ReducedArray& array, const T* x, const S& statistic) {
  // Cut the elements of a result into pieces of rows, and these into chunks. A tile has one chunk of some results.
  const index results = array.results();
  const index parts = std::max<index>(1, ceil_div(array.width, kReduceTile));
  const index pieces = array.terms() == 0 ? 0 : array.reduced.size() * parts;
  const index piece = std::max<index>(1, std::min(array.width, kReduceTile));
  const index in_chunk = std::max<index>(1, std::min(pieces, kReduceTile / piece));
  const index chunks = ceil_div(pieces, in_chunk);
  const index in_tile = std::clamp<index>(kReduceTile / (in_chunk * piece), 1, kReduceBlock);
  const index tiles = ceil_div(results, in_tile);
  const auto pieces_of = [&](index result, index chunk) {
    return Pieces<T>{.rows = array.reduced,
                     .x = x + array.kept.at(result),
                     .width = array.width,
                     .parts = parts,
                     .begin = chunk * in_chunk,
                     .end = std::min(pieces, (chunk + 1) * in_chunk)};
  };
  // A result of one chunk is finished at once.
  if (chunks == 1) {
    parallel_blocks(results, in_tile, Work::elements(array.size()), [&](index begin, index end) {
      std::array<C, kReduceBlock> a, b;
      for (index result = begin; result < end; ++result) {
        const auto i = static_cast<std::size_t>(result - begin);
        statistic.fold_row(pieces_of(result, 0), a[i], b[i]);
      }
      statistic.finish(begin, end - begin, a.data(), b.data());
    });
    return;
  }
  // Other results have a pair for each chunk.
  const Scratch<C> a(chunks * results), b(S::kIsPair ? chunks * results : 0);
  parallel_for(tiles * chunks, Work::elements(array.size()), [&](index tile) {
    const index chunk = tile / tiles, begin = tile % tiles * in_tile;
    for (index result = begin; result < std::min(results, begin + in_tile); ++result) {
      const index slot = chunk * results + result;
      C unused{};
      statistic.fold_row(pieces_of(result, chunk), a[slot], S::kIsPair ? b[slot] : unused);
    }
  });
  join_chunks(statistic, ChunkPairs<C>{.results = results, .chunks = chunks, .slots = results, .width = 1, .groups = 1, .a = a, .b = b},
              [&](index chunk, index) {
                const index first = pieces_of(0, chunk).first_term();
                const index next = chunk + 1 == chunks ? array.terms() : pieces_of(0, chunk + 1).first_term();
                return SomeTerms{.count = next - first, .first = first, .step = 1};
              });
}

/// Reduces columns: the rows of one k are added to each other.
template <class C, class T, class S>
void reduce_columns(const ReducedArray& array, const T* x, const S& statistic) {
  // Join adjacent narrow rows to wider ones, whose columns are groups of columns. Those left over are a chunk of their own.
  constexpr index kNarrow = 64, kWide = 128, kFewGroups = 4;
  const bool follow = array.reduced.axes() == 1 && array.reduced.inner_step() == array.width;
  index groups = follow && array.width > 0 && array.width < kNarrow ? kWide / array.width : 1;
  groups = array.reduced.size() < kFewGroups * groups ? 1 : groups;
  const index wide = groups * array.width;
  const index rows = array.reduced.size() / groups, left_over = array.reduced.size() % groups;
  // Cut rows into parts, and the rows of one k into chunks. A tile has one chunk of some parts.
  const index part = std::max<index>(1, std::min(wide, kReduceColumns));
  const index parts = ceil_div(wide, kReduceColumns);
  const index in_chunk = std::max<index>(1, std::min(rows, std::max(kReduceRows, kReduceTile / part)));
  const index whole_chunks = ceil_div(rows, in_chunk);
  const index chunks = whole_chunks + (left_over > 0 ? 1 : 0);
  const index units = array.kept.size() * parts;
  const index in_tile = std::max<index>(1, kReduceTile / (part * in_chunk));
  const index tiles = ceil_div(units, in_tile);
  // Calls f(first slot, rows, columns) for each unit of a tile.
  const auto for_units = [&](index tile, index chunk, auto&& f) {
    for (index unit = tile * in_tile; unit < std::min(units, (tile + 1) * in_tile); ++unit) {
      const index k = unit / parts, first = unit % parts * kReduceColumns;
      const bool is_left_over = chunk == whole_chunks;
      const ColumnRows<T> some{.loop = follow ? nullptr : &array.reduced,
                               .step = wide,
                               .x = x + array.kept.at(k) + first,
                               .begin = chunk * in_chunk < rows ? chunk * in_chunk : rows,
                               .count = is_left_over ? 1 : std::min(in_chunk, rows - chunk * in_chunk)};
      f(k * wide + first, some, std::min(kReduceColumns, (is_left_over ? left_over * array.width : wide) - first));
    }
  };
  // Results of one chunk are finished at once.
  if (chunks == 1 && groups == 1) {
    parallel_for(tiles, Work::elements(array.size()), [&](index tile) {
      std::array<C, kReduceColumns> a, b;
      for_units(tile, 0, [&](index first, const ColumnRows<T>& some, index count) {
        statistic.fold_columns(some, count, a.data(), b.data());
        statistic.finish(first, count, a.data(), b.data());
      });
    });
    return;
  }
  // Other results have a pair for each chunk and group.
  const index slots = array.kept.size() * wide;
  const Scratch<C> a(chunks * slots), b(S::kIsPair ? chunks * slots : 0);
  parallel_for(tiles * chunks, Work::elements(array.size()), [&](index tile) {
    const index chunk = tile / tiles;
    for_units(tile % tiles, chunk, [&](index first, const ColumnRows<T>& some, index count) {
      C* const own_b = S::kIsPair ? b + (chunk * slots + first) : nullptr;
      statistic.fold_columns(some, count, a + (chunk * slots + first), own_b);
    });
  });
  join_chunks(
      statistic,
      ChunkPairs<C>{.results = array.results(), .chunks = chunks, .slots = slots, .width = array.width, .groups = groups, .a = a, .b = b},
      [&](index chunk, index group) {
        if (chunk == whole_chunks) {
          return SomeTerms{.count = group < left_over ? 1 : 0, .first = rows * groups + group, .step = groups};
        }
        return SomeTerms{.count = std::min(in_chunk, rows - chunk * in_chunk), .first = chunk * in_chunk * groups + group, .step = groups};
      });
}

/// Computes a statistic of each result.
template <class C, class T, class S>
void reduce(const ReducedArray& array, const T* x, const S& statistic) {
  if (array.rows_are_reduced) {
    reduce_rows<C>(array, x, statistic);
  } else {
    reduce_columns<C>(array, x, statistic);
  }
}

/// Writes each element of dx: f(place of the element, lanes, y...). Each of `ys` holds one number for each result, and y is the vector of
/// those that belong to the elements.
template <class T, class F, class... Y>
void spread(const ReducedArray& array, GradOut<T> dx, F&& f, const Y*... ys) {
  using C = Computed<T>;
  const index parts = ceil_div(array.width, kReduceTile);
  const index in_tile = std::max<index>(1, kReduceTile / std::max<index>(array.width, 1));
  parallel_blocks(array.rows() * parts, in_tile, Work::elements(array.size()), [&](index begin, index end) {
    const GradOut<T> out = dx;  // copies, which stay in registers
    const auto function = f;
    for (index i = begin; i < end; ++i) {
      const index row = i / parts, first = i % parts * kReduceTile;
      const index place = row * array.width + first, k = array.result_of.at(row);
      const index count = std::min(kReduceTile, array.width - first);
      if (array.rows_are_reduced) {
        const auto write_row = [&](auto... y) {
          simd::for_vectors<C>(0, count,
                               [&](index at, auto lanes) { put_vector(out, place + at, function(place + at, lanes, y...), lanes); });
        };
        write_row(simd::broadcast<C>(to_computed(ys[k]))...);
      } else {
        const index result = k * array.width + first;
        simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
          put_vector(out, place + at, function(place + at, lanes, simd::load_as<C>(ys + result + at, lanes)...), lanes);
        });
      }
    }
  });
}

}  // namespace dikkat::kernels
