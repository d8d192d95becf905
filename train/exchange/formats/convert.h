#pragma once

#include <cstddef>
#include <cstdint>

#include "autograd/base/index.h"
#include "train/exchange/formats/weight_file.h"
#include "train/exchange/formats/weight_type.h"

namespace dikkat {

/// Writes elements first to first + count - 1 of the tensor, in row-major order, to `out` (count): exactly, denormal numbers, infinities
/// and NaNs included; f64 is rounded to nearest. Runs on all threads. Throws InputError for a type that is not converted; Error for
/// elements that the tensor does not have.
void read_f32(const WeightTensor& tensor, index first, index count, float* out);

/// The bytes of `count` elements, a multiple of the type's block, as `out` (count / elements * bytes of layout_of(type)): f32 as they are,
/// f16 and bf16 rounded to nearest, ties to even; q8_0 and q4_0 as ggml's reference quantizers compute them, bit by bit; f64 widened. Runs
/// on all threads. Throws InputError for a number that the type cannot hold: finite and too large for f16, or not finite in a block with a
/// scale.
void encode(WeightType type, const float* values, index count, std::byte* out);

/// One number as IEEE binary16: rounded to nearest, ties to even; infinite from 65520 on; a NaN stays one and keeps its upper bits.
std::uint16_t f16_of(float value);
/// Exact; a NaN keeps its bits.
float f16_to_float(std::uint16_t bits);

}  // namespace dikkat
