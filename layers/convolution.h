#pragma once

#include "autograd/ops/convolution.h"
#include "layers/pass.h"
#include "layers/scope.h"

// Convolutional layers, with the formulas and names of torch.nn.Conv1d and torch.nn.Conv2d. Biases begin as zeros.
namespace dikkat {

/// Maps x (N, in, length) to (N, out, windows).
struct Conv1d {
  Parameter weight, bias;  // (out, in / groups, kernel), (out)
  Conv1dOptions options;

  explicit Conv1d(const Scope& s, index in, index out, index kernel, const Conv1dOptions& its_options = {},
                  Init init = Init::fan_in_uniform(), bool with_bias = true)
      : options(its_options) {
    require(options.groups >= 1 && in % options.groups == 0 && out % options.groups == 0, s.path(), ": ", in, " channels and ", out,
            " filters in ", options.groups, " groups, expected a number that divides both");
    weight = s.param("weight", {out, in / options.groups, kernel}, init, Decay::yes, Role::hidden);
    bias = with_bias ? s.param("bias", {out}, Init::zeros(), Decay::no, Role::vector) : Parameter{};
  }

  /// Throws Error for other channels, and for a kernel that is longer than x with its padding.
  Tensor operator()(Pass&, Tensor x) const { return conv1d(x, weight, bias, options); }
};

/// Maps x (N, in, height, width) to (N, out, rows of windows, columns of windows).
struct Conv2d {
  Parameter weight, bias;  // (out, in / groups, kernel height, kernel width), (out)
  Conv2dOptions options;

  explicit Conv2d(const Scope& s, index in, index out, HeightWidth kernel, const Conv2dOptions& its_options = {},
                  Init init = Init::fan_in_uniform(), bool with_bias = true)
      : options(its_options) {
    require(options.groups >= 1 && in % options.groups == 0 && out % options.groups == 0, s.path(), ": ", in, " channels and ", out,
            " filters in ", options.groups, " groups, expected a number that divides both");
    weight = s.param("weight", {out, in / options.groups, kernel.height, kernel.width}, init, Decay::yes, Role::hidden);
    bias = with_bias ? s.param("bias", {out}, Init::zeros(), Decay::no, Role::vector) : Parameter{};
  }

  /// Throws Error for other channels, and for a kernel that is larger than x with its padding.
  Tensor operator()(Pass&, Tensor x) const { return conv2d(x, weight, bias, options); }
};

// Pooling, for Sequential.

struct MaxPool2d {
  HeightWidth kernel;
  Pool2dOptions options{};
  Tensor operator()(Tensor x) const { return max_pool2d(x, kernel, options); }
};
struct AvgPool2d {
  HeightWidth kernel;
  Pool2dOptions options{};
  Tensor operator()(Tensor x) const { return avg_pool2d(x, kernel, options); }
};

}  // namespace dikkat
