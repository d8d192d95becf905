#pragma once

#include <initializer_list>
#include <span>

#include "autograd/tape/tensor.h"

namespace dikkat {

/// The least work that an op must do, computed from its shapes.
struct Cost {
  double flops = 0;  // operations of its matrix products, two for each multiply-add; 0 for an op without products
  double bytes = 0;  // bytes of its operands and results, each read or written once; 0 if it is not known
};

/// The cost of an op, for profiles. It is given to Tape::record().
struct OpCost {
  Cost forward, backward;
};

/// Returns the bytes of the elements, as they lie in memory; 0 for an absent tensor.
inline double bytes_of(Tensor x) {
  if (x && x.is_packed()) {
    return static_cast<double>(packed_bytes(x.packed().packing, x.shape()[0], x.shape()[1]));
  }
  return x ? static_cast<double>(x.size()) * static_cast<double>(size_of(x.dtype())) : 0;
}

inline double bytes_of(std::span<const Tensor> tensors) {
  double bytes = 0;
  for (const Tensor x : tensors) {
    bytes += bytes_of(x);
  }
  return bytes;
}

/// Returns the bytes of the gradients that backward writes: one for each input that needs a gradient.
inline double gradient_bytes_of(std::span<const Tensor> inputs) {
  double bytes = 0;
  for (const Tensor x : inputs) {
    bytes += x && x.needs_gradient() ? bytes_of(x) : 0;
  }
  return bytes;
}

/// Returns the cost of most ops. Forward reads the inputs and writes the outputs; backward reads the outputs' gradients and the inputs, and
/// writes the inputs' gradients.
inline OpCost cost_of(std::span<const Tensor> inputs, std::span<const Tensor> outputs, double forward_flops = 0,
                      double backward_flops = 0) {
  const double all = bytes_of(inputs) + bytes_of(outputs);
  return {{forward_flops, all}, {backward_flops, all + gradient_bytes_of(inputs)}};
}
inline OpCost cost_of(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs, double forward_flops = 0,
                      double backward_flops = 0) {
  return cost_of(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), forward_flops, backward_flops);
}

/// Returns the cost of an op whose backward needs no input: it reads the outputs' gradients and writes the inputs'.
inline OpCost cost_without_inputs(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  OpCost cost = cost_of(inputs, outputs);
  cost.backward.bytes -= bytes_of(inputs);
  return cost;
}
inline OpCost cost_without_inputs(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs) {
  return cost_without_inputs(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
}

}  // namespace dikkat
