#pragma once

#include "autograd/kernels/gemm.h"

// What gemm() calls: one function per library, each in its own file.
namespace dikkat::kernels {

/// How the rows of C are split into blocks (the last may have fewer). Depends on the shape alone.
struct GemmBlocks {
  index rows = 0;
  index count = 0;
};
GemmBlocks gemm_blocks(index m) noexcept;

/// The length of the blocks of k that our own product sums one by one. The last may be shorter.
index gemm_block_depth(index k) noexcept;

/// While it lives, inside_gemm_library() is true on this thread.
struct InsideLibrary {
  InsideLibrary() noexcept;
  ~InsideLibrary();
};

bool has_onednn() noexcept;
void gemm_onednn(const Gemm<float>& problem);
void gemm_packed(const Gemm<float>& problem);
template <class Operand, class Sum>
void gemm_eigen(const Gemm<Operand, Sum>& problem);

}  // namespace dikkat::kernels
