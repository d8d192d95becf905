#include "autograd/kernels/gemm/packed.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/kernels/gemm/gemm_row.h"
#include "autograd/kernels/gemm/gemm_tiles.h"
#include "autograd/kernels/instruction_set.h"
#include "tests/kernels/reference/gemm.h"
#include "tests/kernels/reference/packed.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/widened_bf16.h"

namespace dikkat::kernels::packed_test {
namespace {

using testing::kRaggedSizes;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;
using testing::WidenedBf16;

constexpr PackedType kTypes[] = {PackedType::bf16, PackedType::q8, PackedType::q4};
constexpr index kColumnCounts[] = {1, 2, 31, 32, 33, 63, 96, 129};

/// A random weight: its rows as pack_rows() takes them, its numbers by their definition, and packed.
struct Weight {
  PackedType type;
  index rows, cols;
  std::vector<std::byte> given;
  std::vector<float> values;  // (rows, cols)
  std::vector<std::byte> panels;

  Weight(PackedType its_type, index its_rows, index its_cols)
      : type(its_type),
        rows(its_rows),
        cols(its_cols),
        given(static_cast<std::size_t>(rows * row_bytes(type, cols))),
        values(static_cast<std::size_t>(rows * cols)),
        panels(static_cast<std::size_t>(packed_bytes(type, rows, cols))) {
    for (index row = 0; row < rows; ++row) {
      type == PackedType::bf16 ? make_bf16(row) : make_blocks(row);
    }
    pack_rows(type, cols, 0, rows, given.data(), panels.data());
  }

  PackedMatrix packed() const { return {.packing = type, .rows = rows, .cols = cols, .data = panels.data()}; }

 private:
  std::uint32_t random() {
    state_ = state_ * 1664525U + 1013904223U;
    return state_ >> 16U;
  }
  void put(index row, index k, float number) {
    if (k < cols) {
      values[static_cast<std::size_t>(row * cols + k)] = number;
    }
  }
  void make_bf16(index row) {
    for (index k = 0; k < cols; ++k) {
      const auto bits = static_cast<std::uint16_t>(0x3C00U + (random() & 0x837FU));  // either sign, within some powers of two
      std::memcpy(given.data() + (row * cols + k) * 2, &bits, sizeof bits);
      put(row, k, to_float(bf16{bits}));
    }
  }
  void make_blocks(index row) {
    const index count = type == PackedType::q8 ? 32 : 16;
    std::byte* at = given.data() + row * row_bytes(type, cols);
    for (index first = 0; first < cols; first += kScaleBlock, at += 2 + count) {
      const bool is_denormal = first % 96 == 64;
      const auto bits = static_cast<std::uint16_t>((is_denormal ? 0U : 0x1C00U) + (random() & 0x83FFU));
      std::memcpy(at, &bits, sizeof bits);
      const float scale = reference::f16_value(bits);
      for (index i = 0; i < count; ++i) {
        const auto byte = static_cast<std::uint8_t>(random());
        at[2 + i] = std::byte{byte};
        if (type == PackedType::q8) {
          put(row, first + i, scale * static_cast<float>(static_cast<std::int8_t>(byte)));
        } else {
          put(row, first + i, scale * static_cast<float>((byte & 15) - 8));
          put(row, first + i + 16, scale * static_cast<float>((byte >> 4) - 8));
        }
      }
    }
  }

  std::uint32_t state_ = 12345;
};

TEST(Packed, UnpacksTheNumbersThatItsFormatsDefine) {
  for (const PackedType type : kTypes) {
    for (const index rows : kRaggedSizes) {
      for (const index cols : kColumnCounts) {
        SCOPED_TRACE(::testing::Message() << name_of(type) << ", " << rows << " by " << cols);
        const Weight w(type, rows, cols);
        ASSERT_TRUE(same_bits(reference::unpacked(w.packed()), w.values));
        std::vector<float> found(w.values.size());
        for (index row = 0; row < rows; ++row) {
          unpack_row(w.packed(), row, found.data() + row * cols);
        }
        ASSERT_TRUE(same_bits(found, w.values));

        const index first = rows > 16 ? 16 : 0;
        const index ld = round_up(rows - first, kPanelRows) + 3;
        std::vector<float> transposed(static_cast<std::size_t>(cols * ld));
        unpack_transposed(w.packed(), first, rows - first, transposed.data(), ld);
        for (index row = first; row < rows; ++row) {
          for (index k = 0; k < cols; ++k) {
            found[static_cast<std::size_t>(row * cols + k)] = transposed[static_cast<std::size_t>(k * ld + row - first)];
          }
        }
        ASSERT_TRUE(same_bits(found, w.values));
      }
    }
  }
}

struct Kind {
  bool add = false, bias = false;
};

/// C (m, n) of random numbers times the weight by `multiply`. Row i of A does not depend on m.
template <class T, class F>
std::vector<T> product(index m, const Weight& w, const Kind& kind, F&& multiply) {
  const index lda = w.cols + 3;
  const auto a = testing::converted<T>(numbers(m * lda, 1));
  const auto bias = testing::converted<T>(numbers(w.rows, 3));
  const auto b = testing::converted<T>(w.values);
  auto c = testing::converted<T>(numbers(m * w.rows, 4));
  multiply(Gemm<T>{.m = m,
                   .n = w.rows,
                   .k = w.cols,
                   .a = a.data(),
                   .lda = lda,
                   .b = b.data(),
                   .ldb = w.cols,
                   .transpose_b = true,
                   .c = c.data(),
                   .ldc = w.rows,
                   .add = kind.add,
                   .bias = kind.bias ? bias.data() : nullptr});
  return c;
}

std::vector<float> by_kernel(index m, const Weight& w, const Kind& kind = {}) {
  return product<float>(m, w, kind, [&](Gemm<float> p) {
    const PackedMatrix packed = w.packed();
    p.b = nullptr;
    p.packed_b = &packed;
    gemm(p);
  });
}

constexpr Kind kKinds[] = {{}, {.add = true}, {.bias = true}, {.add = true, .bias = true}};

// A's integers have 16 bits, relative to the largest of 32 numbers.
TEST(PackedGemmOfFewRows, EqualsPlainLoops) {
  index m = 0;
  for (const PackedType type : kTypes) {
    for (const index n : kRaggedSizes) {
      for (const index k : kColumnCounts) {
        const Weight w(type, n, k);
        for (const Kind& kind : kKinds) {
          m = m % kFewRows + 1;
          SCOPED_TRACE(::testing::Message() << name_of(type) << ", " << m << " by " << n << " by " << k);
          const auto expected = product<double>(m, w, kind, [](const Gemm<double>& g) { reference::gemm(g); });
          const double floor = std::max(1e-2, testing::largest_magnitude(w.values) * std::sqrt(static_cast<double>(k)));
          ASSERT_LE(relative_error(by_kernel(m, w, kind), expected, floor), type == PackedType::bf16 ? 1e-6 : 5e-5);
        }
      }
    }
  }
}

TEST(PackedGemmOfFewRows, GivesARowTheSameBitsBesideAnyOthers) {
  for (const PackedType type : kTypes) {
    const Weight w(type, 70, 200);
    const auto all = by_kernel(kFewRows, w);
    for (index m = 1; m < kFewRows; ++m) {
      auto some = all;
      some.resize(static_cast<std::size_t>(m * w.rows));
      EXPECT_TRUE(same_bits(by_kernel(m, w), some)) << name_of(type) << ", " << m;
    }
  }
}

TEST(PackedGemm, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const PackedType type : kTypes) {
    const Weight w(type, 330, 200);
    for (const index m : {1, 7, 40}) {
      const auto on = [&](int threads) {
        const WithThreads with(threads, Work{0});
        return by_kernel(m, w, {.bias = true});
      };
      const auto one = on(1);
      EXPECT_TRUE(same_bits(on(2), one));
      EXPECT_TRUE(same_bits(on(4), one));
    }
  }
}

// All processors compute these bits, by whatever instructions for bytes or for pairs of 16 bits they have.
TEST(PackedGemmOfFewRows, OfQ8AndQ4HasTheBitsOfPlainIntegers) {
  for (const PackedType type : {PackedType::q8, PackedType::q4}) {
    for (const index k : {1, 31, 32, 64, 100, 777}) {
      constexpr index kN = 35;
      const Weight w(type, kN, k);
      const PackedMatrix packed = w.packed();
      auto a = numbers(kFewRows * k, 1);
      a[0] = 1e10F;  // the others of its block become small integers
      for (index m = 1; m <= kFewRows; ++m) {
        std::vector<float> found(static_cast<std::size_t>(m * kN)), expected = found;
        gemm(Gemm<float>{
            .m = m, .n = kN, .k = k, .a = a.data(), .lda = k, .transpose_b = true, .c = found.data(), .ldc = kN, .packed_b = &packed});
        for (index i = 0; i < m * kN; ++i) {
          expected[static_cast<std::size_t>(i)] = reference::product_in_integers(packed, i % kN, a.data() + i / kN * k);
        }
        ASSERT_TRUE(same_bits(found, expected)) << name_of(type) << ", " << m << " rows, " << k << " columns";
      }
    }
  }
}

TEST(PackedGemmOfFewRows, TakesZerosAndHugeNumbers) {
  for (const PackedType type : {PackedType::q8, PackedType::q4}) {
    const Weight w(type, 16, 64);
    std::vector<float> a(64), c(16);
    const PackedMatrix packed = w.packed();
    const Gemm<float> p{
        .m = 1, .n = 16, .k = 64, .a = a.data(), .lda = 64, .transpose_b = true, .c = c.data(), .ldc = 16, .packed_b = &packed};
    gemm(p);
    EXPECT_EQ(c, std::vector<float>(16));
    a[3] = 1e37F;
    gemm(p);
    for (index row = 0; row < 16; ++row) {
      const float expected = 1e37F * w.values[static_cast<std::size_t>(row * 64 + 3)];
      EXPECT_NEAR(c[static_cast<std::size_t>(row)] / 1e37F, expected / 1e37F, 1e-6);
    }
    a[40] = 1e-42F;  // denormal: as if it were zero
    gemm(p);
    EXPECT_TRUE(std::isfinite(c[0]));
    a[40] = std::numeric_limits<float>::quiet_NaN();
    gemm(p);
    EXPECT_TRUE(std::isnan(c[0]));
    a[40] = std::numeric_limits<float>::infinity();
    gemm(p);
    EXPECT_FALSE(std::isfinite(c[0]));
  }
}

// There is more than one block of k, and they begin within a block of scales.
TEST(PackedGemm, OfManyRowsHasTheBitsOfTheUnpackedWeight) {
  for (const PackedType type : kTypes) {
    for (const index k : {1, 33, 200, 1000}) {
      for (const index n : {15, 16, 49, 130}) {
        for (const Kind& kind : kKinds) {
          SCOPED_TRACE(::testing::Message() << name_of(type) << ", " << n << " by " << k);
          const Weight w(type, n, k);
          const auto expected = product<float>(37, w, kind, [&](const Gemm<float>& p) {
            if (has_bf16_products()) {
              gemm_tiles(Bf16Gemm{.m = p.m,
                                  .n = p.n,
                                  .k = p.k,
                                  .a = p.a,
                                  .lda = p.lda,
                                  .b = p.b,
                                  .ldb = p.ldb,
                                  .transpose_b = true,
                                  .c = p.c,
                                  .ldc = p.ldc,
                                  .add = p.add,
                                  .bias = p.bias});
            } else {
              gemm_tiles(p);
            }
          });
          for (const bool widens : {false, true}) {
            const WidenedBf16 widened(widens);
            ASSERT_TRUE(same_bits(by_kernel(37, w, kind), expected));
          }
        }
      }
    }
  }
}

/// C (m, cols) of random numbers = A times the weight that is not transposed, as for a gradient; in f32 or in bf16.
template <class T>
std::vector<float> product_with_itself(index m, const Weight& w, bool add, bool by_reference) {
  const index lda = w.rows + 3;
  const auto random = numbers(m * lda, 1);
  // Convert the operands.
  std::vector<T> a, b;
  for (const float x : random) {
    if constexpr (std::is_same_v<T, bf16>) {
      a.push_back(to_bf16(x));
    } else {
      a.push_back(x);
    }
  }
  PackedMatrix packed = w.packed();
  packed.keeps_f32 = true;
  for (const float x : reference::unpacked(packed)) {
    if constexpr (std::is_same_v<T, bf16>) {
      b.push_back(to_bf16(x));
    } else {
      b.push_back(x);
    }
  }
  auto c = numbers(m * w.cols, 4);
  GemmOn<T> p{.m = m,
              .n = w.cols,
              .k = w.rows,
              .a = a.data(),
              .lda = lda,
              .ldb = w.cols,
              .c = c.data(),
              .ldc = w.cols,
              .add = add,
              .packed_b = &packed};
  // Multiply by our kernel, or by the reference in blocks.
  if (by_reference) {
    GemmOf<const T*, float*, float> q{.m = p.m, .n = p.n, .k = p.k, .lda = p.lda, .ldb = p.ldb, .c = c.data(), .ldc = p.ldc, .add = p.add};
    if constexpr (std::is_same_v<T, bf16>) {
      reference::gemm_of_bf16(q, a.data(), b.data());
    } else {
      reference::gemm_in_blocks(q, a.data(), b.data(), gemm_block_depth(p.k, p.depth));
    }
  } else {
    gemm(p);
  }
  return c;
}

// Blocks of k begin within a panel of 16 rows, and columns within a block of scales.
TEST(PackedGemm, ByTheWeightItselfHasTheBitsOfTheReference) {
  for (const PackedType type : kTypes) {
    for (const index rows : {1, 8, 15, 40, 200, 777, 1600}) {
      for (const index cols : {1, 31, 48, 65, 130}) {
        SCOPED_TRACE(::testing::Message() << name_of(type) << ", " << rows << " by " << cols);
        const Weight w(type, rows, cols);
        for (const index m : {1, 37}) {
          const bool add = cols % 2 == 0;
          ASSERT_TRUE(same_bits(product_with_itself<float>(m, w, add, false), product_with_itself<float>(m, w, add, true))) << m;
          ASSERT_TRUE(same_bits(product_with_itself<bf16>(m, w, add, false), product_with_itself<bf16>(m, w, add, true))) << m;
        }
      }
    }
  }
}

TEST(PackedGemm, ByTheWeightItselfGivesTheSameBitsOnAnyNumberOfThreads) {
  for (const PackedType type : kTypes) {
    const Weight w(type, 330, 200);
    const auto on = [&](int threads) {
      const WithThreads with(threads, Work{0});
      return product_with_itself<float>(40, w, true, false);
    };
    const auto one = on(1);
    EXPECT_TRUE(same_bits(on(2), one));
    EXPECT_TRUE(same_bits(on(3), one));
  }
}

// A weight through which a model is trained is multiplied as train.precision requires.
TEST(PackedGemm, KeepsF32IfTheWeightAsksForIt) {
  const Weight w(PackedType::bf16, 70, 200);
  const auto by_unpacked = product<float>(37, w, {}, [](const Gemm<float>& p) { gemm_tiles(p); });
  const auto by_packed = product<float>(37, w, {}, [&](Gemm<float> p) {
    PackedMatrix packed = w.packed();
    packed.keeps_f32 = true;
    p.packed_b = &packed;
    gemm(p);
  });
  EXPECT_TRUE(same_bits(by_packed, by_unpacked));
}

}  // namespace
}  // namespace dikkat::kernels::packed_test
