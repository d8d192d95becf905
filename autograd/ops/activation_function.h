#pragma once

#include "autograd/base/error.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/ops/activation.h"

namespace dikkat {

/// The kernel's name of an activation.
inline kernels::Function function_of(Activation activation) {
  switch (activation) {
    case Activation::gelu: return kernels::Function::gelu;
    case Activation::relu: return kernels::Function::relu;
    case Activation::relu2: return kernels::Function::relu2;
    case Activation::silu: return kernels::Function::silu;
  }
  fail("activation: number ", static_cast<int>(activation), ", expected one of the enumeration");
}

}  // namespace dikkat
