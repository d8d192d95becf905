#pragma once

#include "autograd/base/index.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {

// Rotary positions (RoPE; Su et al., arXiv 2104.09864), as Llama has them. Numbers d and d + D / 2 of a head are the two coordinates of a
// point, which is rotated by an angle that depends on the position and on d. The angles of a position are a row of D / 2 cosines, then
// D / 2 sines.

/// Writes one head `from` at a position, rotated, to `to`. Both have `size` numbers, and `size` is even.
template <class From, class T, class To>
void rotate_head(index size, const From* from, const T* angles, To* to) {
  const index half = size / 2;
  simd::for_vectors<T>(0, half, [&](index d, auto lanes) {
    const auto x = simd::load_as<T>(from + d, lanes);
    const auto y = simd::load_as<T>(from + half + d, lanes);
    const auto cosine = simd::load(angles + d, lanes);
    const auto sine = simd::load(angles + half + d, lanes);
    simd::store_as<T>(to + d, x * cosine - y * sine, lanes);
    simd::store_as<T>(to + half + d, y * cosine + x * sine, lanes);
  });
}

/// Calls put(d, value, lanes) for the numbers of `from`, multiplied by a factor and rotated back, which is the gradient of a rotation.
template <class T, class F>
void rotate_back(index size, const T* from, const T* angles, T factor, F&& put) {
  const index half = size / 2;
  simd::for_vectors<T>(0, half, [&](index d, auto lanes) {
    const auto x = factor * simd::load(from + d, lanes);
    const auto y = factor * simd::load(from + half + d, lanes);
    const auto cosine = simd::load(angles + d, lanes);
    const auto sine = simd::load(angles + half + d, lanes);
    put(d, x * cosine + y * sine, lanes);
    put(half + d, y * cosine - x * sine, lanes);
  });
}

}  // namespace dikkat::kernels
