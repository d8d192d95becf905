#include "autograd/ops/scan.h"

#include <algorithm>

#include "autograd/ops/arrange.h"
#include "autograd/ops/axes.h"
#include "autograd/tape/tape.h"

namespace dikkat::detail {

Steps::Steps(Tensor x, int axis, const Tensor* initial, std::size_t width) : initial_(initial), width_(width) {
  axis_ = checked_axis("scan", x.shape(), axis);
  count_ = x.shape()[axis_];
  require(count_ > 0, "scan: axis ", axis, " of ", x.shape(), ", expected 1 element or more");
  // Find the tape, which keeps the list of states.
  Tape* tape = x.tape();
  for (std::size_t i = 0; i < width; ++i) {
    const Shape& shape = initial[i].shape();
    require(axis_ <= shape.rank(), "scan: the state is ", shape, ", expected at least ", axis_, " axes, as states are stacked along axis ",
            axis);
    tape = tape == nullptr ? initial[i].tape() : tape;
  }
  require(tape != nullptr, "scan: x and the initial state are parameters, expected tape.use(parameter) for one of them");
  states_ = tape->save<Tensor>(static_cast<index>(width) * count_);
  // A step is a slice of the axis and the next one, so that it needs no other shape. The last axis has no next one.
  step_ = without_axis(x.shape(), axis_);
  const bool is_last = axis_ == step_.rank();
  extent_ = is_last ? 1 : step_[axis_];
  x_ = is_last ? x : reshape(x, with_extent(step_, axis_, count_ * extent_));
}

Tensor Steps::at(index t) const {
  const Tensor part = slice(x_, axis_, t * extent_, extent_);
  return part.shape() == step_ ? part : reshape(part, step_);
}

void Steps::keep(index t, const Tensor* state) {
  for (std::size_t i = 0; i < width_; ++i) {
    const Tensor first = initial_[i];
    require(state[i].shape() == first.shape() && state[i].dtype() == first.dtype(), "scan: the state after step ", t, " is ",
            state[i].dtype(), " ", state[i].shape(), ", expected the initial state's ", first.dtype(), " ", first.shape());
    states_[static_cast<index>(i) * count_ + t] = state[i];
  }
}

Tensor Steps::stacked(std::size_t i) const {
  Tensor* const states = states_ + static_cast<index>(i) * count_;
  const Shape& shape = initial_[i].shape();
  // States (.., n, ..) one after another along their own axis have the layout of (.., T, n, ..). A state that ends before the axis gets
  // one.
  const bool is_last = axis_ == shape.rank();
  if (is_last) {
    std::transform(states, states + count_, states, [&](Tensor state) { return unsqueeze(state, axis_); });
  }
  const Tensor all = concat(std::span<const Tensor>(states, static_cast<std::size_t>(count_)), axis_);
  return is_last ? all : reshape(all, with_axis("scan", shape, axis_, count_));
}

}  // namespace dikkat::detail
