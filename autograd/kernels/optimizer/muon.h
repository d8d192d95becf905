#pragma once

#include "autograd/kernels/optimizer/newton_schulz.h"

namespace dikkat::kernels {

/// One step of Muon (Keller Jordan 2024, kellerjordan.github.io/posts/muon) on a matrix (rows, cols), contiguous:
///   g = gradient_scale * gradient,  m = beta m + (1 - beta) g,  u = beta m + (1 - beta) g (Nesterov's momentum),
///   d = orthogonalized(u) by newton_schulz,
///   weight = weight (1 - learning_rate weight_decay) - learning_rate 0.2 sqrt(max(rows, cols)) d.
/// The factor is that of Moonlight (Liu et al., arXiv 2502.16982): the update is as long as one of AdamW.
///
/// With line_squares it is NorMuon (Li et al., arXiv 2510.05491; its lines as in modded-nanogpt). Let s_i be the mean square of row i of d,
/// or of column i if there are more columns than rows:
///   v_i = line_beta v_i + (1 - line_beta) s_i,  d_i = d_i / sqrt(max(v_i, 1e-10)),
/// and d is scaled back to the norm that it had.
///
/// Cautious weight decay applies only to weights that the update moves towards 0, where d * weight >= 0 (Chen et al., arXiv 2510.12402).
template <class T>
struct Muon {
  index rows = 0, cols = 0;
  T* weight = nullptr;          // (rows, cols)
  const T* gradient = nullptr;  // (rows, cols)
  T* momentum = nullptr;        // (rows, cols)
  T* line_squares = nullptr;    // v (max(rows, cols)); null: plain Muon
  double learning_rate = 0, beta = 0.95, line_beta = 0.9, weight_decay = 0;
  double gradient_scale = 1;
  bool cautious = false;
  NewtonSchulz newton_schulz{};
  T* workspace = nullptr;  // muon_workspace(rows, cols)
};
/// Returns whether the weight and all state are finite afterwards.
template <class T>
bool muon(const Muon<T>& p);

/// Returns the number of elements of a workspace.
index muon_workspace(index rows, index cols);

}  // namespace dikkat::kernels
