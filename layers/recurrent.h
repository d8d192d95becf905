#pragma once

#include <algorithm>
#include <cmath>

#include "autograd/ops/basic.h"
#include "autograd/ops/constants.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/recurrent.h"
#include "autograd/ops/scan.h"
#include "layers/pass.h"
#include "layers/scope.h"

// Recurrent layers. Formulas and parameters are those of torch.nn.RNN, torch.nn.GRU and torch.nn.LSTM (one layer, batch first; names
// without PyTorch's "_l0"). Initial values, also of biases, have PyTorch's variance, 1 / (3 hidden), but are normal instead of
// uniform.
namespace dikkat {

/// The parameters of `gates` gates, stacked, and the loop over time.
struct RecurrentWeights {
  index in, hidden;
  Parameter weight_ih, weight_hh, bias_ih, bias_hh;  // (gates * hidden, in), (gates * hidden, hidden), (gates * hidden) each or absent

  RecurrentWeights(const Scope& s, index gates, index in_width, index hidden_width, bool with_bias) : in(in_width), hidden(hidden_width) {
    require(in >= 1 && hidden >= 1, s.path(), ": width ", in, " and ", hidden, " hidden, expected 1 or more of each");
    const Init init = Init::normal(1 / std::sqrt(3 * static_cast<double>(hidden)));
    const std::vector<index> parts(static_cast<std::size_t>(gates), hidden);
    weight_ih = s.param("weight_ih", {gates * hidden, in}, init, Decay::yes, Role::hidden, parts);
    weight_hh = s.param("weight_hh", {gates * hidden, hidden}, init, Decay::yes, Role::hidden, parts);
    if (with_bias) {
      bias_ih = s.param("bias_ih", {gates * hidden}, init, Decay::no, Role::vector);
      bias_hh = s.param("bias_hh", {gates * hidden}, init, Decay::no, Role::vector);
    }
  }

  /// Returns all states (B, T, hidden). State t is step(a_t, b_t, state t - 1), where a_t = x_t weight_ih^T + bias_ih, computed for all t
  /// by one product, and b_t = (state t - 1) weight_hh^T + bias_hh, both (B, gates * hidden). x is (B, T, in); h0 (B, hidden) or absent:
  /// zeros.
  template <class Step>
  Tensor over_time(Pass& pass, Tensor x, Tensor h0, Step step) const {
    const Tensor initial = first_state(pass, x, h0);
    const auto next = [&](Tensor a, Tensor h) { return step(a, linear(h, weight_hh, bias_hh), h); };
    return scan(linear(x, weight_ih, bias_ih), initial, next, 1).states;
  }

 protected:
  /// Throws Error if x has another shape than (B, T, in).
  void check(Tensor x) const {
    require(x.shape().rank() == 3 && x.size() > 0 && x.shape()[2] == in, "recurrent: x is ", x.shape(), ", expected (B, T, ", in,
            ") with B and T of 1 or more");
  }

 private:
  /// Returns the given state, or zeros (B, hidden). Throws Error if it has another shape.
  Tensor first_state(Pass& pass, Tensor x, Tensor given) const {
    check(x);
    const Shape shape{x.shape()[0], hidden};
    require(!given || given.shape() == shape, "recurrent: h0 is ", given ? given.shape() : Shape{}, ", expected ", shape);
    return given ? given : zeros(pass.tape, shape, x.dtype());
  }
};

/// h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh) (Elman 1990): x (B, T, in), and h0 (B, hidden) or zeros, to all states (B, T, hidden).
struct Recurrent : RecurrentWeights {
  Recurrent(const Scope& s, index in_width, index hidden_width, bool with_bias = true)
      : RecurrentWeights(s, 1, in_width, hidden_width, with_bias) {}

  /// Throws Error for any other shapes.
  Tensor operator()(Pass& pass, Tensor x, Tensor h0 = {}) const {
    return over_time(pass, x, h0, [](Tensor a, Tensor b, Tensor) { return tanh(add(a, b)); });
  }
};

/// The gated recurrent unit (Cho et al., arXiv 1406.1078) in PyTorch's form, where r acts after the product. Rows of weights are r | z | n:
///   r = sigmoid(W_ir x_t + b_ir + W_hr h_{t-1} + b_hr)        z likewise
///   n = tanh(W_in x_t + b_in + r * (W_hn h_{t-1} + b_hn))
///   h_t = (1 - z) * n + z * h_{t-1}
/// x (B, T, in), and h0 (B, hidden) or zeros, to all states (B, T, hidden).
struct Gru : RecurrentWeights {
  Gru(const Scope& s, index in_width, index hidden_width, bool with_bias = true)
      : RecurrentWeights(s, 3, in_width, hidden_width, with_bias) {}

  /// Throws Error for any other shapes.
  Tensor operator()(Pass& pass, Tensor x, Tensor h0 = {}) const {
    return over_time(pass, x, h0, [this](Tensor a, Tensor b, Tensor h) {
      const auto first_two = [this](Tensor t) { return slice(t, 1, 0, 2 * hidden); };
      const auto third = [this](Tensor t) { return slice(t, 1, 2 * hidden, hidden); };
      const Tensor rz = sigmoid(add(first_two(a), first_two(b)));
      const Tensor r = slice(rz, 1, 0, hidden);
      const Tensor z = slice(rz, 1, hidden, hidden);
      const Tensor n = tanh(add(third(a), multiply(r, third(b))));
      return add(n, multiply(z, add(h, scale(n, -1))));
    });
  }
};

/// The state of an LSTM: h and c, (B, hidden) each. Absent: zeros.
struct LstmState {
  Tensor h{}, c{};
};

/// Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). Rows of weights are i | f | g | o:
///   i = sigmoid(W_ii x_t + b_ii + W_hi h_{t-1} + b_hi)        f and o likewise        g likewise, with tanh
///   c_t = f * c_{t-1} + i * g
///   h_t = o * tanh(c_t)
/// x (B, T, in), and a state or zeros, to all h (B, T, hidden).
struct Lstm : RecurrentWeights {
  Lstm(const Scope& s, index in_width, index hidden_width, bool with_bias = true)
      : RecurrentWeights(s, 4, in_width, hidden_width, with_bias) {}

  struct Output {
    Tensor states;   // (B, T, hidden)
    LstmState last;  // after the last step, to continue from
  };
  /// Throws Error for any other shapes.
  Output run(Pass&, Tensor x, LstmState from = {}) const {
    check(x);
    const LstmStates states = lstm(linear(x, weight_ih, bias_ih), weight_hh, bias_hh, from.h, from.c);
    return {states.h, {.h = select(states.h, 1, -1), .c = states.last_c}};
  }
  Tensor operator()(Pass& pass, Tensor x, LstmState from = {}) const { return run(pass, x, from).states; }
};

}  // namespace dikkat
