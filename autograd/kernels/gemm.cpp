#include "autograd/kernels/gemm.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "autograd/base/simd.h"
#include "autograd/kernels/gemm_libraries.h"
#include "autograd/kernels/gemm_row.h"

namespace dikkat::kernels {
namespace {

thread_local bool inside_library = false;

}  // namespace

InsideLibrary::InsideLibrary() noexcept { inside_library = true; }
InsideLibrary::~InsideLibrary() { inside_library = false; }

GemmBlocks gemm_blocks(index m) noexcept {
  // A multiple of four blocks, so that two and four threads get equal shares; some 100 rows each, so that a block's rows of A stay in L2
  // while it reads packed B.
  constexpr index kRows = 128;
  constexpr index kRowUnit = 16;
  const index blocks = m <= 2 * kRowUnit ? 1 : round_up(ceil_div(m, kRows), 4);
  const index rows = round_up(ceil_div(m, blocks), kRowUnit);
  return {.rows = rows, .count = ceil_div(m, rows)};
}

index gemm_block_depth(index k) noexcept {
  constexpr index kMost = 768;  // a tile's rows of A stay in L1, a panel of B in L2, and C is seldom read again
  constexpr index kUnit = 8;
  return std::max(kUnit, round_up(ceil_div(k, std::max<index>(1, ceil_div(k, kMost))), kUnit));
}

/// Without AVX-512, oneDNN packs all of B again for every block of rows, and our own product is up to twice as fast.
GemmLibrary gemm_library() noexcept { return has_onednn() && simd::kBytes == 64 ? GemmLibrary::onednn : GemmLibrary::packed; }

bool inside_gemm_library() noexcept { return inside_library; }

template <>
void gemm_by<float>(GemmLibrary library, const Gemm<float>& problem) {
  if (problem.m == 0 || problem.n == 0) {
    return;
  }
  if (library == GemmLibrary::onednn) {
    require(has_onednn(), "gemm: oneDNN was not built in (DIKKAT_ONEDNN=OFF), expected another library");
    gemm_onednn(problem);
  } else if (library == GemmLibrary::packed) {
    gemm_packed(problem);
  } else {
    gemm_eigen(problem);
  }
}

template <>
void gemm_by<double>(GemmLibrary library, const Gemm<double>& problem) {
  require(library == GemmLibrary::eigen, "gemm: only the library eigen has f64");
  if (problem.m > 0 && problem.n > 0) {
    gemm_eigen(problem);
  }
}

template <>
void gemm<float>(const Gemm<float>& problem) {
  if (is_few_rows(problem)) {
    gemm_few_rows(problem);
  } else {
    gemm_by(gemm_library(), problem);
  }
}

template <>
void gemm<double>(const Gemm<double>& problem) {
  gemm_by(GemmLibrary::eigen, problem);
}

template <>
void gemm<float, double>(const Gemm<float, double>& problem) {
  if (problem.m > 0 && problem.n > 0) {
    gemm_eigen(problem);
  }
}

}  // namespace dikkat::kernels
