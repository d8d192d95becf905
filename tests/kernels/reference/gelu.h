#pragma once

#include <cmath>
#include <numbers>

namespace dikkat::kernels::reference {

/// GPT-2's GELU, as its paper's authors wrote it (Hendrycks and Gimpel, arXiv 1606.08415).
template <class T>
T gelu(T x) {
  const T a = std::sqrt(2 / std::numbers::pi_v<T>);
  return T(0.5) * x * (1 + std::tanh(a * (x + T(0.044715) * x * x * x)));
}

template <class T>
T gelu_slope(T x) {
  const T a = std::sqrt(2 / std::numbers::pi_v<T>);
  const T t = std::tanh(a * (x + T(0.044715) * x * x * x));
  return T(0.5) * (1 + t) + T(0.5) * x * (1 - t * t) * a * (1 + 3 * T(0.044715) * x * x);
}

}  // namespace dikkat::kernels::reference
