#pragma once

#include <optional>

#include "autograd/base/index.h"
#include "autograd/tape/tensor.h"

namespace dikkat {

struct CrossEntropyOptions {
  /// (...) of f32, or absent for 1 each. A target of weight 0 may be anything.
  Tensor weights{};
  /// By default the number of targets. With gradient accumulation, pass that of the whole batch, so that the losses and gradients of its
  /// pieces add up to those of the batch.
  std::optional<double> normaliser{};
  /// In [0, 1): the share of each target that goes to all V classes evenly, the right one among them (Szegedy et al.,
  /// arXiv 1512.00567, section 7).
  double label_smoothing = 0;
  /// Where each target's term of the sum is written, or null; one for each.
  double* terms = nullptr;
};

/// sum_i weights[i] * ((1 - label_smoothing) * nll[i, targets[i]] + label_smoothing * mean_v nll[i, v]) / normaliser, a scalar,
/// where nll[i, v] = log sum_u e^logits[i, u] - logits[i, v]. logits (..., V); targets (...) of i32 in [0, V).
/// Throws Error for a target, a normaliser or a smoothing out of range.
Tensor cross_entropy(Tensor logits, Tensor targets, const CrossEntropyOptions& options = {});

/// 134 MB of f32.
constexpr index kLogitsAtOnce = index{1} << 25;

/// cross_entropy(linear(x, weight), targets, options) without a matrix of all logits: x (..., C), weight (V, C). Rows of x are taken in
/// chunks of at most `logits_at_once` logits (or of 96 rows, where these have more). The gradients of a chunk are computed right after its
/// loss; those of the last wait for backward, in the memory of its logits. With several chunks and a weight that needs a gradient, (V, C)
/// numbers more are kept. Throws Error as cross_entropy does.
Tensor linear_cross_entropy(Tensor x, Tensor weight, Tensor targets, const CrossEntropyOptions& options = {},
                            index logits_at_once = kLogitsAtOnce);

}  // namespace dikkat
