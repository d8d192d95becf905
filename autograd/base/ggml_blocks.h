#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "autograd/base/f16.h"
#include "autograd/base/index.h"

/// The blocks in which ggml stores quantized numbers (ggml-common.h and ggml-quants.c of llama.cpp). Each type has a struct of its name,
/// which unpacks one block. Integers of less than 8 bits share bytes: the lowest bits belong to the earliest numbers.
namespace dikkat::ggml {

/// An unpacked block. Number i is scale * scales[i / kGroup] * codes[i] - minimum * minimums[i / kGroup].
template <index kNumbers, index kGroup>
struct Unpacked {
  static constexpr index kCount = kNumbers, kPerGroup = kGroup, kGroups = kNumbers / kGroup;
  float scale = 1, minimum = 0;
  std::int8_t scales[kGroups] = {}, minimums[kGroups] = {}, codes[kNumbers] = {};

  /// Returns a block whose codes are all `code`.
  static Unpacked filled(float scale, float minimum, std::int8_t code) {
    Unpacked block{.scale = scale, .minimum = minimum};
    std::fill_n(block.codes, kNumbers, code);
    return block;
  }
};

inline float f16_at(const std::uint8_t* bytes) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return f16_to_float(bits);
}

/// Adds some bits of each of kCount bytes to its code, as bits `up` and above.
template <index kCount>
void add_bits(const std::uint8_t* bytes, int shift, int mask, int up, std::int8_t* codes) {
  for (index i = 0; i < kCount; ++i) {
    codes[i] = static_cast<std::int8_t>(codes[i] + ((bytes[i] >> shift & mask) << up));
  }
}

// Blocks of 32 numbers with one scale. The lower four bits of byte i are those of number i, and the upper four those of number 16 + i.

using Unpacked32 = Unpacked<32, 32>;

inline Unpacked32 unpacked_32(float scale, float minimum, std::int8_t lowest, const std::uint8_t* numbers) {
  Unpacked32 block = Unpacked32::filled(scale, minimum, lowest);
  block.scales[0] = block.minimums[0] = 1;
  add_bits<16>(numbers, 0, 15, 0, block.codes);
  add_bits<16>(numbers, 4, 15, 0, block.codes + 16);
  return block;
}

/// Adds bit i of the 32 bits at `bytes` to code i, as its fifth bit.
inline void add_fifth_bits(const std::uint8_t* bytes, Unpacked32& block) {
  for (index i = 0; i < 32; ++i) {
    block.codes[i] = static_cast<std::int8_t>(block.codes[i] + ((bytes[i / 8] >> i % 8 & 1) << 4));
  }
}

/// f16 scale, signed bytes.
struct Q8_0 {
  static constexpr index kBytes = 34;
  static Unpacked32 unpack(const std::uint8_t* bytes) {
    Unpacked32 block{.scale = f16_at(bytes), .scales = {1}};
    std::memcpy(block.codes, bytes + 2, sizeof block.codes);
    return block;
  }
};

/// f16 scale, numbers plus 8.
struct Q4_0 {
  static constexpr index kBytes = 18;
  static Unpacked32 unpack(const std::uint8_t* bytes) { return unpacked_32(f16_at(bytes), 0, -8, bytes + 2); }
};

/// f16 scale, f16 lowest number, numbers.
struct Q4_1 {
  static constexpr index kBytes = 20;
  static Unpacked32 unpack(const std::uint8_t* bytes) { return unpacked_32(f16_at(bytes), -f16_at(bytes + 2), 0, bytes + 4); }
};

/// f16 scale, fifth bits, numbers plus 16.
struct Q5_0 {
  static constexpr index kBytes = 22;
  static Unpacked32 unpack(const std::uint8_t* bytes) {
    Unpacked32 block = unpacked_32(f16_at(bytes), 0, -16, bytes + 6);
    add_fifth_bits(bytes + 2, block);
    return block;
  }
};

/// f16 scale, f16 lowest number, fifth bits, numbers.
struct Q5_1 {
  static constexpr index kBytes = 24;
  static Unpacked32 unpack(const std::uint8_t* bytes) {
    Unpacked32 block = unpacked_32(f16_at(bytes), -f16_at(bytes + 2), 0, bytes + 8);
    add_fifth_bits(bytes + 4, block);
    return block;
  }
};

/// The numbers that codes of iq4_nl and iq4_xs stand for.
inline constexpr std::int8_t kIq4Numbers[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// f16 scale, codes.
struct Iq4_nl {
  static constexpr index kBytes = 18;
  static Unpacked32 unpack(const std::uint8_t* bytes) {
    Unpacked32 block = unpacked_32(f16_at(bytes), 0, 0, bytes + 2);
    std::transform(block.codes, block.codes + 32, block.codes, [](std::int8_t code) { return kIq4Numbers[code]; });
    return block;
  }
};

// Blocks of 256 numbers: groups of 16 or 32 have integers as scales, and a block has f16 factors of these. Numbers are stored in runs of
// 32: the bytes of a run have bits of the same number of each of several runs.

inline constexpr index kRun = 32, kRuns = 8;

/// 16 bytes with scale and minimum of a group in four bits each, numbers of two bits, f16 scale, f16 minimum.
struct Q2_K {
  static constexpr index kBytes = 84;
  static Unpacked<256, 16> unpack(const std::uint8_t* bytes) {
    Unpacked<256, 16> block{.scale = f16_at(bytes + 80), .minimum = f16_at(bytes + 82)};
    add_bits<16>(bytes, 0, 15, 0, block.scales);
    add_bits<16>(bytes, 4, 15, 0, block.minimums);
    for (int run = 0; run < kRuns; ++run) {
      add_bits<kRun>(bytes + 16 + run / 4 * kRun, run % 4 * 2, 3, 0, block.codes + run * kRun);
    }
    return block;
  }
};

/// Third bits, lower two bits of numbers plus 4, scales plus 32 (lower four bits in 8 bytes, upper two in 4), f16 scale.
struct Q3_K {
  static constexpr index kBytes = 110;
  static Unpacked<256, 16> unpack(const std::uint8_t* bytes) {
    auto block = Unpacked<256, 16>::filled(f16_at(bytes + 108), 0, -4);
    std::fill_n(block.scales, 16, std::int8_t{-32});
    for (int half = 0; half < 2; ++half) {
      add_bits<8>(bytes + 96, 4 * half, 15, 0, block.scales + 8 * half);
    }
    for (int quarter = 0; quarter < 4; ++quarter) {
      add_bits<4>(bytes + 104, 2 * quarter, 3, 4, block.scales + 4 * quarter);
    }
    for (int run = 0; run < kRuns; ++run) {
      add_bits<kRun>(bytes + 32 + run / 4 * kRun, run % 4 * 2, 3, 0, block.codes + run * kRun);
      add_bits<kRun>(bytes, run, 1, 2, block.codes + run * kRun);
    }
    return block;
  }
};

/// Reads what q4_K and q5_K have in common: f16 scale, f16 minimum, and scales and minimums of 8 groups in six bits each. Four bytes have
/// the first four scales and two bits of the last four, the next four bytes the minimums likewise, and then lower bits of the last four.
inline Unpacked<256, 32> unpacked_groups(const std::uint8_t* bytes) {
  Unpacked<256, 32> block{.scale = f16_at(bytes), .minimum = f16_at(bytes + 2)};
  add_bits<4>(bytes + 4, 0, 63, 0, block.scales);
  add_bits<4>(bytes + 8, 0, 63, 0, block.minimums);
  add_bits<4>(bytes + 12, 0, 15, 0, block.scales + 4);
  add_bits<4>(bytes + 12, 4, 15, 0, block.minimums + 4);
  add_bits<4>(bytes + 4, 6, 3, 4, block.scales + 4);
  add_bits<4>(bytes + 8, 6, 3, 4, block.minimums + 4);
  return block;
}

/// Scales and minimums, numbers of four bits.
struct Q4_K {
  static constexpr index kBytes = 144;
  static Unpacked<256, 32> unpack(const std::uint8_t* bytes) {
    Unpacked<256, 32> block = unpacked_groups(bytes);
    for (int run = 0; run < kRuns; ++run) {
      add_bits<kRun>(bytes + 16 + run / 2 * kRun, run % 2 * 4, 15, 0, block.codes + run * kRun);
    }
    return block;
  }
};

/// Scales and minimums, fifth bits, lower four bits of numbers.
struct Q5_K {
  static constexpr index kBytes = 176;
  static Unpacked<256, 32> unpack(const std::uint8_t* bytes) {
    Unpacked<256, 32> block = unpacked_groups(bytes);
    for (int run = 0; run < kRuns; ++run) {
      add_bits<kRun>(bytes + 48 + run / 2 * kRun, run % 2 * 4, 15, 0, block.codes + run * kRun);
      add_bits<kRun>(bytes + 16, run, 1, 4, block.codes + run * kRun);
    }
    return block;
  }
};

/// Lower four bits of numbers plus 32, upper two bits, signed bytes as scales, f16 scale.
struct Q6_K {
  static constexpr index kBytes = 210;
  static Unpacked<256, 16> unpack(const std::uint8_t* bytes) {
    auto block = Unpacked<256, 16>::filled(f16_at(bytes + 208), 0, -32);
    std::memcpy(block.scales, bytes + 192, sizeof block.scales);
    for (int run = 0; run < kRuns; ++run) {
      add_bits<kRun>(bytes + (run / 4 * 2 + run % 2) * kRun, run / 2 % 2 * 4, 15, 0, block.codes + run * kRun);
      add_bits<kRun>(bytes + 128 + run / 4 * kRun, run % 4 * 2, 3, 4, block.codes + run * kRun);
    }
    return block;
  }
};

/// f16 scale, scales plus 32 (upper two bits in 16 bits, lower four bits in 4 bytes), for each group codes as in iq4_nl.
struct Iq4_xs {
  static constexpr index kBytes = 136;
  static Unpacked<256, 32> unpack(const std::uint8_t* bytes) {
    Unpacked<256, 32> block{.scale = f16_at(bytes)};
    for (int group = 0; group < kRuns; ++group) {
      const int lower = bytes[4 + group / 2] >> group % 2 * 4 & 15, upper = bytes[2 + group / 4] >> group % 4 * 2 & 3;
      block.scales[group] = static_cast<std::int8_t>((lower | upper << 4) - 32);
      for (index i = 0; i < kRun; ++i) {
        block.codes[group * kRun + i] = kIq4Numbers[bytes[8 + group * 16 + i % 16] >> i / 16 * 4 & 15];
      }
    }
    return block;
  }
};

/// Writes the numbers of a block, with the bits of ggml's dequantize_row_*(). Products are exact in f32, because a factor has 11 bits, and
/// scale and code have at most 12 together. So it does not matter whether the compiler fuses the last one with the subtraction. Returns
/// whether the numbers are finite.
template <class Block>
bool dequantize(const std::byte* bytes, float* out) {
  const auto block = Block::unpack(reinterpret_cast<const std::uint8_t*>(bytes));
  for (index group = 0; group < block.kGroups; ++group) {
    const float scale = block.scale * static_cast<float>(block.scales[group]);
    const float minimum = block.minimum * static_cast<float>(block.minimums[group]);
    for (index i = group * block.kPerGroup; i < (group + 1) * block.kPerGroup; ++i) {
      out[i] = scale * static_cast<float>(block.codes[i]) - minimum;
    }
  }
  return std::isfinite(block.scale) && std::isfinite(block.minimum);
}

}  // namespace dikkat::ggml
