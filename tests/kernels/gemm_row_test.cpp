#include "autograd/kernels/gemm_row.h"

#include <vector>

#include <gtest/gtest.h>

#include "autograd/kernels/reference/gemm.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/with_threads.h"

namespace dikkat::kernels {
namespace {

using testing::converted;
using testing::kRaggedSizes;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;
using testing::WithThreads;

struct Kind {
  bool add = false, bias = false;
  index gap = 0;  // between B's rows
};

/// C (n) of random numbers by `multiply`.
template <class T, class F>
std::vector<T> product(index n, index k, const Kind& kind, F&& multiply) {
  const index ldb = k + kind.gap;
  const auto a = converted<T>(numbers(k, 1));
  const auto b = converted<T>(numbers(n * ldb, 2));
  const auto bias = converted<T>(numbers(n, 3));
  auto c = converted<T>(numbers(n, 4));
  multiply(Gemm<T>{.m = 1,
                   .n = n,
                   .k = k,
                   .a = a.data(),
                   .lda = k,
                   .b = b.data(),
                   .ldb = ldb,
                   .transpose_b = true,
                   .c = c.data(),
                   .ldc = n,
                   .add = kind.add,
                   .bias = kind.bias ? bias.data() : nullptr});
  return c;
}

TEST(GemmOfOneRow, EqualsPlainLoops) {
  constexpr Kind kKinds[] = {{}, {.add = true}, {.bias = true, .gap = 3}, {.add = true, .bias = true}};
  for (const index n : kRaggedSizes) {
    for (const index k : kRaggedSizes) {
      for (const Kind& kind : kKinds) {
        SCOPED_TRACE(::testing::Message() << n << " by " << k << (kind.add ? ", added" : "") << (kind.bias ? ", bias" : ""));
        const auto expected = product<double>(n, k, kind, [](const Gemm<double>& g) { reference::gemm(g); });
        EXPECT_LE(relative_error(product<double>(n, k, kind, [](const Gemm<double>& g) { gemm_one_row(g); }), expected), 1e-14);
        EXPECT_LE(relative_error(product<float>(n, k, kind, [](const Gemm<float>& g) { gemm_one_row(g); }), expected), 1e-6);
      }
    }
  }
}

// Several tiles, the last one ragged.
TEST(GemmOfOneRow, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto on = [](int threads) {
    const WithThreads with(threads);
    return product<float>(1030, 300, {.bias = true}, [](const Gemm<float>& g) { gemm_one_row(g); });
  };
  const auto one = on(1);
  EXPECT_TRUE(same_bits(on(2), one));
  EXPECT_TRUE(same_bits(on(4), one));
}

TEST(GemmOfOneRow, OfNoTermsIsTheBias) {
  for (const Kind& kind : {Kind{}, Kind{.add = true}, Kind{.bias = true}, Kind{.add = true, .bias = true}}) {
    EXPECT_TRUE(same_bits(product<float>(5, 0, kind, [](const Gemm<float>& g) { gemm_one_row(g); }),
                          product<float>(5, 0, kind, [](const Gemm<float>& g) { reference::gemm(g); })));
  }
}

TEST(GemmOfOneRow, IsWhatGemmTakesForOne) {
  const auto row = product<float>(65, 129, {}, [](const Gemm<float>& g) { gemm_one_row(g); });
  EXPECT_TRUE(same_bits(product<float>(65, 129, {}, [](const Gemm<float>& g) { gemm(g); }), row));
  EXPECT_TRUE(is_one_row(Gemm<float>{.m = 1, .transpose_b = true}));
  EXPECT_FALSE(is_one_row(Gemm<float>{.m = 2, .transpose_b = true}));
  EXPECT_FALSE(is_one_row(Gemm<float>{.m = 1}));
  EXPECT_FALSE(is_one_row(Gemm<float>{.m = 1, .transpose_a = true, .transpose_b = true}));
}

}  // namespace
}  // namespace dikkat::kernels
