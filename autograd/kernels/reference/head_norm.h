#pragma once

#include <cmath>

#include "autograd/kernels/head_norm.h"

namespace dikkat::kernels::reference {

/// The reference for kernels::head_norm_forward, by plain loops.
template <class T>
void head_norm_forward(const HeadNorm<T>& p) {
  const index normalised = (p.heads + p.key_heads) * p.size;
  const index width = normalised + p.rest;
  for (index row = 0; row < p.rows; ++row) {
    for (index at = 0; at < width; ++at) {
      const T* x = p.x + row * width;
      p.y[row * width + at] = x[at];
      if (at < normalised) {
        const T* head = x + at / p.size * p.size;
        T square = 0;
        for (index d = 0; d < p.size; ++d) {
          square += head[d] * head[d] / static_cast<T>(p.size);
        }
        const T* gamma = at / p.size < p.heads ? p.q_gamma : p.k_gamma;
        p.y[row * width + at] *= gamma[at % p.size] / std::sqrt(square + static_cast<T>(p.eps));
      }
    }
  }
}

/// The reference for kernels::head_norm_backward. With r = 1 / sqrt(mean(h^2) + eps) and g = dy gamma:
/// dh_i = r g_i - h_i r^3 mean(g h),  dgamma = sum dy h r.
template <class T>
void head_norm_backward(const HeadNorm<T>& p) {
  const index width = (p.heads + p.key_heads) * p.size + p.rest;
  for (const auto& out : {p.dq_gamma, p.dk_gamma}) {
    for (index d = 0; out && !out.add && d < p.size; ++d) {
      out.data[d] = 0;
    }
  }
  for (index row = 0; row < p.rows; ++row) {
    for (index h = 0; h < p.heads + p.key_heads; ++h) {
      const T* x = p.x + row * width + h * p.size;
      T* dy = p.y + row * width + h * p.size;
      const T* gamma = h < p.heads ? p.q_gamma : p.k_gamma;
      const auto& dgamma = h < p.heads ? p.dq_gamma : p.dk_gamma;
      T square = 0;
      T product = 0;
      for (index d = 0; d < p.size; ++d) {
        square += x[d] * x[d] / static_cast<T>(p.size);
        product += dy[d] * gamma[d] * x[d] / static_cast<T>(p.size);
      }
      const T r = 1 / std::sqrt(square + static_cast<T>(p.eps));
      for (index d = 0; d < p.size; ++d) {
        if (dgamma) {
          dgamma.data[d] += dy[d] * x[d] * r;
        }
        dy[d] = r * dy[d] * gamma[d] - x[d] * r * r * r * product;
      }
    }
  }
}

}  // namespace dikkat::kernels::reference
