#pragma once

#include <algorithm>

#include "autograd/ops/basic.h"

// Layers without parameters, for Sequential (sequential.h).
namespace dikkat {

struct Relu {
  Tensor operator()(Tensor x) const { return relu(x); }
};
struct Gelu {
  Tensor operator()(Tensor x) const { return gelu(x); }
};
struct Silu {
  Tensor operator()(Tensor x) const { return silu(x); }
};
struct Sigmoid {
  Tensor operator()(Tensor x) const { return sigmoid(x); }
};
struct Softplus {
  Tensor operator()(Tensor x) const { return softplus(x); }
};
struct Tanh {
  Tensor operator()(Tensor x) const { return tanh(x); }
};

/// Maps (N, ...) to (N, elements of a sample).
struct Flatten {
  Tensor operator()(Tensor x) const {
    require(x.shape().rank() >= 1, "flatten: a scalar, expected 1 axis or more");
    const index rows = x.shape()[0];
    return reshape(x, {rows, x.size() / std::max<index>(rows, 1)});
  }
};

}  // namespace dikkat
