#pragma once

#include <algorithm>
#include <cstring>

#include "autograd/base/packed_matrix.h"
#include "autograd/kernels/gemm/gemm_pack.h"
#include "autograd/kernels/gemm/transpose_block.h"
#include "autograd/simd/simd.h"

// The numbers of a packed weight as vectors: each holds numbers of one column, for adjacent rows of a panel.
namespace dikkat::kernels {

/// Vectors of a column of a panel.
inline constexpr int kPanelVectors = static_cast<int>(kPanelRows / simd::kLanes<float>);

inline const std::byte* panel_at(const PackedMatrix& w, index panel) { return w.data + panel * panel_bytes(w.packing, w.cols); }

/// A block of q8 or q4 within a panel.
template <PackedType kType>
struct PackedBlock {
  static constexpr index kScaleBytes = 2 * kPanelRows;
  static constexpr index kBytes = panel_bytes(kType, kScaleBlock);
  static constexpr index kColumns = kType == PackedType::q8 ? 4 : 8;  // columns of a word: a lane of 32 bits
  static constexpr index kWords = kScaleBlock / kColumns;
  const std::byte* at;

  PackedBlock(const std::byte* panel, index block) : at(panel + block * kBytes) {}

  simd::Vec<float> scales(int v) const { return simd::load_f16(reinterpret_cast<const std::uint16_t*>(at) + v * simd::kLanes<float>); }
  /// Returns the words of kColumns columns, starting at kColumns * i.
  simd::IntVec<float> word(index i, int v) const {
    simd::IntVec<float> word;
    std::memcpy(&word, at + kScaleBytes + 4 * (i * kPanelRows + v * simd::kLanes<float>), sizeof word);
    return word;
  }
  /// Returns the integers of column `i`, as floats.
  simd::Vec<float> column(index i, int v) const {
    const index in_word = i % kColumns;
    const auto lane = static_cast<int>(in_word % 2 * 16 + in_word / 2 * (32 / kColumns));  // its first bit
    const simd::IntVec<float> all = word(i / kColumns, v);
    return simd::to_floats(kType == PackedType::q8 ? all << (24 - lane) >> 24 : (all >> lane & 15) - 8);
  }
};

/// Calls f(k, values) for columns begin to end - 1 of a panel, vector v of each.
template <PackedType kType, class F>
void for_columns(const std::byte* panel, index begin, index end, int v, F&& f) {
  if constexpr (kType == PackedType::bf16) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(panel) + v * simd::kLanes<float>;
    for (index k = begin; k < end; ++k) {
      const simd::Vec<std::uint32_t> word = simd::load(words + k / 2 * kPanelRows);
      f(k, reinterpret_cast<simd::Vec<float>>(k % 2 == 0 ? word << 16 : word & 0xFFFF'0000U));
    }
  } else {
    for (index k = begin; k < end;) {
      const PackedBlock<kType> block(panel, k / kScaleBlock);
      const simd::Vec<float> scales = block.scales(v);
      for (const index last = std::min(end, (k / kScaleBlock + 1) * kScaleBlock); k < last; ++k) {
        f(k, scales * block.column(k % kScaleBlock, v));
      }
    }
  }
}

/// Calls f(integral constant of the packing).
template <class F>
void for_packing(PackedType packing, F&& f) {
  switch (packing) {
    case PackedType::f32: break;
    case PackedType::bf16: return f(std::integral_constant<PackedType, PackedType::bf16>{});
    case PackedType::q8: return f(std::integral_constant<PackedType, PackedType::q8>{});
    case PackedType::q4: return f(std::integral_constant<PackedType, PackedType::q4>{});
  }
}

/// `words` (end - begin, kWidth) = rows first to first + kWidth - 1 of the weight, transposed, columns begin to end - 1; zero past the last
/// panel. `first` is a multiple of kPanelRows.
template <index kWidth>
void unpack_panels(const PackedMatrix& w, index first, index begin, index end, float* words) {
  static_assert(kWidth % kPanelRows == 0);
  for (index row = 0; row < kWidth; row += kPanelRows) {
    for (int v = 0; v < kPanelVectors; ++v) {
      float* out = words + row + v * simd::kLanes<float>;
      if (first + row >= w.rows) {
        for (index k = begin; k < end; ++k) {
          simd::store(out + (k - begin) * kWidth, simd::Vec<float>{});
        }
        continue;
      }
      for_packing(w.packing, [&](auto packing) {
        for_columns<packing>(panel_at(w, (first + row) / kPanelRows), begin, end, v,
                             [&](index k, simd::Vec<float> values) { simd::store(out + (k - begin) * kWidth, values); });
      });
    }
  }
}
/// Unpacks them as words of bf16, (ceil((end - begin) / 2), kWidth); begin is even.
template <index kWidth>
void unpack_panels(const PackedMatrix& w, index first, index begin, index end, std::uint32_t* words) {
  static_assert(kWidth % kPanelRows == 0);
  constexpr index kLanes = simd::kLanes<float>;
  for (index row = 0; row < kWidth; row += kPanelRows) {
    for (int v = 0; v < kPanelVectors; ++v) {
      std::uint32_t* out = words + row + v * kLanes;
      const std::byte* panel = panel_at(w, (first + row) / kPanelRows);
      if (first + row >= w.rows) {
        for (index k = begin; k < end; k += 2) {
          simd::store(out + (k - begin) / 2 * kWidth, simd::Vec<std::uint32_t>{});
        }
      } else if (w.packing == PackedType::bf16) {
        const auto* from = reinterpret_cast<const std::uint32_t*>(panel) + v * kLanes;
        for (index k = begin; k < end; k += 2) {
          simd::store(out + (k - begin) / 2 * kWidth, simd::load(from + k / 2 * kPanelRows));
        }
      } else {
        for_packing(w.packing, [&](auto packing) {
          simd::Vec<float> even{};
          for_columns<packing>(panel, begin, end, v, [&](index k, simd::Vec<float> values) {
            if (k % 2 == 0) {
              even = values;
            }
            if (k % 2 == 1 || k + 1 == end) {
              simd::store(out + (k - begin) / 2 * kWidth, simd::bf16_words(even, k % 2 == 1 ? values : simd::Vec<float>{}));
            }
          });
        });
      }
    }
  }
}

/// Unpacks them as words of four bf16; begin is a multiple of 4.
template <index kWidth>
void unpack_panels(const PackedMatrix& w, index first, index begin, index end, std::uint64_t* words) {
  unpack_panels<kWidth>(w, first, begin, end, reinterpret_cast<std::uint32_t*>(words));
  join_words<kWidth>(end - begin, words);
}

/// Calls put(row - begin, rows) for each eight rows (8, kWidth) of the weight from `begin` to end - 1, columns first to first + kWidth - 1.
/// Columns past the last one are zero, and so are rows past the last panel. `begin` is a multiple of 8.
template <index kWidth, class F>
void for_eight_rows(const PackedMatrix& w, index first, index begin, index end, F&& put) {
  static_assert(kWidth % kTransposeSize == 0 && kPanelRows % kTransposeSize == 0);
  float columns[kWidth * kPanelRows];
  float rows[kTransposeSize][kWidth];
  const index count = std::clamp<index>(w.cols - first, 0, kWidth);
  std::fill(columns + count * kPanelRows, std::end(columns), 0.0F);
  for (index row = begin; row < end; row += kTransposeSize) {
    const index in_panel = row % kPanelRows;
    if (row == begin || in_panel == 0) {
      for_packing(w.packing, [&](auto packing) {
        for (int v = 0; v < kPanelVectors; ++v) {
          for_columns<packing>(panel_at(w, row / kPanelRows), first, first + count, v, [&](index k, simd::Vec<float> values) {
            simd::store(columns + (k - first) * kPanelRows + v * simd::kLanes<float>, values);
          });
        }
      });
    }
    for (index col = 0; col < kWidth; col += kTransposeSize) {
      transpose_block(columns + col * kPanelRows + in_panel, kPanelRows, kTransposeSize, rows[0] + col, kWidth);
    }
    put(row - begin, rows);
  }
}

/// `words` (end - begin, kWidth) = rows begin to end - 1 of the weight, columns first to first + kWidth - 1; zero past the last column.
/// `begin` is a multiple of 8, and `words` has room for rows up to `end` rounded up to one.
template <index kWidth>
void unpack_rows(const PackedMatrix& w, index first, index begin, index end, float* words) {
  for_eight_rows<kWidth>(w, first, begin, end, [&](index at, const float (&rows)[kTransposeSize][kWidth]) {
    std::memcpy(words + at * kWidth, rows, sizeof rows);
  });
}
/// Unpacks them as words of bf16, (ceil((end - begin) / 2), kWidth), of two rows each; a missing row in the last word is zero.
template <index kWidth>
void unpack_rows(const PackedMatrix& w, index first, index begin, index end, std::uint32_t* words) {
  for_eight_rows<kWidth>(w, first, begin, end, [&](index at, const float (&rows)[kTransposeSize][kWidth]) {
    for (index pair = 0; pair < kTransposeSize / 2; ++pair) {
      for (index col = 0; col < kWidth; col += simd::kLanes<float>) {
        simd::store(words + (at / 2 + pair) * kWidth + col,
                    simd::bf16_words(simd::load(rows[2 * pair] + col), simd::load(rows[2 * pair + 1] + col)));
      }
    }
  });
}

/// Unpacks them as words of four bf16.
template <index kWidth>
void unpack_rows(const PackedMatrix& w, index first, index begin, index end, std::uint64_t* words) {
  unpack_rows<kWidth>(w, first, begin, end, reinterpret_cast<std::uint32_t*>(words));
  join_words<kWidth>(end - begin, words);
}

}  // namespace dikkat::kernels
