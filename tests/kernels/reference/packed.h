#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "autograd/base/bf16.h"
#include "autograd/base/packed_matrix.h"
#include "tests/kernels/reference/gemm.h"

namespace dikkat::kernels::reference {

/// An f16 as f32.
inline float f16_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const float magnitude =
      exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24) : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// One number of a packed weight, found by the layout that PackedMatrix describes.
inline float number_of(const PackedMatrix& w, index row, index col) {
  const std::byte* panel = w.data + row / kPanelRows * panel_bytes(w.packing, w.cols);
  const index r = row % kPanelRows;
  const auto two_bytes = [](const std::byte* at) {
    std::uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
  };
  if (w.packing == PackedType::bf16) {
    return to_float(bf16{two_bytes(panel + 4 * (col / 2 * kPanelRows + r) + 2 * (col % 2))});
  }
  const std::byte* block = panel + col / kScaleBlock * panel_bytes(w.packing, kScaleBlock);
  const float scale = f16_value(two_bytes(block + 2 * r));
  const index c = col % kScaleBlock;
  const std::byte* numbers = block + 2 * kPanelRows;
  if (w.packing == PackedType::q8) {
    constexpr index kPlace[] = {0, 2, 1, 3};  // columns c, c + 2, c + 1, c + 3
    return scale * static_cast<float>(static_cast<std::int8_t>(numbers[4 * (c / 4 * kPanelRows + r) + kPlace[c % 4]]));
  }
  constexpr index kPlace[] = {0, 4, 1, 5, 2, 6, 3, 7};  // columns c, c + 2, c + 4, c + 6, c + 1, c + 3, c + 5, c + 7
  const index place = kPlace[c % 8];
  const auto byte = std::to_integer<int>(numbers[4 * (c / 8 * kPanelRows + r) + place / 2]);
  return scale * static_cast<float>((byte >> (place % 2 * 4) & 15) - 8);
}

/// Column `row` of the product of one row of A with a packed weight of q8 or q4, as kernels::gemm computes it for few rows: A becomes
/// integers of 16 bits with a scale for each block, and a block's sum of products is exact.
inline float product_in_integers(const PackedMatrix& w, index row, const float* a) {
  constexpr float kMost = 32767;
  float total = 0;
  for (index begin = 0; begin < w.cols; begin += kScaleBlock) {
    const index end = std::min(begin + kScaleBlock, w.cols);
    float largest = 0, scale = 0;
    for (index col = begin; col < end; ++col) {
      largest = std::max(largest, std::abs(a[col]));
    }
    std::uint16_t bits;
    std::memcpy(&bits,
                w.data + row / kPanelRows * panel_bytes(w.packing, w.cols) + begin / kScaleBlock * panel_bytes(w.packing, kScaleBlock) +
                    2 * (row % kPanelRows),
                sizeof bits);
    scale = f16_value(bits);
    std::int64_t sum = 0;
    for (index col = begin; col < end && largest > 0 && scale != 0; ++col) {
      sum += std::llrint(a[col] * (kMost / largest)) * std::llrint(number_of(w, row, col) / scale);
    }
    total = multiply_add(static_cast<float>(sum), scale * (largest / kMost), total);
  }
  return total;
}

/// All numbers, (rows, cols). A product with a packed weight equals one with these numbers.
inline std::vector<float> unpacked(const PackedMatrix& w) {
  std::vector<float> numbers;
  for (index row = 0; row < w.rows; ++row) {
    for (index col = 0; col < w.cols; ++col) {
      numbers.push_back(number_of(w, row, col));
    }
  }
  return numbers;
}

}  // namespace dikkat::kernels::reference
