#include "autograd/kernels/gemm/gemm_batch.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/kernels/gemm/gemm.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

namespace dikkat::kernels::gemm_batch_test {
namespace {

using testing::numbers;
using testing::relative_error;
using testing::same_bits;

template <class T>
std::vector<T> stored(const std::vector<float>& values) {
  std::vector<T> other;
  for (const float value : values) {
    other.push_back(to_stored<T>(static_cast<Computed<T>>(value)));
  }
  return other;
}

/// An axis by which operands it has: it is the next one outside of their matrices.
struct Axis {
  index extent;
  bool a, b, c;
};
struct Case {
  const char* what;
  index m, n, k;
  bool transpose_a, transpose_b;
  std::vector<Axis> axes;  // from the innermost
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"small ones", 16, 16, 16, false, false, {{64, true, true, true}}},
      {"transposed", 7, 20, 33, true, true, {{5, true, true, true}}},
      {"one b", 9, 17, 8, false, true, {{3, true, false, true}, {4, true, true, true}}},
      {"a sum", 5, 18, 40, true, false, {{37, true, true, false}}},
      {"sums", 12, 7, 9, false, false, {{6, true, true, true}, {11, true, true, false}, {2, true, false, true}}},
      {"many sums of few", 4, 4, 4, false, true, {{3, true, true, false}, {50, true, true, true}}},
      {"a sum of large ones", 200, 210, 900, true, false, {{3, true, true, false}}},
      {"a sum of one", 9, 9, 9, false, false, {{1, true, true, false}}},
      {"a sum of none", 3, 5, 4, false, false, {{0, true, true, false}, {2, true, true, true}}},
      {"none", 3, 5, 4, false, false, {{0, true, true, true}}},
      {"of no depth", 3, 5, 0, false, false, {{4, false, false, true}}},
  };
  return all;
}

/// A case with matrices that have a gap of `gap` after each row.
struct Sized {
  GemmBatch batch;
  index a = 0, b = 0, c = 0;  // elements
};
Sized sized(const Case& c, index gap) {
  GemmBatch batch{.m = c.m, .n = c.n, .k = c.k, .transpose_a = c.transpose_a, .transpose_b = c.transpose_b};
  batch.lda = (c.transpose_a ? c.m : c.k) + gap;
  batch.ldb = (c.transpose_b ? c.k : c.n) + gap;
  batch.ldc = c.n + gap;
  Sized s{{}, batch.lda * (c.transpose_a ? c.k : c.m), batch.ldb * (c.transpose_b ? c.n : c.k), batch.ldc * c.m};
  for (const Axis& axis : c.axes) {
    batch.add_axis({axis.extent, axis.a ? s.a : 0, axis.b ? s.b : 0, axis.c ? s.c : 0});
    s.a *= axis.a ? axis.extent : 1;
    s.b *= axis.b ? axis.extent : 1;
    s.c *= axis.c ? axis.extent : 1;
  }
  s.batch = batch;
  return s;
}

/// The place of element (i, j) of a matrix.
index place(bool transposed, index ld, index i, index j) { return transposed ? j * ld + i : i * ld + j; }

/// C by plain loops in f64, for the products of all indices from `axis` on.
template <class T>
void by_loops(const GemmBatch& p, int axis, const T* a, const T* b, double* c) {
  if (axis < p.axes) {
    for (index i = 0; i < p.at(axis).extent; ++i) {
      by_loops(p, axis + 1, a + i * p.at(axis).a, b + i * p.at(axis).b, c + i * p.at(axis).c);
    }
    return;
  }
  for (index i = 0; i < p.m; ++i) {
    for (index j = 0; j < p.n; ++j) {
      for (index l = 0; l < p.k; ++l) {
        c[i * p.ldc + j] += static_cast<double>(to_computed(a[place(p.transpose_a, p.lda, i, l)])) *
                            static_cast<double>(to_computed(b[place(p.transpose_b, p.ldb, l, j)]));
      }
    }
  }
}

template <class T>
std::vector<Computed<T>> computed(const Sized& s, const std::vector<T>& a, const std::vector<T>& b, const std::vector<T>& first, bool add) {
  auto c = first;
  gemm_batch<T>(s.batch, a.data(), b.data(), {c.data(), add});
  std::vector<Computed<T>> values;
  for (const T value : c) {
    values.push_back(to_computed(value));
  }
  return values;
}

template <class T>
void check(const Case& c, index gap, bool add, double bound) {
  const Sized s = sized(c, gap);
  const auto a = stored<T>(numbers(s.a, 1)), b = stored<T>(numbers(s.b, 2)), first = stored<T>(numbers(s.c, 3));
  // Elements in gaps stay as they are.
  std::vector<double> expected;
  for (index i = 0; i < s.c; ++i) {
    const bool is_in_gap = i % s.batch.ldc >= s.batch.n;
    expected.push_back(add || is_in_gap ? static_cast<double>(to_computed(first[static_cast<std::size_t>(i)])) : 0);
  }
  by_loops(s.batch, 0, a.data(), b.data(), expected.data());
  const auto found = computed<T>(s, a, b, first, add);
  EXPECT_LE(relative_error(found, expected), bound);
  for (const int threads : {2, 3, 4}) {
    const WithThreads with(threads, Work{0});
    EXPECT_TRUE(same_bits(computed<T>(s, a, b, first, add), found)) << threads;
  }
}

TEST(GemmBatch, EqualsPlainLoops) {
  for (const Case& c : cases()) {
    for (const bool add : {false, true}) {
      SCOPED_TRACE(::testing::Message() << c.what << (add ? ", added" : ""));
      const WithThreads one(1);
      check<double>(c, 0, add, 1e-13);
      check<float>(c, 3, add, 5e-6);
      check<bf16>(c, 2, add, 0x1p-8);
    }
  }
}

// The gradient of a product is a product of the same places.
TEST(GemmBatch, HasTheProductsOfItsGradients) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const Case c{"", 3, 4, 5, transpose_a, transpose_b, {{2, true, true, true}, {3, false, true, true}, {2, true, false, true}}};
      const Sized s = sized(c, 0);
      const auto a = stored<double>(numbers(s.a, 1)), b = stored<double>(numbers(s.b, 2)), dc = stored<double>(numbers(s.c, 3));
      // <dC, C> is linear in A and in B, so its derivative to an element is what changes when the element grows by one.
      const auto total = [&](const std::vector<double>& a_now, const std::vector<double>& b_now) {
        std::vector<double> out(dc.size());
        by_loops(s.batch, 0, a_now.data(), b_now.data(), out.data());
        double sum = 0;
        for (std::size_t i = 0; i < out.size(); ++i) {
          sum += out[i] * dc[i];
        }
        return sum;
      };
      const auto expect = [&](const std::vector<double>& found, bool of_a) {
        for (std::size_t i = 0; i < found.size(); ++i) {
          auto a_now = a, b_now = b;
          (of_a ? a_now : b_now)[i] += 1;
          EXPECT_NEAR(found[i], total(a_now, b_now) - total(a, b), 1e-12) << i;
        }
      };
      std::vector<double> da(a.size(), std::numeric_limits<double>::quiet_NaN()), db(b.size(), da[0]);
      transpose_a ? gemm_batch<double>(s.batch.for_a(), b.data(), dc.data(), {da.data()})
                  : gemm_batch<double>(s.batch.for_a(), dc.data(), b.data(), {da.data()});
      transpose_b ? gemm_batch<double>(s.batch.for_b(), dc.data(), a.data(), {db.data()})
                  : gemm_batch<double>(s.batch.for_b(), a.data(), dc.data(), {db.data()});
      expect(da, true);
      expect(db, false);
    }
  }
}

// 64 products of 16 by 16 take less time than waking a thread for each of them.
TEST(GemmBatch, OfSmallProductsRunsOneLoopAtMost) {
  const WithThreads two(2);
  const auto loops_of = [](index count, index size) {
    const Sized s = sized({"", size, size, size, false, true, {{count, true, true, true}}}, 0);
    const std::vector<float> a(static_cast<std::size_t>(s.a)), b(static_cast<std::size_t>(s.b));
    std::vector<float> c(static_cast<std::size_t>(s.c));
    const auto before = parallel_loops();
    gemm_batch<float>(s.batch, a.data(), b.data(), {c.data()});
    return parallel_loops() - before;
  };
  EXPECT_EQ(loops_of(64, 16), 0);
  EXPECT_EQ(loops_of(640, 16), 1);
}

}  // namespace
}  // namespace dikkat::kernels::gemm_batch_test
