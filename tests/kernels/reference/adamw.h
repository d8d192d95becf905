#pragma once

#include <cmath>

#include "autograd/kernels/optimizer/adamw.h"

namespace dikkat::kernels::reference {

/// The reference for kernels::adamw: algorithm 2 of arXiv 1711.05101, line by line.
template <class T>
void adamw(const AdamW<T>& p) {
  const auto step = static_cast<T>(p.step);
  for (index i = 0; i < p.n; ++i) {
    const T g = static_cast<T>(p.gradient_scale) * p.gradient[i];
    p.m[i] = static_cast<T>(p.beta1) * p.m[i] + static_cast<T>(1 - p.beta1) * g;
    p.v[i] = static_cast<T>(p.beta2) * p.v[i] + static_cast<T>(1 - p.beta2) * g * g;
    const T m_hat = p.m[i] / (1 - std::pow(static_cast<T>(p.beta1), step));
    const T v_hat = p.v[i] / (1 - std::pow(static_cast<T>(p.beta2), step));
    const T update = m_hat / (std::sqrt(v_hat) + static_cast<T>(p.eps));
    const T decay = p.cautious && update * p.weight[i] < 0 ? 0 : static_cast<T>(p.weight_decay);
    p.weight[i] -= static_cast<T>(p.learning_rate) * (update + decay * p.weight[i]);
  }
}

}  // namespace dikkat::kernels::reference
