#pragma once

#include "autograd/base/index.h"

namespace dikkat::kernels {

/// One step of SGD with momentum on n elements, as torch.optim.SGD with dampening 0:
///   g = gradient_scale * gradient + weight_decay weight,  m = beta m + g,  u = g + beta m with Nesterov's momentum, m without,
///   weight = weight - learning_rate u.
template <class T>
struct Sgd {
  index n = 0;
  T* weight = nullptr;          // (n)
  const T* gradient = nullptr;  // (n)
  T* momentum = nullptr;        // (n)
  double learning_rate = 0, beta = 0.9, weight_decay = 0;
  double gradient_scale = 1;
  bool nesterov = false;
};
/// Returns whether all weights and momenta are finite afterwards.
template <class T>
bool sgd(const Sgd<T>& p);

}  // namespace dikkat::kernels
