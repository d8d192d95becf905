#pragma once

#include "autograd/tape/tensor.h"

namespace dikkat {

/// The result of an LSTM: h after each step, and c after the last one.
struct LstmStates {
  Tensor h;       // (B, T, hidden)
  Tensor last_c;  // (B, hidden)
};

/// Runs the loop over time of an LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). s_t = sums_t + h_{t-1}
/// weight^T + bias has the columns i | f | g | o of hidden each, as in PyTorch, and
///
///   c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g)        h_t = sigmoid(o) tanh(c_t)
///
/// sums (B, T, 4 hidden) is the input's part: linear(x, weight_ih, bias_ih). weight (4 hidden, hidden); bias (4 hidden), h0 and c0 (B,
/// hidden) may be absent, which means zeros. One op for all steps: the gradient of the weight is one product. f32 and f64; sums and states
/// of bf16 are computed in f32. Throws Error if shapes do not fit, or B, T or hidden is 0.
LstmStates lstm(Tensor sums, Tensor weight, Tensor bias = {}, Tensor h0 = {}, Tensor c0 = {});

}  // namespace dikkat
