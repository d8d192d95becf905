#pragma once

#include <cmath>

#include "autograd/simd/exp.h"
#include "autograd/simd/simd.h"

namespace dikkat::simd {
inline namespace DIKKAT_INSTRUCTION_SET {

/// Returns erf of each lane. f32: error below 1.4 ulp for all x; NaN for NaN. Below 1 it is x + x q(x^2), and above 1 it is 1 - 2^p(|x|),
/// where 2^p is close to 1 - erf. The polynomials are of degree 6 and have the least relative error of erf, below 2^-29.
inline Vec<float> erf(Vec<float> x) {
  const Vec<float> size = min<float>(broadcast(4.0F), magnitude(x));  // in this order: NaN stays
  const Vec<float> z = size * size;
  Vec<float> q = broadcast(7.80690316e-5F);
  q = q * z - 7.9978531e-4F;
  q = q * z + 5.1871622e-3F;
  q = q * z - 2.68533472e-2F;
  q = q * z + 1.12835787e-1F;
  q = q * z - 3.7612626e-1F;
  q = q * z + 1.28379166e-1F;
  const Vec<float> tiny = 1.12837917F * size;  // where q size may be flushed to zero
  const Vec<float> near = size < 0x1p-60F ? tiny : q * size + size;

  Vec<float> p = broadcast(2.6887990e-4F);
  p = p * size - 4.25249618e-3F;
  p = p * size + 3.15053798e-2F;
  p = p * size - 1.48751020e-1F;
  p = p * size - 9.20649052e-1F;
  p = p * size - 1.62604558F;
  p = p * size - 4.92812193e-4F;
  const Vec<float> far = 1.0F - exp2_of_negative(p);
  return flip_signs(size < 1.0F ? near : far, sign_bits(x));
}

/// Computes it by the C library, as exp() does.
inline Vec<double> erf(Vec<double> x) {
  for (index i = 0; i < kLanes<double>; ++i) {
    x[i] = std::erf(x[i]);
  }
  return x;
}

}  // namespace DIKKAT_INSTRUCTION_SET
}  // namespace dikkat::simd
