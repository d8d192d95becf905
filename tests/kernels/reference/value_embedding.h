#pragma once

#include <cmath>

#include "autograd/kernels/value_embedding.h"

namespace dikkat::kernels::reference {

/// sigmoid(<w_h, x[:channels]>) of one row of x.
template <class T>
T half_gate(const ValueEmbedding<T>& p, index row, index head) {
  T z = 0;
  for (index c = 0; c < p.channels; ++c) {
    z += p.gate[head * p.channels + c] * p.x[row * p.width + c];
  }
  return 1 / (1 + std::exp(-z));
}

/// The reference for kernels::value_embedding_forward, by plain loops.
template <class T>
void value_embedding_forward(const ValueEmbedding<T>& p) {
  const index values = p.heads * p.size;
  for (index row = 0; row < p.rows; ++row) {
    for (index at = 0; at < p.before + values; ++at) {
      const index i = row * (p.before + values) + at;
      const index value = at - p.before;
      p.y[i] = p.qkv[i] + (value < 0 ? 0 : 2 * half_gate(p, row, value / p.size) * p.e[row * values + value]);
    }
  }
}

/// The reference for kernels::value_embedding_backward. With s = sigmoid(z): de = 2 s dy and dz = 2 s (1 - s) <dy_h, e_h>, which flows to x
/// and w.
template <class T>
void value_embedding_backward(const ValueEmbedding<T>& p) {
  const index values = p.heads * p.size;
  // Outputs without `add` begin at zero.
  const auto clear = [](GradOut<T> out, index n) {
    for (index i = 0; out && !out.add && i < n; ++i) {
      out.data[i] = 0;
    }
  };
  clear(p.dx, p.rows * p.width);
  clear(p.de, p.rows * values);
  clear(p.dgate, p.heads * p.channels);
  for (index row = 0; row < p.rows; ++row) {
    for (index head = 0; head < p.heads; ++head) {
      // dy flows through the product to e, and through the gate to x and w.
      const T s = half_gate(p, row, head);
      T product = 0;
      for (index d = head * p.size; d < (head + 1) * p.size; ++d) {
        const T dy = p.dy[row * (p.before + values) + p.before + d];
        product += dy * p.e[row * values + d];
        if (p.de) {
          p.de.data[row * values + d] += 2 * s * dy;
        }
      }
      const T dz = 2 * s * (1 - s) * product;
      for (index c = 0; c < p.channels; ++c) {
        if (p.dx) {
          p.dx.data[row * p.width + c] += dz * p.gate[head * p.channels + c];
        }
        if (p.dgate) {
          p.dgate.data[head * p.channels + c] += dz * p.x[row * p.width + c];
        }
      }
    }
  }
}

}  // namespace dikkat::kernels::reference
