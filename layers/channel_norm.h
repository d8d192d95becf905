#pragma once

#include "layers/pass.h"
#include "layers/scope.h"

// Norms of the channels of images and signals, (N, C, ...), with PyTorch's formulas and names.
namespace dikkat {

/// Batch norm (Ioffe and Szegedy, arXiv 1502.03167): w (x - mean) / sqrt(variance + eps) + b for each channel. In training, mean and biased
/// variance are those of the batch. The running ones move towards them, running += momentum (batch's - running), with the unbiased
/// variance. Otherwise the running ones are used. They are buffers, which are saved with the parameters.
///
/// Every forward pass in training moves them, so a layer must not be called twice for one step, as recompute() would.
struct BatchNorm {
  double eps, momentum;
  Parameter weight, bias, running_mean, running_var;  // (channels) each

  explicit BatchNorm(const Scope& s, index channels, double epsilon = 1e-5, double its_momentum = 0.1)
      : eps(epsilon),
        momentum(its_momentum),
        weight(s.param("weight", {channels}, Init::ones(), Decay::no, Role::vector)),
        bias(s.param("bias", {channels}, Init::zeros(), Decay::no, Role::vector)),
        running_mean(s.buffer("running_mean", {channels}, Init::zeros())),
        running_var(s.buffer("running_var", {channels}, Init::ones())) {}

  /// Normalizes x (N, C, ...) of the parameters' element type. Throws Error for other channels, and in training for one number in each
  /// channel.
  Tensor operator()(Pass& pass, Tensor x) const;
};

/// Group norm (Wu and He, arXiv 1803.08494): normalizes each sample's channels in groups to mean 0 and variance 1, then applies w and b of
/// each channel. One group is layer norm of a sample, and a group for each channel is instance norm.
struct GroupNorm {
  index groups;
  double eps;
  Parameter weight, bias;  // (channels) each

  /// Throws Error unless the groups divide the channels.
  GroupNorm(const Scope& s, index number_of_groups, index channels, double epsilon = 1e-5)
      : groups(number_of_groups),
        eps(epsilon),
        weight(s.param("weight", {channels}, Init::ones(), Decay::no, Role::vector)),
        bias(s.param("bias", {channels}, Init::zeros(), Decay::no, Role::vector)) {
    require(groups >= 1 && channels % groups == 0, s.path(), ": ", groups, " groups of ", channels, " channels, expected a divisor");
  }

  /// Normalizes x (N, C, ...). Throws Error for other channels.
  Tensor operator()(Pass& pass, Tensor x) const;
};

}  // namespace dikkat
