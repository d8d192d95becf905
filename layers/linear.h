#pragma once

#include "autograd/ops/linear.h"
#include "layers/pass.h"
#include "layers/scope.h"

namespace dikkat {

/// x weight^T + bias: (..., in) to (..., out). Weights begin normal with standard deviation `std`, biases zero.
struct Linear {
  Parameter weight, bias;  // (out, in), (out)

  Linear(const Scope& s, index in, index out, bool with_bias, double std)
      : weight(s.param("weight", {out, in}, Init::normal(std), Decay::yes)),
        bias(with_bias ? s.param("bias", {out}, Init::zeros(), Decay::no) : Parameter{}) {}

  Tensor operator()(Pass&, Tensor x) const { return linear(x, weight, bias); }
};

}  // namespace dikkat
