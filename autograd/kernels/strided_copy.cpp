#include "autograd/kernels/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "autograd/base/parallel.h"
#include "autograd/kernels/copy_run.h"
#include "autograd/kernels/gemm/tile_transpose.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

constexpr index kTile = 1 << 14;  // elements: enough to be worth a task
constexpr index kSide = 16;       // side of a square that is transposed within the first cache

struct Axis {
  index extent, from, to;
};

/// The axes without those of one index. Adjacent ones that both arrays treat alike are joined; the last one is the inner loop.
struct Axes {
  std::array<Axis, Shape::kMaxRank + 1> of{};
  int count = 0;
};

template <class T>
Axes axes_of(const StridedCopy<T>& p) {
  Axes axes;
  for (int k = 0; k < p.shape.rank(); ++k) {
    const auto i = static_cast<std::size_t>(k);
    const Axis axis{p.shape[k], p.from_strides[i], p.to_strides[i]};
    if (axis.extent == 1) {
      continue;
    }
    Axis* const last = axes.count == 0 ? nullptr : &axes.of[static_cast<std::size_t>(axes.count - 1)];
    if (last != nullptr && last->from == axis.from * axis.extent && last->to == axis.to * axis.extent) {
      *last = {last->extent * axis.extent, axis.from, axis.to};
    } else {
      axes.of[static_cast<std::size_t>(axes.count++)] = axis;
    }
  }
  if (axes.count == 0) {
    axes.of[static_cast<std::size_t>(axes.count++)] = {1, 1, 1};
  }
  return axes;
}

/// Copies one row along the inner axis.
template <class T>
void copy_row(const Axis& inner, index count, const T* from, GradOut<T> to) {
  if (inner.from == 1 && inner.to == 1) {
    copy_run(count, from, to);
    return;
  }
  for (index i = 0; i < count; ++i) {
    to.copy(i * inner.to, from[i * inner.from]);
  }
}

/// Does what copy_square() does, but for kSide rows and columns: smaller squares are transposed in registers.
template <class T>
void copy_whole_square(const T* from, index from_step, GradOut<T> to, index to_step) {
  constexpr index kLanes = simd::kLanes<T>;
  for (index row = 0; row < kSide; row += kLanes) {
    for (index column = 0; column < kSide; column += kLanes) {
      simd::Vec<T> square[kLanes];
#pragma GCC unroll 16
      for (index i = 0; i < kLanes; ++i) {
        square[i] = simd::load(from + row + (column + i) * from_step);
      }
      detail::transpose_square<T>(square);
#pragma GCC unroll 16
      for (index i = 0; i < kLanes; ++i) {
        T* const place = to.data + (row + i) * to_step + column;
        simd::store(place, to.add ? square[i] + simd::load(place) : square[i]);
      }
    }
  }
}

/// Copies a square, whose columns are contiguous in `from` and whose rows are contiguous in `to`.
template <class T>
void copy_square(index rows, index columns, const T* from, index from_step, GradOut<T> to, index to_step) {
  if constexpr (std::is_same_v<T, Computed<T>>) {
    static_assert(kSide % simd::kLanes<T> == 0);
    if (rows == kSide && columns == kSide) {
      copy_whole_square(from, from_step, to, to_step);
      return;
    }
  }
  for (index row = 0; row < rows; ++row) {
    for (index column = 0; column < columns; ++column) {
      to.copy(row * to_step + column, from[row + column * from_step]);
    }
  }
}

}  // namespace

template <class T>
void strided_copy(const StridedCopy<T>& p) {
  Axes axes = axes_of(p);
  const auto axis_at = [&](int k) -> Axis& { return axes.of[static_cast<std::size_t>(k)]; };
  const auto move = [&](index i, int last, const T*& from, GradOut<T>& to) {  // by index i of the axes 0 to last - 1
    for (int k = last - 1; k >= 0; --k) {
      const index at = i % axis_at(k).extent;
      i /= axis_at(k).extent;
      from += at * axis_at(k).from;
      to.data += at * axis_at(k).to;
    }
  };

  // The inner axis is the one along which `to` is contiguous, if there is one. It is not the last one in the backward part of a permute.
  for (int k = 0; axis_at(axes.count - 1).to != 1 && k + 1 < axes.count; ++k) {
    if (axis_at(k).to == 1) {
      std::rotate(axes.of.begin() + k, axes.of.begin() + k + 1, axes.of.begin() + axes.count);
    }
  }

  // A transpose: the inner axis of `to` jumps in `from`, where another axis is contiguous. Move that axis to the second place from the end.
  const Axis inner = axis_at(axes.count - 1);
  int contiguous = -1;
  for (int k = 0; k + 1 < axes.count; ++k) {
    contiguous = axis_at(k).from == 1 ? k : contiguous;
  }
  if (inner.to == 1 && std::abs(inner.from) > 1 && contiguous >= 0) {
    std::rotate(axes.of.begin() + contiguous, axes.of.begin() + contiguous + 1, axes.of.begin() + axes.count - 1);
    const Axis rows = axis_at(axes.count - 2);
    // Copy square by square.
    const index row_squares = ceil_div(rows.extent, kSide), column_squares = ceil_div(inner.extent, kSide);
    const index squares = row_squares * column_squares;
    index outer = 1;
    for (int k = 0; k + 2 < axes.count; ++k) {
      outer *= axis_at(k).extent;
    }
    parallel_blocks(outer * squares, kTile / (kSide * kSide), Work::elements(p.shape.size()), [&](index begin, index end) {
      for (index i = begin; i < end; ++i) {
        const T* from = p.from;
        GradOut<T> to = p.to;
        move(i / squares, axes.count - 2, from, to);
        const index row = i % squares / column_squares * kSide, column = i % column_squares * kSide;
        to.data += row * rows.to + column;
        copy_square(std::min(kSide, rows.extent - row), std::min(kSide, inner.extent - column), from + row + column * inner.from,
                    inner.from, to, rows.to);
      }
    });
    return;
  }

  // Rows, or parts of long ones.
  index outer = 1;
  for (int k = 0; k + 1 < axes.count; ++k) {
    outer *= axis_at(k).extent;
  }
  const index parts = ceil_div(inner.extent, kTile);
  const index in_tile = std::max<index>(1, kTile / std::max<index>(inner.extent, 1));
  parallel_blocks(outer * parts, in_tile, Work::elements(p.shape.size()), [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      const T* from = p.from;
      GradOut<T> to = p.to;
      move(i / parts, axes.count - 1, from, to);
      const index first = i % parts * kTile;
      to.data += first * inner.to;
      copy_row(inner, std::min(kTile, inner.extent - first), from + first * inner.from, to);
    }
  });
}

template void strided_copy(const StridedCopy<float>&);
template void strided_copy(const StridedCopy<double>&);
template void strided_copy(const StridedCopy<bf16>&);
template void strided_copy(const StridedCopy<std::int32_t>&);

}  // namespace dikkat::kernels
