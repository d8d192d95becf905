#pragma once

#include <cstddef>
#include <cstdint>

#include "autograd/base/index.h"
#include "train/exchange/formats/weight_file.h"
#include "train/exchange/formats/weight_type.h"

namespace dikkat {

/// Writes elements first to first + count - 1 of the tensor, in row-major order, to `out` (count). The conversion is exact, also for
/// denormal numbers, infinities and NaNs; only f64 is rounded, to nearest. Elements of ggml's quantized types have the bits that llama.cpp
/// computes. Runs on all threads. Throws InputError for a type that cannot be converted and for a block whose scale is not finite, and
/// Error for elements that the tensor does not have.
void read_f32(const WeightTensor& tensor, index first, index count, float* out);

/// Encodes `count` elements, a multiple of the type's block, to `out`: count / elements * bytes of layout_of(type). The type
/// can_be_written(). f16 and bf16 are rounded to nearest, ties to even. q8_0 and q4_0 equal ggml's reference quantizers bit for bit. Runs
/// on all threads. Throws InputError for a finite number that is too large for f16, and for one that is not finite in a block with a scale.
void encode(WeightType type, const float* values, index count, std::byte* out);

/// Converts a number to IEEE binary16: rounded to nearest, ties to even, infinite if it is 65520 or more. A NaN stays one and keeps its
/// upper bits.
std::uint16_t f16_of(float value);

}  // namespace dikkat
