#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"

namespace dikkat::kernels {

/// The loop over time of an LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). With s = sums[t] + bias +
/// h[t - 1] weight^T, whose columns are the parts i | f | g | o:
///
///   c[t] = sigmoid(f) c[t - 1] + sigmoid(i) tanh(g)        h[t] = sigmoid(o) tanh(c[t])
template <class T>
struct Lstm {
  index batch = 0, time = 0, hidden = 0;
  const T* sums = nullptr;    // (batch, time, 4 hidden)
  const T* weight = nullptr;  // (4 hidden, hidden)
  const T* bias = nullptr;    // (4 hidden), or null
  const T* h0 = nullptr;      // (batch, hidden); null: zeros
  const T* c0 = nullptr;
  // Forward writes these, and backward reads them.
  T* gates = nullptr;   // (batch, time, 4 hidden), after the activations; backward replaces them by the gradient of the sums
  T* before = nullptr;  // (batch, time, hidden), h before each step
  T* cells = nullptr;   // (batch, time, hidden), c after each step
  T* y = nullptr;       // (batch, time, hidden), h after each step
  T* last_c = nullptr;  // (batch, hidden)
  // Only for backward. Absent gradients are null.
  const T* dy = nullptr;
  const T* dlast_c = nullptr;
  GradOut<T> dsums{}, dweight{}, dbias{}, dh0{}, dc0{};

  index gate_width() const { return 4 * hidden; }
};
template <class T>
void lstm_forward(const Lstm<T>& p);
/// The gradient of the weight is one product for all steps.
template <class T>
void lstm_backward(const Lstm<T>& p);

}  // namespace dikkat::kernels
