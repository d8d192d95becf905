#pragma once

#include <array>
#include <utility>

#include "autograd/tape/tensor.h"

namespace dikkat {

/// All states of a scan along a new axis, and the last one. State is Tensor, or an array of them.
template <class State>
struct Scanned {
  State states, last;
};

namespace detail {

/// The steps of a scan along an axis of x, each of which makes `width` tensors.
class Steps {
 public:
  Steps(Tensor x, int axis, const Tensor* initial, std::size_t width);

  index count() const { return count_; }
  /// Returns x at step t, without the axis.
  Tensor at(index t) const;
  /// Keeps the state after step t.
  void keep(index t, const Tensor* state);
  /// Returns tensor i of all states, along the axis.
  Tensor stacked(std::size_t i) const;

 private:
  Tensor x_;                  // x with the axis and the next one joined
  Tensor* states_ = nullptr;  // (width, count), in the tape's memory
  const Tensor* initial_;
  std::size_t width_;
  Shape step_;  // shape of x at one step
  int axis_;
  index count_, extent_;
};

}  // namespace detail

/// Calls state = f(x_t, state) for each index t of an axis of x, starting with the initial state: the loop of a recurrent layer. Returns
/// all states, stacked along the axis, and the last one. With x (B, T, ...), axis 1 and states (B, H), they are (B, T, H):
///
///   Tensor states = scan(x, h0, [&](Tensor x_t, Tensor h) { return tanh(linear(x_t, w) + linear(h, u)); }, 1).states;
///
/// x_t is a copy of the elements of step t, without the axis; backward runs through all steps. f is called once for each step, in order.
/// Throws Error, which begins with "scan", if the axis has no elements. Also throws it if a state has another shape or type than the
/// initial one, or fewer axes than come before the axis.
template <class F>
Scanned<Tensor> scan(Tensor x, Tensor initial, F&& f, int axis = 0) {
  detail::Steps steps(x, axis, &initial, 1);
  Tensor state = initial;
  for (index t = 0; t < steps.count(); ++t) {
    state = f(steps.at(t), state);
    steps.keep(t, &state);
  }
  return {steps.stacked(0), state};
}

/// Does the same for a state of several tensors, such as the (h, c) of an LSTM: f(x_t, state) takes and returns a std::array.
template <std::size_t n, class F>
Scanned<std::array<Tensor, n>> scan(Tensor x, const std::array<Tensor, n>& initial, F&& f, int axis = 0) {
  static_assert(n > 0);
  detail::Steps steps(x, axis, initial.data(), n);
  std::array<Tensor, n> state = initial;
  for (index t = 0; t < steps.count(); ++t) {
    state = f(steps.at(t), std::as_const(state));
    steps.keep(t, state.data());
  }
  Scanned<std::array<Tensor, n>> scanned{{}, state};
  for (std::size_t i = 0; i < n; ++i) {
    scanned.states[i] = steps.stacked(i);
  }
  return scanned;
}

}  // namespace dikkat
