#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"
#include "autograd/kernels/dropout.h"

namespace dikkat::kernels {

/// y = (x - mean) * rstd * gamma + beta for each row, with rstd = 1 / sqrt(variance + eps) and the biased variance (Ba, Kiros and Hinton,
/// arXiv 1607.06450). Saves mean and rstd. Without `center` it is RMSNorm (Zhang and Sennrich, arXiv 1910.07467): its mean is 0, so rstd =
/// 1 / sqrt(mean(x^2) + eps). With a branch, each row of x is computed first: x = residual + dropout(branch). B and Y are the types of the
/// branch and of y.
template <class T, class B = T, class Y = T>
struct LayerNormForward {
  index rows = 0, cols = 0;
  double eps = 1e-5;
  bool center = true;
  const T* x = nullptr;      // (rows, cols)
  const T* gamma = nullptr;  // (cols)
  const T* beta = nullptr;   // (cols), or null for none
  Y* y = nullptr;            // (rows, cols)
  T* mean = nullptr;         // (rows); without `center` it is not used
  T* rstd = nullptr;         // (rows)

  const T* residual = nullptr;  // (rows, cols), or null: x is given
  const B* branch = nullptr;    // (rows, cols)
  Dropping dropping{};          // dropout of the branch
  T* sum = nullptr;             // (rows, cols): where x is written
};
template <class T, class B = T, class Y = T>
void layer_norm_forward(const LayerNormForward<T, B, Y>& p);

/// Let f = <dy, y>. Writes df/dx, df/dgamma and df/dbeta; a null output is skipped. df/dx is also df/dresidual; `dbranch` is its dropout,
/// and needs dx.
template <class T, class B = T, class Y = T>
struct LayerNormBackward {
  index rows = 0, cols = 0;
  const Y* dy = nullptr;     // (rows, cols)
  const T* x = nullptr;      // (rows, cols)
  const T* gamma = nullptr;  // (cols)
  const T* mean = nullptr;   // (rows), or null: RMSNorm
  const T* rstd = nullptr;   // (rows)
  GradOut<T> dx{};           // (rows, cols)
  GradOut<T> dgamma{};       // (cols)
  GradOut<T> dbeta{};        // (cols)

  Dropping dropping{};
  GradOut<B> dbranch{};  // (rows, cols)
};
template <class T, class B = T, class Y = T>
void layer_norm_backward(const LayerNormBackward<T, B, Y>& p);

}  // namespace dikkat::kernels
