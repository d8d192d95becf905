#include "autograd/kernels/gemm/gemm_row.h"

#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/kernels/reference/gemm.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::gemm_row_test {
namespace {

using testing::converted;
using testing::kRaggedSizes;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

struct Kind {
  bool add = false, bias = false;
  index gap = 0;  // between B's rows
};

/// C (m, n) of random numbers by `multiply`. Row i of A does not depend on m.
template <class T, class F>
std::vector<T> product(index m, index n, index k, const Kind& kind, F&& multiply) {
  const index ldb = k + kind.gap;
  const auto a = converted<T>(numbers(m * (k + kind.gap), 1));
  const auto b = converted<T>(numbers(n * ldb, 2));
  const auto bias = converted<T>(numbers(n, 3));
  auto c = converted<T>(numbers(m * n, 4));
  multiply(Gemm<T>{.m = m,
                   .n = n,
                   .k = k,
                   .a = a.data(),
                   .lda = k + kind.gap,
                   .b = b.data(),
                   .ldb = ldb,
                   .transpose_b = true,
                   .c = c.data(),
                   .ldc = n,
                   .add = kind.add,
                   .bias = kind.bias ? bias.data() : nullptr});
  return c;
}

template <class T>
std::vector<T> by_kernel(index m, index n, index k, const Kind& kind = {}) {
  return product<T>(m, n, k, kind, [](const Gemm<T>& g) { gemm_few_rows(g); });
}

TEST(GemmOfFewRows, EqualsPlainLoops) {
  constexpr Kind kKinds[] = {{}, {.add = true}, {.bias = true, .gap = 3}, {.add = true, .bias = true}};
  index m = 0;
  for (const index n : kRaggedSizes) {
    for (const index k : kRaggedSizes) {
      for (const Kind& kind : kKinds) {
        m = m % kFewRows + 1;
        SCOPED_TRACE(::testing::Message() << m << " by " << n << " by " << k << (kind.add ? ", added" : "") << (kind.bias ? ", bias" : ""));
        const auto expected = product<double>(m, n, k, kind, [](const Gemm<double>& g) { reference::gemm(g); });
        EXPECT_LE(relative_error(by_kernel<double>(m, n, k, kind), expected), 1e-14);
        EXPECT_LE(relative_error(by_kernel<float>(m, n, k, kind), expected), 1e-6);
      }
    }
  }
}

// There are several tiles, and the last one is ragged.
TEST(GemmOfFewRows, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const index m : {1, 3, 8, 13}) {
    const auto on = [m](int threads) {
      const WithThreads with(threads, Work{0});
      return by_kernel<float>(m, 1030, 300, {.bias = true});
    };
    const auto one = on(1);
    EXPECT_TRUE(same_bits(on(2), one));
    EXPECT_TRUE(same_bits(on(4), one));
  }
}

TEST(GemmOfFewRows, GivesARowTheSameBitsBesideAnyOthersAndAColumnToo) {
  const index n = 61;
  for (const index k : {1, 15, 100, 768, 1540, 3072}) {  // long rows are multiplied in ranges
    const auto all = by_kernel<float>(kFewRows, n, k, {.bias = true});
    for (index m = 1; m < kFewRows; ++m) {
      EXPECT_TRUE(same_bits(by_kernel<float>(m, n, k, {.bias = true}), {all.begin(), all.begin() + m * n})) << m << " rows of " << k;
    }
    const auto doubles = by_kernel<double>(kFewRows, n, k);
    for (const index m : {1, 5, 8, 11}) {
      EXPECT_TRUE(same_bits(by_kernel<double>(m, n, k), {doubles.begin(), doubles.begin() + m * n})) << m << " rows of " << k;
    }
    const auto narrow = by_kernel<float>(1, n - 5, k, {.bias = true});
    const auto wide = by_kernel<float>(1, n, k, {.bias = true});
    EXPECT_TRUE(same_bits(narrow, {wide.begin(), wide.begin() + n - 5})) << k;
  }
}

TEST(GemmOfFewRows, OfNoTermsIsTheBias) {
  for (const Kind& kind : {Kind{}, Kind{.add = true}, Kind{.bias = true}, Kind{.add = true, .bias = true}}) {
    EXPECT_TRUE(
        same_bits(by_kernel<float>(3, 5, 0, kind), product<float>(3, 5, 0, kind, [](const Gemm<float>& g) { reference::gemm(g); })));
  }
}

TEST(GemmOfFewRows, IsUsedByGemmForFewRows) {
  for (const index m : {1, 5, 16}) {
    EXPECT_TRUE(same_bits(product<float>(m, 65, 129, {}, [](const Gemm<float>& g) { gemm(g); }), by_kernel<float>(m, 65, 129)));
  }
  EXPECT_TRUE(is_few_rows(Gemm<float>{.m = 1, .transpose_b = true}));
  EXPECT_TRUE(is_few_rows(Gemm<float>{.m = 16, .transpose_b = true}));
  EXPECT_FALSE(is_few_rows(Gemm<float>{.m = 17, .transpose_b = true}));
  EXPECT_FALSE(is_few_rows(Gemm<float>{.m = 1}));
  EXPECT_FALSE(is_few_rows(Gemm<float>{.m = 1, .transpose_a = true, .transpose_b = true}));
}

}  // namespace
}  // namespace dikkat::kernels::gemm_row_test
