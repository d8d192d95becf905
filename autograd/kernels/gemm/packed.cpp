#include "autograd/kernels/gemm/packed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/gemm/gemm_row.h"
#include "autograd/kernels/gemm/packed_panels.h"
#include "autograd/kernels/gemm/tile_gemm.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

using simd::kLanes;
using simd::Vec;

constexpr index kGgmlScale = 2;  // bytes of a block's scale, which stands before its numbers

/// Writes one row of a panel from blocks of ggml: their scales and numbers, each at its place between those of the other rows.
template <PackedType kType>
void scatter_blocks(index cols, const std::byte* row, std::byte* panel, index lane) {
  using Block = PackedBlock<kType>;
  constexpr index kBits = 32 / Block::kColumns;
  const auto number = [](const std::byte* numbers, index i) {  // q4_0 has columns i and 16 + i in a byte
    return kType == PackedType::q8 ? std::to_integer<std::uint32_t>(numbers[i])
                                   : std::to_integer<std::uint32_t>(numbers[i % 16]) >> (i / 16 * 4) & 15U;
  };
  for (index block = 0; block < ceil_div(cols, kScaleBlock); ++block, row += row_bytes(kType, kScaleBlock)) {
    std::byte* to = panel + block * Block::kBytes;
    std::memcpy(to + kGgmlScale * lane, row, kGgmlScale);
    for (index i = 0; i < Block::kWords; ++i) {
      std::uint32_t word = 0;
      for (index c = 0; c < Block::kColumns; ++c) {
        word |= number(row + kGgmlScale, i * Block::kColumns + c) << (c % 2 * 16 + c / 2 * kBits);
      }
      std::memcpy(to + Block::kScaleBytes + 4 * (i * kPanelRows + lane), &word, sizeof word);
    }
  }
}

void scatter_words(index cols, const std::byte* row, std::byte* panel, index lane) {
  for (index k = 0; k < cols; ++k) {
    std::memcpy(panel + (k / 2 * kPanelRows + lane) * 4 + k % 2 * 2, row + 2 * k, 2);
  }
}

constexpr int kMostRows = simd::kRegisters == 32 ? 4 : 2;  // rows of A at once: their sums fit into registers
constexpr int kChains = 4;                                 // chains of sums for an element: one would wait for its last addition

/// A vector of elements of C for each of kRows rows of A, as chains of sums.
template <int kRows>
struct Sums {
  Vec<float> chains[kRows][kChains] = {};

  /// Adds a[row * lda] b to chain `chain` of each row.
  void add(int chain, const float* a, index lda, Vec<float> b) {
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
      chains[row][chain] = simd::fused_multiply_add(simd::broadcast(a[row * lda]), b, chains[row][chain]);
    }
  }
  Vec<float> total(int row) const {
    const auto& c = chains[row];
    return (c[0] + c[1]) + (c[2] + c[3]);
  }
};

/// Fetches bytes further ahead, at the end of a panel those of the next one. They go to L2, because A needs L1.
void prefetch_ahead(const std::byte* at) {
  constexpr index kAhead = 4096;
  constexpr int kIntoL2 = 2;
  simd::prefetch<kIntoL2>(at, kAhead);
}

/// Multiplies kRows rows of A by vector v of a panel.
template <int kRows>
void multiply_words(const Gemm<float>& p, const std::byte* panel, int v, Vec<float> (&totals)[kRows]) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(panel) + v * kLanes<float>;
  Sums<kRows> sums;
  const auto word_at = [&](index k) { return simd::load(words + k / 2 * kPanelRows); };
  const auto lower = [](Vec<std::uint32_t> word) { return reinterpret_cast<Vec<float>>(word << 16); };
  const auto upper = [](Vec<std::uint32_t> word) { return reinterpret_cast<Vec<float>>(word & 0xFFFF'0000U); };
  index k = 0;
  for (; k + 4 <= p.k; k += 4) {
    const auto first = word_at(k), second = word_at(k + 2);
    prefetch_ahead(reinterpret_cast<const std::byte*>(words + k / 2 * kPanelRows));
    prefetch_ahead(reinterpret_cast<const std::byte*>(words + (k / 2 + 1) * kPanelRows));
    sums.add(0, p.a + k, p.lda, lower(first));
    sums.add(1, p.a + k + 1, p.lda, upper(first));
    sums.add(2, p.a + k + 2, p.lda, lower(second));
    sums.add(3, p.a + k + 3, p.lda, upper(second));
  }
  for (; k < p.k; ++k) {
    sums.add(static_cast<int>(k % 4), p.a + k, p.lda, k % 2 == 0 ? lower(word_at(k)) : upper(word_at(k)));
  }
  for (int row = 0; row < kRows; ++row) {
    totals[row] = sums.total(row);
  }
}

/// A as integers, for products with q8 and q4: 16 bits with a scale for each block of 32, so that sums of a block are exact.
struct IntegerRows {
  index apart;            // numbers from row to row, a multiple of kScaleBlock
  std::int16_t* numbers;  // (m, apart)
  float* scales;          // (m, blocks)
  std::int32_t* sums;     // (m, blocks): factors of kOffset

  index blocks() const { return apart / kScaleBlock; }
  IntegerRows from_row(index row) const { return {apart, numbers + row * apart, scales + row * blocks(), sums + row * blocks()}; }
};

/// Makes the integers of one block. Numbers that are all tiny count as zero; one that is not finite makes the scale NaN.
void make_integers(const float* a, index count, std::int16_t* numbers, float& scale, std::int32_t& sum) {
  constexpr float kMost = 32767;
  constexpr float kLeast = 0x1p-100F;
  float largest = 0;
  float zero = 0;
  for (index i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(a[i]));
    zero += a[i] - a[i];
  }
  const bool is_finite = zero == 0;
  const float factor = is_finite && largest >= kLeast ? kMost / largest : 0;
  scale = is_finite ? largest / kMost : std::numeric_limits<float>::quiet_NaN();
  sum = 0;
  std::fill_n(numbers, kScaleBlock, std::int16_t{0});
  if (factor > 0) {
    for (index i = 0; i < count; ++i) {
      numbers[i] = static_cast<std::int16_t>(std::nearbyint(a[i] * factor));
      sum += numbers[i];
    }
  }
}

using Integers = simd::IntVec<float>;

#if defined(DIKKAT_NEON) && defined(__ARM_FEATURE_DOTPROD)
// sdot and udot multiply bytes. A number of A is 256 times its upper byte, which has a sign, plus its lower byte, which has none. So are
// the sums, and they are exact: their bits are those of products of 16 bits. For udot, q8 become unsigned by adding 128, which adds 128
// times the sum of the lower bytes.

/// Splits the numbers of a block into upper bytes and then lower bytes, each in the order of the columns in a packed weight's words.
template <PackedType kType>
void split_block(std::int16_t* numbers, std::int32_t& sum) {
  constexpr index kOrder[2][8] = {{0, 2, 1, 3, 4, 6, 5, 7},
                                  {0, 4, 1, 5, 2, 6, 3, 7}};  // q4: the lower halves of four bytes, then the upper
  const auto& order = kOrder[kType == PackedType::q8 ? 0 : 1];
  std::uint8_t bytes[2][kScaleBlock];
  std::int32_t lower_sum = 0;
  for (index i = 0; i < kScaleBlock; ++i) {
    const auto bits = static_cast<std::uint16_t>(numbers[i / 8 * 8 + order[i % 8]]);
    bytes[0][i] = static_cast<std::uint8_t>(bits >> 8);
    bytes[1][i] = static_cast<std::uint8_t>(bits & 255);
    lower_sum += bytes[1][i];
  }
  std::memcpy(numbers, bytes, sizeof bytes);
  if constexpr (kType == PackedType::q8) {
    sum = lower_sum;
  }
}
/// The offset of a weight's numbers: times IntegerRows::sums, it is subtracted from the sum of a block.
template <PackedType kType>
constexpr std::int32_t kOffset = kType == PackedType::q4 ? 8 : 128;

/// Computes the sums of a block of vector v, for each row of A, whose block begins at `numbers`.
template <PackedType kType, int kRows>
[[gnu::always_inline]] inline void sum_block(const PackedBlock<kType>& block, int v, const std::int16_t* numbers, index apart,
                                             Integers (&sums)[kRows]) {
#define DIKKAT_INLINE __attribute__((always_inline))
  constexpr index kHalf = 16;  // bytes of a vector
  int8x16_t upper[kRows][2];
  uint8x16_t lower[kRows][2];
  int32x4_t upper_sums[kRows];
  uint32x4_t lower_sums[kRows];
  // Load the bytes of A.
  detail::unrolled<kRows>([&](auto row) DIKKAT_INLINE {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(numbers + row * apart);
    detail::unrolled<2>([&](auto half) DIKKAT_INLINE {
      upper[row][half] = vreinterpretq_s8_u8(vld1q_u8(bytes + half * kHalf));
      lower[row][half] = vld1q_u8(bytes + kScaleBlock + half * kHalf);
    });
    upper_sums[row] = vdupq_n_s32(0);
    lower_sums[row] = vdupq_n_u32(0);
  });
  // Multiply by four bytes of A in each lane.
  const auto add = [&](auto four, int8x16_t with_sign, uint8x16_t without_sign) DIKKAT_INLINE {
    detail::unrolled<kRows>([&](auto row) DIKKAT_INLINE {
      upper_sums[row] = vdotq_laneq_s32(upper_sums[row], with_sign, upper[row][four / 4], four % 4);
      lower_sums[row] = vdotq_laneq_u32(lower_sums[row], without_sign, lower[row][four / 4], four % 4);
    });
  };
  // Unpack the words of the weight, and add their products.
  detail::unrolled<PackedBlock<kType>::kWords>([&](auto i) DIKKAT_INLINE {
    const uint8x16_t word = vreinterpretq_u8_s32(block.word(i, v));
    if constexpr (kType == PackedType::q8) {
      add(i, vreinterpretq_s8_u8(word), veorq_u8(word, vdupq_n_u8(128)));
    } else {
      const uint8x16_t first = vandq_u8(word, vdupq_n_u8(15)), second = vshrq_n_u8(word, 4);
      add(std::integral_constant<int, 2 * i>{}, vreinterpretq_s8_u8(first), first);
      add(std::integral_constant<int, 2 * i + 1>{}, vreinterpretq_s8_u8(second), second);
    }
  });
  // Join the sums of upper and lower bytes.
  detail::unrolled<kRows>(
      [&](auto row) DIKKAT_INLINE { sums[row] = vaddq_s32(vshlq_n_s32(upper_sums[row], 8), vreinterpretq_s32_u32(lower_sums[row])); });
#undef DIKKAT_INLINE
}
#else
template <PackedType kType>
void split_block(const std::int16_t*, std::int32_t&) {}
/// The offset of a weight's numbers: times IntegerRows::sums, it is subtracted from the sum of a block.
template <PackedType kType>
constexpr std::int32_t kOffset = kType == PackedType::q4 ? 8 : 0;

/// Computes the sums of a block of vector v, for each row of A, whose block begins at `numbers`.
template <PackedType kType, int kRows>
[[gnu::always_inline]] inline void sum_block(const PackedBlock<kType>& block, int v, const std::int16_t* numbers, index apart,
                                             Integers (&sums)[kRows]) {
  Integers chains[kRows][2] = {};
  const auto add = [&](int chain, index column, Integers pairs) {
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      std::int32_t pair;
      std::memcpy(&pair, numbers + row * apart + column, sizeof pair);
      chains[row][chain] = simd::multiply_add_pairs(pairs, pair - Integers{}, chains[row][chain]);
    }
  };
  typedef std::int16_t Halves __attribute__((vector_size(simd::kBytes)));
  typedef std::uint16_t Bits __attribute__((vector_size(simd::kBytes)));
#pragma GCC unroll 4
  for (index i = 0; i < PackedBlock<kType>::kWords; ++i) {
    const Integers word = block.word(i, v);
    if constexpr (kType == PackedType::q8) {
      const auto halves = reinterpret_cast<Halves>(word);
      add(0, 4 * i, reinterpret_cast<Integers>(halves << 8 >> 8));
      add(1, 4 * i + 2, reinterpret_cast<Integers>(halves >> 8));
    } else {
      const auto bits = reinterpret_cast<Bits>(word);
      add(0, 8 * i, reinterpret_cast<Integers>(bits & 15));
      add(1, 8 * i + 2, reinterpret_cast<Integers>(bits >> 4 & 15));
      add(0, 8 * i + 4, reinterpret_cast<Integers>(bits >> 8 & 15));
      add(1, 8 * i + 6, reinterpret_cast<Integers>(bits >> 12));
    }
  }
  for (int row = 0; row < kRows; ++row) {
    sums[row] = chains[row][0] + chains[row][1];
  }
}
#endif

template <PackedType kType>
void make_integers(const Gemm<float>& p, const IntegerRows& to) {
  for (index row = 0; row < p.m; ++row) {
    for (index block = 0; block < to.blocks(); ++block) {
      const index own = row * to.blocks() + block;
      make_integers(p.a + row * p.lda + block * kScaleBlock, std::min(kScaleBlock, p.k - block * kScaleBlock),
                    to.numbers + own * kScaleBlock, to.scales[own], to.sums[own]);
      split_block<kType>(to.numbers + own * kScaleBlock, to.sums[own]);
    }
  }
}

/// Does what multiply_words() does, but for q8 or q4: the sum of a block, in integers, is multiplied by its scale when it is added to the
/// total.
template <PackedType kType, int kRows>
void multiply_blocks(const IntegerRows& a, const std::byte* panel, int v, Vec<float> (&totals)[kRows]) {
  for (index at = 0; at < a.blocks(); ++at) {
    const PackedBlock<kType> block(panel, at);
    for (index line = 0; line < PackedBlock<kType>::kBytes; line += 64) {
      prefetch_ahead(block.at + line);
    }
    Integers sums[kRows];
    sum_block<kType, kRows>(block, v, a.numbers + at * kScaleBlock, a.apart, sums);
    // The scales of the block make them floats. The 8 that q4 adds to its numbers is subtracted here.
    const Vec<float> scales = block.scales(v);
    for (int row = 0; row < kRows; ++row) {
      const index own = row * a.blocks() + at;
      const Integers sum = sums[row] - (kOffset<kType> != 0 ? kOffset<kType> * a.sums[own] : 0);
      totals[row] = simd::fused_multiply_add(simd::to_floats(sum), scales * a.scales[own], totals[row]);
    }
  }
}

/// Multiplies kRows rows of A by a panel of B.
template <PackedType kType, int kRows>
void multiply_panel(const Gemm<float>& p, const IntegerRows& integers, index panel) {
  for (int v = 0; v < kPanelVectors; ++v) {
    Vec<float> totals[kRows] = {};
    if constexpr (kType == PackedType::bf16) {
      multiply_words<kRows>(p, panel_at(*p.packed_b, panel), v, totals);
    } else {
      multiply_blocks<kType, kRows>(integers, panel_at(*p.packed_b, panel), v, totals);
    }
    const index col = panel * kPanelRows + v * kLanes<float>;
    const index count = std::min<index>(kLanes<float>, p.n - col);
    if (count <= 0) {
      break;
    }
    const auto put = [&](auto lanes) {
      const Vec<float> bias = p.bias != nullptr ? simd::load(p.bias + col, lanes) : Vec<float>{};
      for (int row = 0; row < kRows; ++row) {
        float* c = p.c + row * p.ldc + col;
        const Vec<float> total = totals[row] + bias;
        simd::store(c, p.add ? simd::load(c, lanes) + total : total, lanes);
      }
    };
    count == kLanes<float> ? put(simd::Whole{}) : put(simd::Part{count});
  }
}

/// Does what multiply_panel() does, but for p.m rows, at most kRows.
template <PackedType kType, int kRows>
void multiply_rows(const Gemm<float>& p, const IntegerRows& integers, index panel) {
  if (p.m == kRows) {
    multiply_panel<kType, kRows>(p, integers, panel);
  } else if constexpr (kRows > 1) {
    multiply_rows<kType, kRows - 1>(p, integers, panel);
  }
}

}  // namespace

index row_bytes(PackedType packing, index cols) { return packing == PackedType::bf16 ? 2 * cols : packed_row_bytes(packing, cols); }

void pack_rows(PackedType packing, index cols, index first, index count, const std::byte* rows, std::byte* panels) {
  constexpr index kRowsOfTile = 8;
  parallel_blocks(count, kRowsOfTile, Work::elements(count * cols), [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      const std::byte* row = rows + i * row_bytes(packing, cols);
      std::byte* panel = panels + (first + i) / kPanelRows * panel_bytes(packing, cols);
      const index lane = (first + i) % kPanelRows;
      switch (packing) {
        case PackedType::f32: break;
        case PackedType::bf16: scatter_words(cols, row, panel, lane); break;
        case PackedType::q8: scatter_blocks<PackedType::q8>(cols, row, panel, lane); break;
        case PackedType::q4: scatter_blocks<PackedType::q4>(cols, row, panel, lane); break;
      }
    }
  });
}

void unpack_row(const PackedMatrix& w, index row, float* out) {
  const std::byte* panel = panel_at(w, row / kPanelRows);
  const auto lane = static_cast<int>(row % kPanelRows);
  for_packing(w.packing, [&](auto packing) {
    for_columns<packing>(panel, 0, w.cols, lane / static_cast<int>(kLanes<float>),
                         [&](index k, Vec<float> values) { out[k] = values[lane % kLanes<float>]; });
  });
}

void unpack_transposed(const PackedMatrix& w, index first, index count, float* out, index ld) {
  parallel_for(ceil_div(count, kPanelRows), Work::elements(count * w.cols), [&](index panel) {
    for (int v = 0; v < kPanelVectors; ++v) {
      float* to = out + panel * kPanelRows + v * kLanes<float>;
      for_packing(w.packing, [&](auto packing) {
        for_columns<packing>(panel_at(w, first / kPanelRows + panel), 0, w.cols, v,
                             [&](index k, Vec<float> values) { simd::store(to + k * ld, values); });
      });
    }
  });
}

void gemm_few_rows_packed(const Gemm<float>& p) {
  const PackedMatrix& b = *p.packed_b;
  const index whole = b.packing == PackedType::bf16 ? 0 : round_up(p.k, kScaleBlock);
  const Scratch<std::int16_t> numbers(p.m * whole);
  const Scratch<float> scales(p.m * whole / kScaleBlock);
  const Scratch<std::int32_t> sums(p.m * whole / kScaleBlock);
  const IntegerRows integers{whole, numbers, scales, sums};
  for_packing(b.packing, [&](auto type) {
    if constexpr (type != PackedType::bf16) {
      make_integers<type>(p, integers);
    }
  });
  constexpr index kAsSlow = 8;  // reading B takes as long as that many rows' multiply-adds
  const Work work = Work::products(std::max(p.m, kAsSlow), p.n, p.k);
  // Threads may get memory at different rates, so a thread takes one part of B after another. Parts are long, since the beginning of each
  // is slow.
  constexpr index kLeastBytes = 64 << 10, kMostBytes = 256 << 10, kPartsOfThread = 4;
  const index panels = ceil_div(p.n, kPanelRows), bytes = packed_bytes(b.packing, p.n, p.k);
  const index parts = ceil_div(bytes, std::clamp(bytes / (kPartsOfThread * thread_count()), kLeastBytes, kMostBytes));
  parallel_for_uneven(
      parts, work, [] {},
      [&](index part) {
        for (index panel = panels * part / parts; panel < panels * (part + 1) / parts; ++panel) {
          for (index row = 0; row < p.m; row += kMostRows) {
            Gemm<float> some = p;
            some.m = std::min<index>(kMostRows, p.m - row);
            some.a += row * p.lda;
            some.c += row * p.ldc;
            for_packing(b.packing, [&](auto type) { multiply_rows<type, kMostRows>(some, integers.from_row(row), panel); });
          }
        }
      });
}

}  // namespace dikkat::kernels
