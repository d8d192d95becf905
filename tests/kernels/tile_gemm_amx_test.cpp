#include "autograd/kernels/gemm/tile_gemm_amx.h"

#include <vector>

#include <gtest/gtest.h>

#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/instruction_set.h"
#include "tests/kernels/reference/gemm.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::tile_gemm_amx_test {
namespace {

using testing::narrowed;
using testing::numbers;
using testing::same_bits;

struct TileCase {
  index m = 0, n = 0, k = 0;
  bool columns = false;  // whether A lies column by column
  bool add = false, row_factors = false;
  float factor = 1;
};

std::ostream& operator<<(std::ostream& out, const TileCase& c) {
  return out << c.m << " x " << c.n << " x " << c.k << (c.columns ? ", by columns" : "") << (c.add ? ", added" : "")
             << (c.row_factors ? ", with factors" : "") << ", times " << c.factor;
}

// Sizes on both sides of tiles (16), strips and panels (32), and steps of k (32). Rows of C lie apart, and what is between them stays.
TEST(AmxTileGemm, EqualsItsReferenceBitForBit) {
  if (!has_amx_products()) {
    GTEST_SKIP() << "this processor has no AMX, or DIKKAT_ISA is another set";
  }
  constexpr index kMost = 80;
  const AmxTileGemm multiply(kMost);
  for (const index m : {1, 15, 16, 17, 48, 64}) {
    for (const index n : {16, 32, 48, 64, 80}) {
      for (const index k : {1, 16, 31, 32, 33, 64, 80}) {
        for (const TileCase& kind : {TileCase{}, TileCase{.columns = true}, TileCase{.add = true},
                                     TileCase{.columns = true, .add = true, .row_factors = true}, TileCase{.factor = 0.18F}}) {
          TileCase c = kind;
          c.m = m, c.n = n, c.k = k;
          SCOPED_TRACE(::testing::PrintToString(c));
          const auto a = numbers(m * k, 1), b = numbers(k * n, 2), factors = numbers(m, 3);
          const index apart = n + 5;
          const auto before = numbers(m * apart, 4);
          // Multiply by tiles.
          auto found = before;
          multiply({.m = m,
                    .n = n,
                    .k = k,
                    .a = a.data(),
                    .a_row = c.columns ? 1 : k,
                    .a_col = c.columns ? m : 1,
                    .b = b.data(),
                    .ldb = n,
                    .c = found.data(),
                    .ldc = apart,
                    .add = c.add,
                    .row_factors = c.row_factors ? factors.data() : nullptr},
                   c.factor);
          // Multiply by the reference.
          auto expected = before;
          for (index i = 0; c.row_factors && i < m; ++i) {
            for (index j = 0; j < n; ++j) {
              expected[static_cast<std::size_t>(i * apart + j)] *= factors[static_cast<std::size_t>(i)];
            }
          }
          const auto narrow_a = narrowed(a), narrow_b = narrowed(b);
          GemmOf<const bf16*, float*, float> p;
          p.m = m, p.n = n, p.k = k;
          p.a = narrow_a.data(), p.lda = c.columns ? m : k, p.transpose_a = c.columns;
          p.b = narrow_b.data(), p.ldb = n;
          p.c = expected.data(), p.ldc = apart, p.add = c.add;
          reference::gemm_by_amx(p, narrow_a.data(), narrow_b.data());
          for (index i = 0; c.factor != 1 && i < m; ++i) {
            for (index j = 0; j < n; ++j) {
              expected[static_cast<std::size_t>(i * apart + j)] *= c.factor;
            }
          }
          ASSERT_TRUE(same_bits(found, expected));
        }
      }
    }
  }
}

}  // namespace
}  // namespace dikkat::kernels::tile_gemm_amx_test
