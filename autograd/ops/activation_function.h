#pragma once

#include "autograd/base/error.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/formulas.h"
#include "autograd/ops/activation.h"

namespace dikkat {

/// Returns the kernel's name of an activation.
inline kernels::GateActivation gate_activation(Activation activation) {
  switch (activation) {
    case Activation::gelu: return kernels::GateActivation::gelu;
    case Activation::relu: return kernels::GateActivation::relu;
    case Activation::relu2: return kernels::GateActivation::relu2;
    case Activation::silu: return kernels::GateActivation::silu;
  }
  fail("activation: number ", static_cast<int>(activation), ", expected one of the enumeration");
}

/// Calls f with the activation's formula.
template <class F>
void with_formula(Activation activation, F&& f) {
  switch (activation) {
    case Activation::gelu: return f(kernels::formula(kernels::Gelu{}));
    case Activation::relu: return f(kernels::formula(kernels::Relu{}));
    case Activation::relu2: return f(kernels::formula(kernels::Relu2{}));
    case Activation::silu: return f(kernels::formula(kernels::Silu{}));
  }
}

}  // namespace dikkat
