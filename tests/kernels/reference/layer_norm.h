#pragma once

#include <cmath>
#include <vector>

#include "autograd/kernels/layer_norm.h"

namespace dikkat::kernels::reference {

/// The reference for kernels::layer_norm_forward, by plain loops.
template <class T>
void layer_norm_forward(const LayerNormForward<T>& p) {
  for (index row = 0; row < p.rows; ++row) {
    const T* x = p.x + row * p.cols;
    T mean = 0;
    for (index i = 0; p.center && i < p.cols; ++i) {
      mean += x[i] / static_cast<T>(p.cols);
    }
    T variance = 0;
    for (index i = 0; i < p.cols; ++i) {
      variance += (x[i] - mean) * (x[i] - mean) / static_cast<T>(p.cols);
    }
    if (p.center) {
      p.mean[row] = mean;
    }
    p.rstd[row] = 1 / std::sqrt(variance + static_cast<T>(p.eps));
    for (index i = 0; i < p.cols; ++i) {
      p.y[row * p.cols + i] = (x[i] - mean) * p.rstd[row] * p.gamma[i] + (p.beta != nullptr ? p.beta[i] : T(0));
    }
  }
}

/// The reference for kernels::layer_norm_backward: with n = (x - mean) rstd and g = dy gamma,
/// dx = rstd (g - mean(g) - n mean(g n)),  dgamma = sum dy n,  dbeta = sum dy; RMSNorm without the term mean(g).
template <class T>
void layer_norm_backward(const LayerNormBackward<T>& p) {
  std::vector<T> dgamma(static_cast<std::size_t>(p.cols));
  std::vector<T> dbeta(dgamma.size());
  for (index row = 0; row < p.rows; ++row) {
    const auto n = [&](index i) { return (p.x[row * p.cols + i] - (p.mean != nullptr ? p.mean[row] : T(0))) * p.rstd[row]; };
    const auto dy = [&](index i) { return p.dy[row * p.cols + i]; };
    T g_mean = 0;
    T gn_mean = 0;
    for (index i = 0; i < p.cols; ++i) {
      g_mean += p.mean != nullptr ? dy(i) * p.gamma[i] / static_cast<T>(p.cols) : T(0);
      gn_mean += dy(i) * p.gamma[i] * n(i) / static_cast<T>(p.cols);
      dgamma[static_cast<std::size_t>(i)] += dy(i) * n(i);
      dbeta[static_cast<std::size_t>(i)] += dy(i);
    }
    for (index i = 0; p.dx && i < p.cols; ++i) {
      p.dx.put(row * p.cols + i, p.rstd[row] * (dy(i) * p.gamma[i] - g_mean - n(i) * gn_mean));
    }
  }
  for (index i = 0; i < p.cols; ++i) {
    if (p.dgamma) {
      p.dgamma.put(i, dgamma[static_cast<std::size_t>(i)]);
    }
    if (p.dbeta) {
      p.dbeta.put(i, dbeta[static_cast<std::size_t>(i)]);
    }
  }
}

}  // namespace dikkat::kernels::reference
