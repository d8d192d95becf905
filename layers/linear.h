#pragma once

#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "layers/lora.h"
#include "layers/pass.h"
#include "layers/scope.h"

namespace dikkat {

/// Computes x weight^T + bias, (..., in) to (..., out), between hidden layers. Initial weights are those of `init`, or normal with standard
/// deviation `std`, which may be 0; biases are zero. Several layers that read one x can be stacked, with their outputs side by side:
/// row_parts has the width of each. They share an adapter, if the scope has adapters.
struct Linear {
  Parameter weight, bias;  // (out, in), (out)
  std::optional<Adapter> adapter;

  Linear(const Scope& s, index in, index out, bool with_bias, double std, std::vector<index> row_parts = {})
      : Linear(s, in, out, Init::normal(std), with_bias, std::move(row_parts)) {}
  explicit Linear(const Scope& s, index in, index out, Init init = Init::fan_in_uniform(), bool with_bias = true,
                  std::vector<index> row_parts = {})
      : weight(s.param("weight", {out, in}, init, Decay::yes, Role::hidden, std::move(row_parts))),
        bias(with_bias ? s.param("bias", {out}, Init::zeros(), Decay::no, Role::vector) : Parameter{}),
        adapter(adapter_of(s, in, out)) {}

  Tensor operator()(Pass& pass, Tensor x, Lifetime lifetime = Lifetime::until_reset) const {
    const Tensor read = cast(x, pass.operand_type(x));
    return adapter ? adapted_linear(read, weight, adapter->low_rank(pass, read), bias, lifetime)
                   : linear(read, weight, bias, {.lifetime = lifetime});
  }
};

/// Returns the weight (vocabulary, width) of an output layer that does not share it with the embedding.
inline Parameter output_layer(const Scope& s, index width, index vocabulary, double std) {
  return s.param("weight", {vocabulary, width}, Init::normal(std), Decay::yes, Role::head);
}

}  // namespace dikkat
