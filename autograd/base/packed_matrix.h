#pragma once

#include <cstddef>
#include <string_view>

#include "autograd/base/index.h"
#include "autograd/base/names.h"

namespace dikkat {

/// The form in which a weight matrix that is not trained is stored: as f32, or packed in fewer bytes. Numbers of q8 and q4 are integers
/// with a scale for each 32 of a row, as in ggml's q8_0 and q4_0.
enum class PackedType { f32, bf16, q8, q4 };
template <>
struct Names<PackedType> {
  static constexpr std::string_view of[] = {"f32", "bf16", "q8", "q4"};
};

/// Rows of a panel: a product reads a panel as vectors of that many rows.
inline constexpr index kPanelRows = 16;
/// Numbers of a row with a common scale.
inline constexpr index kScaleBlock = 32;

/// A weight (rows, cols) in panels of kPanelRows rows, one after another; the last one is padded. A panel is, with r from 0 to 15,
///   bf16: for each two columns, for each r: the two numbers;
///   q8: for each block of 32 columns: for each r the scale, an f16; then for each four columns c, for each r: signed bytes, of columns c,
///       c + 2, c + 1, c + 3;
///   q4: for each block of 32 columns: for each r the scale, an f16; then for each eight columns c, for each r: four-bit numbers plus 8,
///       with the lowest bits first, of columns c, c + 2, c + 4, c + 6, c + 1, c + 3, c + 5, c + 7.
/// So 16-bit lanes hold pairs of adjacent columns, as products multiply them.
struct PackedMatrix {
  PackedType packing = PackedType::f32;
  index rows = 0, cols = 0;
  const std::byte* data = nullptr;
  bool keeps_f32 = false;  // products of many rows of f32 stay in f32, even if another type would be faster
};

/// Returns the bytes of one row of a panel, with its scales.
constexpr index packed_row_bytes(PackedType packing, index cols) {
  constexpr index kBytesOfScale = 2;
  const index blocks = ceil_div(cols, kScaleBlock);
  switch (packing) {
    case PackedType::f32: break;
    case PackedType::bf16: return 4 * ceil_div(cols, 2);
    case PackedType::q8: return blocks * (kBytesOfScale + kScaleBlock);
    case PackedType::q4: return blocks * (kBytesOfScale + kScaleBlock / 2);
  }
  return 4 * cols;
}
constexpr index panel_bytes(PackedType packing, index cols) { return kPanelRows * packed_row_bytes(packing, cols); }
constexpr index packed_bytes(PackedType packing, index rows, index cols) { return ceil_div(rows, kPanelRows) * panel_bytes(packing, cols); }

}  // namespace dikkat
