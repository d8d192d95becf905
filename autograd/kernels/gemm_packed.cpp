#include <algorithm>
#include <cstring>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/base/simd.h"
#include "autograd/kernels/gemm_libraries.h"
#include "autograd/kernels/transpose_block.h"

// C = A B by tiles that stay in registers (Goto and van de Geijn 2008). A is packed first, B panel by panel where it is used: training uses
// each weight once in each orientation between two updates, so a packed copy would be written to be read once. An element of C is summed
// over k in order, kDepth at a time, wherever it lies, so its bits do not depend on tiles.
namespace dikkat::kernels {
namespace {

using simd::kLanes;
using simd::Vec;

constexpr int kVectors = 2;                           // of a tile's row
constexpr index kRows = simd::kBytes == 64 ? 12 : 6;  // of a tile: with kVectors sums each they fill the registers
constexpr index kCols = kVectors * kLanes<float>;     // of a tile, and of a panel of B
constexpr index kDepth = 256;                         // of k at a time: a panel of B stays in L1
constexpr index kBlockRows = 384;                     // of A at a time: stays in L2 while panels of B go by
constexpr index kTasks = 64;                          // about: enough for many threads to share evenly

/// How a product is split. Depends on the shape alone.
struct Cut {
  explicit Cut(const Gemm<float>& p)
      : panels(ceil_div(p.n, kCols)),
        row_panels(ceil_div(p.m, kRows)),
        row_blocks(ceil_div(p.m, kBlockRows)),
        block_panels(ceil_div(row_panels, row_blocks)),
        groups(std::clamp<index>(ceil_div(kTasks, row_blocks), 1, panels)),
        group_panels(ceil_div(panels, groups)) {}

  index panels;      // of kCols columns
  index row_panels;  // of kRows rows
  index row_blocks;  // of block_panels row panels
  index block_panels;
  index groups;  // of group_panels panels
  index group_panels;
};

/// to (depth, kWidth) = kWidth rows of `from` transposed, k from 0 to depth; rows from `count` on are zero.
template <index kWidth>
void pack_rows(const float* from, index ld, index count, index depth, float* to) {
  constexpr index kGroups = ceil_div(kWidth, kTransposeSize);
  if (count < kWidth) {
    std::fill_n(to, depth * kWidth, 0.0F);
  }
  index k = 0;
  for (; count == kWidth && k + kTransposeSize <= depth; k += kTransposeSize) {
    float block[kTransposeSize][kGroups * kTransposeSize];
    for (index group = 0; group < kGroups; ++group) {
      transpose_block(from + group * kTransposeSize * ld + k, ld, std::min(kTransposeSize, kWidth - group * kTransposeSize),
                      &block[0][group * kTransposeSize], kGroups * kTransposeSize);
    }
    for (index i = 0; i < kTransposeSize; ++i) {
      std::memcpy(to + (k + i) * kWidth, block[i], kWidth * sizeof(float));
    }
  }
  for (; k < depth; ++k) {
    for (index row = 0; row < count; ++row) {
      to[k * kWidth + row] = from[row * ld + k];
    }
  }
}

/// to (depth, kWidth) = kWidth columns of `from`, rows 0 to depth; columns from `count` on are zero.
template <index kWidth>
void pack_columns(const float* from, index ld, index count, index depth, float* to) {
  for (index k = 0; k < depth; ++k) {
    if (count == kWidth) {
      std::memcpy(to + k * kWidth, from + k * ld, kWidth * sizeof(float));
    } else {
      std::copy_n(from + k * ld, count, to + k * kWidth);
      std::fill_n(to + k * kWidth + count, kWidth - count, 0.0F);
    }
  }
}

/// Row panel `panel` of op(A), k from `begin` to `end`: to (depth, kRows).
void pack_a(const Gemm<float>& p, index panel, index begin, index end, float* to) {
  const index first = panel * kRows;
  const index count = std::min(kRows, p.m - first);
  if (p.transpose_a) {
    pack_columns<kRows>(p.a + begin * p.lda + first, p.lda, count, end - begin, to);
  } else {
    pack_rows<kRows>(p.a + first * p.lda + begin, p.lda, count, end - begin, to);
  }
}

/// Panel `panel` of op(B), k from `begin` to `end`: to (depth, kCols).
void pack_b(const Gemm<float>& p, index panel, index begin, index end, float* to) {
  const index first = panel * kCols;
  const index count = std::min(kCols, p.n - first);
  if (p.transpose_b) {
    pack_rows<kCols>(p.b + first * p.ldb + begin, p.ldb, count, end - begin, to);
  } else {
    pack_columns<kCols>(p.b + begin * p.ldb + first, p.ldb, count, end - begin, to);
  }
}

/// What the sums of a tile begin with.
enum class Start { zero, bias, what_c_holds };

/// A panel of rows of A: packed, (depth, kRows), or where it lies, rows lda apart.
struct RowPanel {
  const float* data = nullptr;
  index lda = 0;  // 0: packed
};

/// c (kRows, kUsed vectors), ldc apart, = start + a b. b is a whole panel.
template <Start kStart, bool kPacked, int kUsed>
void multiply_tile(index depth, RowPanel panel, const float* b, const float* bias, float* c, index ldc) {
  Vec<float> sums[kRows][kUsed];
  for (index row = 0; row < kRows; ++row) {
    for (int v = 0; v < kUsed; ++v) {
      sums[row][v] = kStart == Start::zero   ? Vec<float>{}
                     : kStart == Start::bias ? simd::load(bias + v * kLanes<float>)
                                             : simd::load(c + row * ldc + v * kLanes<float>);
    }
  }
  const float* a = panel.data;
  for (index k = 0; k < depth; ++k, a += kPacked ? kRows : 1, b += kCols) {
    Vec<float> bs[kUsed];
    for (int v = 0; v < kUsed; ++v) {
      bs[v] = simd::load(b + v * kLanes<float>);
    }
    for (index row = 0; row < kRows; ++row) {
      for (int v = 0; v < kUsed; ++v) {
        sums[row][v] += a[kPacked ? row : row * panel.lda] * bs[v];
      }
    }
  }
  for (index row = 0; row < kRows; ++row) {
    for (int v = 0; v < kUsed; ++v) {
      simd::store(c + row * ldc + v * kLanes<float>, sums[row][v]);
    }
  }
}

template <bool kPacked, int kUsed>
void multiply_tile(Start start, index depth, RowPanel a, const float* b, const float* bias, float* c, index ldc) {
  switch (start) {
    case Start::zero: return multiply_tile<Start::zero, kPacked, kUsed>(depth, a, b, bias, c, ldc);
    case Start::bias: return multiply_tile<Start::bias, kPacked, kUsed>(depth, a, b, bias, c, ldc);
    case Start::what_c_holds: return multiply_tile<Start::what_c_holds, kPacked, kUsed>(depth, a, b, bias, c, ldc);
  }
}
/// kUsed vectors of a row of C, or all.
template <int kUsed = kVectors>
void multiply_tile(Start start, index depth, RowPanel a, const float* b, const float* bias, float* c, index ldc) {
  a.lda == 0 ? multiply_tile<true, kUsed>(start, depth, a, b, bias, c, ldc) : multiply_tile<false, kUsed>(start, depth, a, b, bias, c, ldc);
}

/// A tile at the edge of C: computed as a whole one, of which a part is copied.
void multiply_edge(Start start, index depth, RowPanel a, const float* b, const float* bias, float* c, index ldc, index rows, index cols) {
  float tile[kRows * kCols] = {};
  float whole_bias[kCols] = {};
  if (start == Start::bias) {
    std::copy_n(bias, cols, whole_bias);
  }
  for (index row = 0; start == Start::what_c_holds && row < rows; ++row) {
    std::copy_n(c + row * ldc, cols, tile + row * kCols);
  }
  multiply_tile(start, depth, a, b, whole_bias, tile, kCols);
  for (index row = 0; row < rows; ++row) {
    std::copy_n(tile + row * kCols, cols, c + row * ldc);
  }
}

/// Adds the bias to what C holds, for sums that begin with both.
void add_bias(const Gemm<float>& p, index first, index rows, index col, index cols) {
  for (index row = first; row < first + rows; ++row) {
    for (index at = col; at < col + cols; ++at) {
      p.c[row * p.ldc + at] += p.bias[at];
    }
  }
}

/// The row panels of A that are packed: all of them if A is transposed; otherwise only the last, if it needs padding, since rows are read
/// as fast in place. In order of k, kDepth at a time, then of panels: (k / kDepth, panels, depth, kRows).
struct PackedRows {
  float* data;
  index first, count;  // panels

  float* panel(index i, index begin, index end) const { return data + begin * count * kRows + (i - first) * (end - begin) * kRows; }
};

/// This thread's memory for a panel of B.
struct PanelOfB : Scratch<float> {
  PanelOfB() : Scratch(kDepth * kCols) {}
};

/// One group of panels of B times one block of rows of A.
void multiply_task(const Gemm<float>& p, const Cut& cut, const PackedRows& packed, index block, index group) {
  const PanelOfB panel_b;
  const index row_begin = block * cut.block_panels;
  const index row_end = std::min(row_begin + cut.block_panels, cut.row_panels);
  const index panel_end = std::min((group + 1) * cut.group_panels, cut.panels);
  for (index begin = 0; begin == 0 || begin < p.k; begin += kDepth) {
    const index end = std::min(begin + kDepth, p.k);
    for (index panel = group * cut.group_panels; panel < panel_end; ++panel) {
      pack_b(p, panel, begin, end, panel_b);
      const index col = panel * kCols;
      const index cols = std::min(kCols, p.n - col);
      const float* bias = p.bias == nullptr ? nullptr : p.bias + col;
      const index first_panel = p.lower ? std::max(row_begin, col / kRows) : row_begin;  // those above lie above the diagonal
      for (index row_panel = first_panel; row_panel < row_end; ++row_panel) {
        const index row = row_panel * kRows;
        const index rows = std::min(kRows, p.m - row);
        if (begin == 0 && p.add && p.bias != nullptr) {
          add_bias(p, row, rows, col, cols);
        }
        const Start start = begin > 0 || p.add ? Start::what_c_holds : p.bias != nullptr ? Start::bias : Start::zero;
        const RowPanel a =
            row_panel < packed.first ? RowPanel{p.a + row * p.lda + begin, p.lda} : RowPanel{packed.panel(row_panel, begin, end)};
        float* c = p.c + row * p.ldc + col;
        if (rows == kRows && cols == kCols) {
          if (p.lower && row + kRows <= col + kLanes<float>) {  // the second vector lies above the diagonal
            multiply_tile<1>(start, end - begin, a, panel_b, bias, c, p.ldc);
          } else {
            multiply_tile(start, end - begin, a, panel_b, bias, c, p.ldc);
          }
        } else {
          multiply_edge(start, end - begin, a, panel_b, bias, c, p.ldc, rows, cols);
        }
      }
    }
  }
}

}  // namespace

void gemm_packed(const Gemm<float>& p) {
  const Cut cut(p);
  const index count = p.transpose_a ? cut.row_panels : p.m % kRows == 0 ? 0 : 1;
  const Scratch<float> memory(count * kRows * p.k);
  const PackedRows packed{.data = memory, .first = cut.row_panels - count, .count = count};
  parallel_for(count, Work::elements(count * kRows * p.k), [&](index i) {
    for (index begin = 0; begin < p.k; begin += kDepth) {
      const index end = std::min(begin + kDepth, p.k);
      pack_a(p, packed.first + i, begin, end, packed.panel(packed.first + i, begin, end));
    }
  });
  auto task = [&](index i) { multiply_task(p, cut, packed, i / cut.groups, i % cut.groups); };
  auto on_thread = [] { const PanelOfB asked; };
  const index tasks = cut.row_blocks * cut.groups;
  const Work work = Work::products(p.m, p.n, p.k);
  p.lower ? parallel_for_uneven(tasks, work, on_thread, task) : parallel_for(tasks, work, on_thread, task);
}

}  // namespace dikkat::kernels
