#pragma once

#include <cmath>

#include "autograd/kernels/head_norm.h"

namespace dikkat::kernels::reference {

/// Calls f(first, size, is_key) for each head of a row.
template <class T, class F>
void for_heads(const HeadNorm<T>& p, F&& f) {
  for (index h = 0; h < p.heads; ++h) {
    f(h * p.size, p.size, false);
  }
  for (index h = 0; h < p.key_heads; ++h) {
    f(p.heads * p.size + h * p.key_size, p.key_size, true);
  }
}

/// The reference for kernels::head_norm_forward, by plain loops.
template <class T>
void head_norm_forward(const HeadNorm<T>& p) {
  const index width = p.heads * p.size + p.key_heads * p.key_size + p.rest;
  for (index row = 0; row < p.rows; ++row) {
    const T* x = p.x + row * width;
    T* y = p.y + row * width;
    for (index at = 0; at < width; ++at) {
      y[at] = x[at];
    }
    for_heads(p, [&](index first, index size, bool is_key) {
      T square = 0;
      for (index d = 0; d < size; ++d) {
        square += x[first + d] * x[first + d] / static_cast<T>(size);
      }
      for (index d = 0; d < size; ++d) {
        y[first + d] *= (is_key ? p.k_gamma : p.q_gamma)[d] / std::sqrt(square + static_cast<T>(p.eps));
      }
    });
  }
}

/// The reference for kernels::head_norm_backward. With r = 1 / sqrt(mean(h^2) + eps) and g = dy gamma:
/// dh_i = r g_i - h_i r^3 mean(g h),  dgamma = sum dy h r.
template <class T>
void head_norm_backward(const HeadNorm<T>& p) {
  const index width = p.heads * p.size + p.key_heads * p.key_size + p.rest;
  for (const bool is_key : {false, true}) {
    const auto& out = is_key ? p.dk_gamma : p.dq_gamma;
    for (index d = 0; out && !out.add && d < (is_key ? p.key_size : p.size); ++d) {
      out.data[d] = 0;
    }
  }
  for (index row = 0; row < p.rows; ++row) {
    for_heads(p, [&](index first, index size, bool is_key) {
      const T* x = p.x + row * width + first;
      T* dy = p.y + row * width + first;
      const T* gamma = is_key ? p.k_gamma : p.q_gamma;
      const auto& dgamma = is_key ? p.dk_gamma : p.dq_gamma;
      T square = 0;
      T product = 0;
      for (index d = 0; d < size; ++d) {
        square += x[d] * x[d] / static_cast<T>(size);
        product += dy[d] * gamma[d] * x[d] / static_cast<T>(size);
      }
      const T r = 1 / std::sqrt(square + static_cast<T>(p.eps));
      for (index d = 0; d < size; ++d) {
        if (dgamma) {
          dgamma.data[d] += dy[d] * x[d] * r;
        }
        dy[d] = r * dy[d] * gamma[d] - x[d] * r * r * r * product;
      }
    });
  }
}

}  // namespace dikkat::kernels::reference
