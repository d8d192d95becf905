#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "autograd/kernels/gemm/gemm.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/sanitized.h"

namespace dikkat::kernels::gemm_plans_test {
namespace {

using testing::numbers;
using testing::same_bits;

index resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) {
      return std::stol(line.substr(6));
    }
  }
  return 0;
}

std::vector<float> product(index m) {
  constexpr index n = 48, k = 40;
  static const std::vector<float> a = numbers(4096 * k, 1), b = numbers(k * n, 2);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  gemm<float>({.m = m, .n = n, .k = k, .a = a.data(), .lda = k, .b = b.data(), .ldb = n, .c = c.data(), .ldc = n});
  return c;
}

// Prompts of every length make such shapes: libraries keep machine code for each of them.
TEST(GemmPlans, OfMoreAndMoreShapesTakeNoMoreMemory) {
  const auto first = product(100);
  const index before = resident_kilobytes();
  index m = 100;
  const auto multiply_shapes = [&](index count) {
    for (index i = 0; i < count; ++i) {
      product(++m);
    }
    return resident_kilobytes();
  };
  const index filled = multiply_shapes(1200);  // more than are kept, by us or by the library
  const index later = multiply_shapes(1200);
  std::printf("%ld kB before, %ld after 1,200 shapes, %ld after 2,400\n", static_cast<long>(before), static_cast<long>(filled),
              static_cast<long>(later));
  if (!testing::kSanitized) {  // which keeps freed memory
    EXPECT_LT(later - filled, (filled - before) / 4 + 1024);
  }
  EXPECT_TRUE(same_bits(product(100), first));
}

}  // namespace
}  // namespace dikkat::kernels::gemm_plans_test
