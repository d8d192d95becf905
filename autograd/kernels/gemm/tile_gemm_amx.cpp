#include "autograd/kernels/gemm/tile_gemm_amx.h"

#if defined(__AVX512BF16__)

#include <algorithm>

#include "autograd/kernels/gemm/amx_tiles.h"

namespace dikkat::kernels {
namespace {

using namespace amx;

/// Multiplies the rows of C by their factors.
void scale_rows(const TileGemm<float>& p) {
  for (index row = 0; row < p.m; ++row) {
    float* c = p.c + row * p.ldc;
    const auto factor = simd::broadcast(p.row_factors[row]);
    simd::for_vectors<float>(0, p.n, [&](index at, auto lanes) { simd::store(c + at, factor * simd::load(c + at, lanes), lanes); });
  }
}

/// Copies rows of `count` numbers.
void copy_rows(index rows, index count, const float* from, index from_ld, float* to, index to_ld) {
  for (index row = 0; row < rows; ++row) {
    std::copy_n(from + row * from_ld, count, to + row * to_ld);
  }
}

}  // namespace

AmxTileGemm::AmxTileGemm(index most)
    : a_(round_up(most, kStep) / 2 * kRows), b_(round_up(most, kStep) / 2 * round_up(most, kStep)), c_(kRows * kCols) {
  TileRegisters registers;
  registers.configure(kRows);
  registers.keep();
}

AmxTileGemm::~AmxTileGemm() { TileRegisters::release(); }

void AmxTileGemm::operator()(const TileGemm<float>& p, float factor) const {
  // Scale C, and pack B.
  if (p.add && p.row_factors != nullptr) {
    scale_rows(p);
  }
  const index steps = ceil_div(p.k, kStep);
  const index panels = ceil_div(p.n, kCols);
  const index panel_words = steps * kStepWords * kCols;
  for (index panel = 0; panel < panels; ++panel) {
    const index col = panel * kCols;
    for (index step = 0; step < steps; ++step) {
      pack_columns_of_b(p.b + step * kStep * p.ldb + col, p.ldb, std::min(kCols, p.n - col), std::min(kStep, p.k - step * kStep),
                        b_ + panel * panel_words + step * kStepWords * kCols);
    }
  }
  // Strip by strip, pack A and multiply.
  const TilesOfA tiles{reinterpret_cast<const std::byte*>(a_.data()), 2 * kStep, kTileBytes, 2 * kTileBytes};
  const Ahead nothing{{}, 0, 0};
  for (index row = 0; row < p.m; row += kRows) {
    const index rows = std::min(kRows, p.m - row);
    for (index step = 0; step < steps; ++step) {
      const index k = step * kStep, depth = std::min(kStep, p.k - k);
      std::uint32_t* const packed = a_ + step * kRows * kStepWords;
      if (p.a_col == 1) {
        pack_rows_of_a(p.a + row * p.a_row + k, p.a_row, rows, depth, packed);
      } else {
        pack_columns_of_a(p.a + row + k * p.a_col, p.a_col, rows, depth, packed);
      }
    }
    // Tiles of C that are not whole are computed in scratch memory.
    for (index panel = 0; panel < panels; ++panel) {
      const index col = panel * kCols;
      const index cols = std::min(kCols, p.n - col);
      float* c = p.c + row * p.ldc + col;
      const auto multiply = kMultiply[rows > kTile ? 1 : 0][cols > kTile ? 1 : 0];
      const std::uint32_t* b = b_ + panel * panel_words;
      if (rows % kTile == 0 && cols % kTile == 0) {
        multiply(steps, tiles, b, {p.add ? c : nullptr, p.ldc * 4}, c, p.ldc * 4, nothing);
      } else {
        if (p.add) {
          copy_rows(rows, cols, c, p.ldc, c_, kCols);
        }
        multiply(steps, tiles, b, {p.add ? c_.data() : nullptr, kCols * 4}, c_, kCols * 4, nothing);
        copy_rows(rows, cols, c_, kCols, c, p.ldc);
      }
    }
    // Multiply the strip by the factor.
    if (factor != 1) {
      for (index i = row; i < row + rows; ++i) {
        float* c = p.c + i * p.ldc;
        simd::for_vectors<float>(0, p.n, [&](index at, auto lanes) { simd::store(c + at, factor * simd::load(c + at, lanes), lanes); });
      }
    }
  }
}

}  // namespace dikkat::kernels

#else

namespace dikkat::kernels {

AmxTileGemm::AmxTileGemm(index) : a_(0), b_(0), c_(0) {}
AmxTileGemm::~AmxTileGemm() = default;
void AmxTileGemm::operator()(const TileGemm<float>&, float) const {}

}  // namespace dikkat::kernels

#endif
