// This file is compiled without fused multiply-adds (CMakeLists.txt), because ggml's quantizers round every product.

#include "train/exchange/formats/convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "autograd/base/denormals.h"
#include "autograd/base/error.h"
#include "autograd/base/f16.h"
#include "autograd/base/ggml_blocks.h"
#include "autograd/base/parallel.h"

namespace dikkat {
namespace {

static_assert(std::endian::native == std::endian::little, "weight files are little-endian");

constexpr std::uint32_t kInfinity = 0x7F80'0000;
constexpr std::uint32_t kMagnitude = 0x7FFF'FFFF;
constexpr std::uint32_t kF16Overflow = 0x477F'F000;  // 65520, the smallest number that rounds to infinity
constexpr index kBlock = 32;                         // elements of q8_0 and q4_0 that share a scale
constexpr index kTile = index{1} << 16;              // elements; a multiple of every type's block

template <class T>
T load_at(const std::byte* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// Converts f32 to f16.
inline std::uint16_t narrowed(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & kMagnitude;
  // Between 0.5 and 1, neighboring f32 numbers are as far apart as f16's denormal numbers. So adding 0.5 rounds to one of these.
  const std::uint32_t small = bits_of(std::bit_cast<float>(magnitude) + 0.5F) - bits_of(0.5F);
  const std::uint32_t normal = (magnitude - (112U << 23U) + 0x0FFFU + (magnitude >> 13U & 1U)) >> 13U;
  const std::uint32_t rounded = magnitude < 0x3880'0000U ? small : normal;  // 2^-14
  const std::uint32_t finite = magnitude >= kF16Overflow ? 0x7C00U : rounded;
  const std::uint32_t all = magnitude > kInfinity ? 0x7E00U | (magnitude >> 13U & 0x1FFU) : finite;
  return static_cast<std::uint16_t>(bits >> 16U & 0x8000U) | static_cast<std::uint16_t>(all);
}

/// Converts f32 to bf16: rounds to nearest, ties to even, and keeps denormal numbers. (base/bf16.h flushes them, as the processor does.)
inline std::uint16_t narrowed_to_bf16(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t rounded = bits + 0x7FFFU + (bits >> 16U & 1U);
  return static_cast<std::uint16_t>(((bits & kMagnitude) > kInfinity ? bits | 0x0040'0000U : rounded) >> 16U);
}

template <class T, class F>
void widen_all(const std::byte* from, index count, float* out, F&& to_f32) {
  for (index i = 0; i < count; ++i) {
    out[i] = to_f32(load_at<T>(from + i * index{sizeof(T)}));
  }
}

/// Decodes elements first to first + count - 1 of blocks, of which the first and the last may be needed only in part.
template <WeightType kType, class Block>
void decode_blocks(const WeightTensor& tensor, index first, index count, float* out) {
  constexpr BlockLayout kLayout = layout_of(kType);
  static_assert(kLayout.bytes == Block::kBytes && kTile % kLayout.elements == 0);
  for (index at = first; at < first + count;) {
    const index inside = at % kLayout.elements;
    const index some = std::min(kLayout.elements - inside, first + count - at);
    std::array<float, kLayout.elements> values{};
    const bool is_whole = some == kLayout.elements;
    const bool is_finite = ggml::dequantize<Block>(tensor.data + at / kLayout.elements * kLayout.bytes, is_whole ? out : values.data());
    if (!is_finite) {
      fail_input("tensor ", tensor.text(),
                 " has a block whose scale is NaN or infinite, expected finite numbers: the training that made it ",
                 "failed, or the file is damaged");
    }
    if (!is_whole) {
      std::copy_n(values.begin() + inside, some, out);
    }
    at += some;
    out += some;
  }
}

void decode(const WeightTensor& tensor, index first, index count, float* out) {
  const std::byte* from = tensor.data + first * layout_of(tensor.type).bytes;  // used for types whose blocks have one element
  switch (tensor.type) {
    case WeightType::f64: return widen_all<double>(from, count, out, [](double value) { return static_cast<float>(value); });
    case WeightType::f32: std::memcpy(out, from, static_cast<std::size_t>(count) * sizeof(float)); return;
    case WeightType::f16: return widen_all<std::uint16_t>(from, count, out, f16_to_float);
    case WeightType::bf16:
      return widen_all<std::uint16_t>(from, count, out,
                                      [](std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16U); });
    case WeightType::q8_0: return decode_blocks<WeightType::q8_0, ggml::Q8_0>(tensor, first, count, out);
    case WeightType::q4_0: return decode_blocks<WeightType::q4_0, ggml::Q4_0>(tensor, first, count, out);
    case WeightType::q4_1: return decode_blocks<WeightType::q4_1, ggml::Q4_1>(tensor, first, count, out);
    case WeightType::q5_0: return decode_blocks<WeightType::q5_0, ggml::Q5_0>(tensor, first, count, out);
    case WeightType::q5_1: return decode_blocks<WeightType::q5_1, ggml::Q5_1>(tensor, first, count, out);
    case WeightType::q2_K: return decode_blocks<WeightType::q2_K, ggml::Q2_K>(tensor, first, count, out);
    case WeightType::q3_K: return decode_blocks<WeightType::q3_K, ggml::Q3_K>(tensor, first, count, out);
    case WeightType::q4_K: return decode_blocks<WeightType::q4_K, ggml::Q4_K>(tensor, first, count, out);
    case WeightType::q5_K: return decode_blocks<WeightType::q5_K, ggml::Q5_K>(tensor, first, count, out);
    case WeightType::q6_K: return decode_blocks<WeightType::q6_K, ggml::Q6_K>(tensor, first, count, out);
    case WeightType::iq4_nl: return decode_blocks<WeightType::iq4_nl, ggml::Iq4_nl>(tensor, first, count, out);
    case WeightType::iq4_xs: return decode_blocks<WeightType::iq4_xs, ggml::Iq4_xs>(tensor, first, count, out);
    case WeightType::other: break;
  }
}

template <class T, class F>
void narrow_all(const float* values, index count, std::byte* out, F&& from_f32) {
  for (index i = 0; i < count; ++i) {
    const T value = from_f32(values[i]);
    std::memcpy(out + i * index{sizeof(T)}, &value, sizeof value);
  }
}

std::uint32_t largest_bits(const float* values, index count) {
  std::uint32_t largest = 0;
  for (index i = 0; i < count; ++i) {
    largest = std::max(largest, bits_of(values[i]) & kMagnitude);
  }
  return largest;
}

void require_f16_range(const float* values, index count) {
  if (largest_bits(values, count) < kF16Overflow) {
    return;
  }
  const float* large = std::find_if(values, values + count, [](float value) {
    const std::uint32_t bits = bits_of(value) & kMagnitude;
    return bits >= kF16Overflow && bits < kInfinity;
  });
  require_input(large == values + count, "the number ", large == values + count ? 0.0F : *large,
                " cannot be stored as f16, whose largest number is 65504; use bf16 or f32");
}

/// Writes the scale as f16 and returns its reciprocal.
float put_scale(WeightType type, float scale, std::byte* block) {
  require_input(std::abs(scale) < 65520.0F, "a scale of ", scale, " cannot be stored in ", type, ", whose scales are f16 (65504 at most)");
  const std::uint16_t half = narrowed(scale);
  std::memcpy(block, &half, sizeof half);
  return scale != 0 ? 1 / scale : 0;
}

void require_finite(WeightType type, std::uint32_t bits) {
  require_input(bits < kInfinity, "an infinite number or NaN cannot be stored as ", type);
}

void encode_q8_0(const float* values, std::byte* block) {
  const std::uint32_t largest = largest_bits(values, kBlock);
  require_finite(WeightType::q8_0, largest);
  const float factor = put_scale(WeightType::q8_0, std::bit_cast<float>(largest) / 127, block);
  std::array<std::int8_t, kBlock> codes{};
  if (std::isfinite(factor)) {  // if the scale is so small that its reciprocal is infinite, ggml's codes are 0
    for (std::size_t i = 0; i < kBlock; ++i) {
      const float value = values[i] * factor;
      codes[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(value + std::copysign(0x1.fffffep-2F, value)));  // half away from 0
    }
  }
  std::memcpy(block + 2, codes.data(), sizeof codes);
}

void encode_q4_0(const float* values, std::byte* block) {
  const std::uint32_t largest = largest_bits(values, kBlock);
  require_finite(WeightType::q4_0, largest);
  const float* first = std::find_if(values, values + kBlock, [&](float value) { return (bits_of(value) & kMagnitude) == largest; });
  const float factor = put_scale(WeightType::q4_0, (largest == 0 ? 0.0F : *first) / -8, block);
  std::array<std::uint8_t, kBlock / 2> codes{};
  if (std::isfinite(factor)) {
    const auto code = [&](float value) {
      return static_cast<std::uint32_t>(std::min(15, static_cast<std::int32_t>(value * factor + 8.5F)));
    };
    for (std::size_t i = 0; i < kBlock / 2; ++i) {
      codes[i] = static_cast<std::uint8_t>(code(values[i]) | code(values[i + kBlock / 2]) << 4U);
    }
  }
  std::memcpy(block + 2, codes.data(), sizeof codes);
}

template <class Encode>
void encode_blocks(const float* values, index count, index block_bytes, std::byte* out, Encode&& encode_block) {
  for (index i = 0; i < count / kBlock; ++i) {
    encode_block(values + i * kBlock, out + i * block_bytes);
  }
}

void encode_part(WeightType type, const float* values, index count, std::byte* out) {
  switch (type) {
    case WeightType::f64: return narrow_all<double>(values, count, out, [](float value) { return static_cast<double>(value); });
    case WeightType::f32: std::memcpy(out, values, static_cast<std::size_t>(count) * sizeof(float)); return;
    case WeightType::f16: require_f16_range(values, count); return narrow_all<std::uint16_t>(values, count, out, narrowed);
    case WeightType::bf16: return narrow_all<std::uint16_t>(values, count, out, narrowed_to_bf16);
    case WeightType::q8_0: return encode_blocks(values, count, layout_of(type).bytes, out, encode_q8_0);
    case WeightType::q4_0: return encode_blocks(values, count, layout_of(type).bytes, out, encode_q4_0);
    default: break;
  }
}

/// Calls f(begin, end) in parallel for parts of the elements first to first + count - 1. All parts except the first begin at multiples of
/// kTile.
template <class F>
void for_parts(index first, index count, F&& f) {
  const index begin = first / kTile;
  const index tiles = count == 0 ? 0 : ceil_div(first + count, kTile) - begin;
  parallel_for(tiles, Work::elements(count), [&](index tile) {
    const KeepDenormals keep;
    f(std::max(first, (begin + tile) * kTile), std::min(first + count, (begin + tile + 1) * kTile));
  });
}

}  // namespace

void read_f32(const WeightTensor& tensor, index first, index count, float* out) {
  if (tensor.type == WeightType::other) {
    const std::string names = all_names<WeightType>();
    fail_input("tensor ", tensor.text(), " has a type that cannot be converted, expected one of ", names.substr(0, names.rfind(',')));
  }
  require(first >= 0 && count >= 0 && first <= tensor.elements && count <= tensor.elements - first, "tensor ", tensor.text(), ": elements ",
          first, " to ", first + count, " were requested, but it has ", tensor.elements);
  for_parts(first, count, [&](index begin, index end) { decode(tensor, begin, end - begin, out + (begin - first)); });
}

void encode(WeightType type, const float* values, index count, std::byte* out) {
  const BlockLayout layout = layout_of(type);
  require(can_be_written(type) && count % layout.elements == 0, "encode: ", count, " elements as ", type, ", expected whole blocks of ",
          layout.elements);
  for_parts(0, count,
            [&](index begin, index end) { encode_part(type, values + begin, end - begin, out + begin / layout.elements * layout.bytes); });
}

std::uint16_t f16_of(float value) {
  const KeepDenormals keep;
  return narrowed(value);
}

}  // namespace dikkat
