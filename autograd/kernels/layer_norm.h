#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"

namespace dikkat::kernels {

/// y = (x - mean) * rstd * gamma + beta by rows, with rstd = 1 / sqrt(variance + eps) and the biased variance
/// (Ba, Kiros and Hinton, arXiv 1607.06450). Saves mean and rstd.
template <class T>
struct LayerNormForward {
  index rows = 0, cols = 0;
  double eps = 1e-5;
  const T* x = nullptr;      // (rows, cols)
  const T* gamma = nullptr;  // (cols)
  const T* beta = nullptr;   // (cols), or null for none
  T* y = nullptr;            // (rows, cols)
  T* mean = nullptr;         // (rows)
  T* rstd = nullptr;         // (rows)
};
template <class T>
void layer_norm_forward(const LayerNormForward<T>& p) noexcept;

/// Let f = <dy, y>. Writes df/dx, df/dgamma and df/dbeta; a null output is skipped.
template <class T>
struct LayerNormBackward {
  index rows = 0, cols = 0;
  const T* dy = nullptr;     // (rows, cols)
  const T* x = nullptr;      // (rows, cols)
  const T* gamma = nullptr;  // (cols)
  const T* mean = nullptr;   // (rows)
  const T* rstd = nullptr;   // (rows)
  GradOut<T> dx{};           // (rows, cols)
  GradOut<T> dgamma{};       // (cols)
  GradOut<T> dbeta{};        // (cols)
};
template <class T>
void layer_norm_backward(const LayerNormBackward<T>& p) noexcept;

}  // namespace dikkat::kernels
