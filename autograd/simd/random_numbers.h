#pragma once

#include "autograd/base/index.h"
#include "autograd/simd/philox.h"

// Random numbers that are functions of a stream and of their own index. So parts of an array have the numbers that the whole has. They have
// the same bits on every instruction set with fused operations.
namespace dikkat {

/// Writes uniform numbers first to first + n - 1 of a stream. They are in [0, 1) and have 24 random bits, those of word i.
void uniform_numbers(const RandomStream& stream, index first, index n, float* numbers) noexcept;

/// Writes normal numbers first to first + n - 1 of a stream, by the Box-Muller transform (Box and Muller, "A note on the generation of
/// random normal deviates", 1958). Numbers 2i and 2i + 1 are r cos a and r sin a, with r = sqrt(-2 ln u). u is word 2i as a number above 0
/// and up to 1, with 24 digits; a is the share of a turn that word 2i + 1 is. No number is more than 6.7.
void normal_numbers(const RandomStream& stream, index first, index n, float* numbers) noexcept;

}  // namespace dikkat
