#pragma once

#include "autograd/base/index.h"

namespace dikkat::kernels {

/// One step of Muon (Keller Jordan 2024, kellerjordan.github.io/posts/muon) on a matrix (rows, cols), contiguous:
///   g = gradient_scale * gradient,  m = beta m + (1 - beta) g,  u = beta m + (1 - beta) g (Nesterov's momentum),
///   weight = weight (1 - learning_rate weight_decay) - learning_rate 0.2 sqrt(max(rows, cols)) orthogonalised(u).
/// The factor is that of Moonlight (Liu et al., arXiv 2502.16982): the update is as long as one of AdamW.
/// orthogonalised(u), u without its singular values, by five steps of a Newton-Schulz iteration:
///   X = u / (|u| + 1e-7);  five times: A = X X^T,  X = a X + (b A + c A^2) X,  (a, b, c) = (3.4445, -4.7750, 2.0315).
/// For matrices that are at least twice as long as wide, several of the five work on the small matrix A alone.
template <class T>
struct Muon {
  index rows = 0, cols = 0;
  T* weight = nullptr;          // (rows, cols)
  const T* gradient = nullptr;  // (rows, cols)
  T* momentum = nullptr;        // (rows, cols)
  double learning_rate = 0, beta = 0.95, weight_decay = 0;
  double gradient_scale = 1;
  T* workspace = nullptr;  // muon_workspace(rows, cols)
};
/// Whether the weight and the momentum are finite afterwards.
template <class T>
bool muon(const Muon<T>& p);

/// Elements.
index muon_workspace(index rows, index cols);
/// Floating-point operations of the products of a step. Symmetric ones count half.
double muon_flops(index rows, index cols);

}  // namespace dikkat::kernels
