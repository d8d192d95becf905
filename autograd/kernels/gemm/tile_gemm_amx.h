#pragma once

#include <cstdint>

#include "autograd/base/scratch.h"
#include "autograd/kernels/gemm/tile_gemm.h"

namespace dikkat::kernels {

/// Does what tile_gemm() does by the tile registers of AMX, for tiles of f32 in cache: operands are rounded to bf16 when they are packed.
/// An object is for one thread, and owns the thread's tile registers while it lives. Create it only if has_amx_products().
class AmxTileGemm {
 public:
  /// Makes room for problems of at most `most` rows and columns, and as many k.
  explicit AmxTileGemm(index most);
  ~AmxTileGemm();
  AmxTileGemm(const AmxTileGemm&) = delete;
  AmxTileGemm& operator=(const AmxTileGemm&) = delete;

  /// C = factor * A * B, or C * row_factors + A * B if `add`; then the factor must be 1. One stride of A must be 1. n is any number. An
  /// element is its base, to which sums over 32 k each are added in turn (tests/kernels/reference/gemm.h: gemm_by_amx()).
  void operator()(const TileGemm<float>& problem, float factor = 1) const;

 private:
  Scratch<std::uint32_t> a_, b_;  // packed: a strip of A, and B
  Scratch<float> c_;              // a tile of C that is not whole
};

}  // namespace dikkat::kernels
