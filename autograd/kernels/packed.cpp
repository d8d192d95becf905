#include "autograd/kernels/packed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/base/simd.h"
#include "autograd/kernels/gemm_row.h"
#include "autograd/kernels/packed_panels.h"

namespace dikkat::kernels {
namespace {

using simd::kLanes;
using simd::Vec;

constexpr index kGgmlScale = 2;  // bytes of a block's scale, which stands before its numbers

/// One row of a panel from blocks of ggml: their scales, and their numbers, each at its place between those of the other rows.
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

constexpr int kMostRows = simd::kBytes == 64 ? 4 : 2;  // of A at once: their sums fit into registers
constexpr int kChains = 4;                             // of sums for an element: one would wait for its last addition

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

/// Fetches bytes further ahead, which are those of the next panel at the end of this one. Into L2, because A needs L1.
void prefetch_ahead(const std::byte* at) {
  constexpr index kAhead = 4096;
  constexpr int kIntoL2 = 2;
  simd::prefetch<kIntoL2>(at, kAhead);
}

/// kRows rows of A times vector v of a panel.
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
  std::int32_t* sums;     // (m, blocks): of the numbers

  index blocks() const { return apart / kScaleBlock; }
  IntegerRows from_row(index row) const { return {apart, numbers + row * apart, scales + row * blocks(), sums + row * blocks()}; }
};

/// One block. Numbers that are all tiny count as zero; one that is not finite makes the scale NaN.
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

void make_integers(const Gemm<float>& p, const IntegerRows& to) {
  for (index row = 0; row < p.m; ++row) {
    for (index block = 0; block < to.blocks(); ++block) {
      const index own = row * to.blocks() + block;
      make_integers(p.a + row * p.lda + block * kScaleBlock, std::min(kScaleBlock, p.k - block * kScaleBlock),
                    to.numbers + own * kScaleBlock, to.scales[own], to.sums[own]);
    }
  }
}

/// As multiply_words(), for q8 or q4: the sum of a block, in integers, is multiplied by its scale when it is added to the total.
template <PackedType kType, int kRows>
void multiply_blocks(const IntegerRows& a, const std::byte* panel, int v, Vec<float> (&totals)[kRows]) {
  using Integers = simd::IntVec<float>;
  for (index at = 0; at < a.blocks(); ++at) {
    const PackedBlock<kType> block(panel, at);
    for (index line = 0; line < PackedBlock<kType>::kBytes; line += 64) {
      prefetch_ahead(block.at + line);
    }
    // Sum the block, in integers.
    Integers sums[kRows][2] = {};  // two chains
    const auto add = [&](int chain, index column, Integers pairs) {
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) {
        std::int32_t pair;
        std::memcpy(&pair, a.numbers + row * a.apart + at * kScaleBlock + column, sizeof pair);
        sums[row][chain] = simd::multiply_add_pairs(pairs, pair - Integers{}, sums[row][chain]);
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
    // The scales of the block make them floats. The 8 that q4 adds to its numbers is subtracted here.
    const Vec<float> scales = block.scales(v);
    for (int row = 0; row < kRows; ++row) {
      const index own = row * a.blocks() + at;
      const Integers sum = sums[row][0] + sums[row][1] - (kType == PackedType::q4 ? 8 * a.sums[own] : 0);
      totals[row] = simd::fused_multiply_add(simd::to_floats(sum), scales * a.scales[own], totals[row]);
    }
  }
}

/// kRows rows of A times a panel of B.
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

/// As multiply_panel(), for p.m rows, at most kRows.
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
  make_integers(p, integers);
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
