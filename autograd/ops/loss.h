#pragma once

#include <optional>

#include "autograd/base/index.h"
#include "autograd/tape/tensor.h"

namespace dikkat {

struct CrossEntropyOptions {
  /// The weight of each target: (...) of f32; absent: all 1. A target of weight 0 is ignored and may have any value.
  Tensor weights{};
  /// The number that the sum is divided by; by default the number of targets. With gradient accumulation, pass that of the whole batch:
  /// then losses and gradients of the micro-batches add up to those of the batch.
  std::optional<double> normaliser{};
  /// In [0, 1): the share of each target that is spread evenly over all V classes, the right one included (Szegedy et al.,
  /// arXiv 1512.00567, section 7).
  double label_smoothing = 0;
  /// Only for linear_cross_entropy(): logits z become softcap tanh(z / softcap) (Bello et al., arXiv 1611.09940; Gemma 2). 0: they are not
  /// changed; at most 40.
  double softcap = 0;
  /// If not null, each target's term of the sum is written here; one element for each target.
  double* terms = nullptr;
  /// Promises that backward() will be called with this loss itself. Then linear_cross_entropy() writes gradients of a parameter in forward,
  /// directly to their slab, and stores no copy of them. Backward throws Error if the promise is not kept.
  bool is_root = false;
};

/// sum_i weights[i] * ((1 - label_smoothing) * nll[i, targets[i]] + label_smoothing * mean_v nll[i, v]) / normaliser, a scalar,
/// where nll[i, v] = log sum_u e^logits[i, u] - logits[i, v]. logits (..., V); targets (...) of i32 in [0, V).
/// Throws Error for a target, a normaliser or a smoothing out of range.
Tensor cross_entropy(Tensor logits, Tensor targets, const CrossEntropyOptions& options = {});

/// The default of `logits_at_once`: 134 MB of f32.
constexpr index kLogitsAtOnce = index{1} << 25;

/// cross_entropy(softcap(linear(x, weight)), targets, options) without a matrix of all logits: x (..., C), weight (V, C). Rows of x are
/// processed in chunks of at most `logits_at_once` logits (but at least 96 rows). Rows of weight 0 are left out and cost nothing. The
/// gradients of a chunk are computed right after its loss, in forward; those of the last chunk are computed in backward, from its logits.
/// With several chunks and a weight that needs a gradient, (V, C) more numbers are stored, unless the loss is the root. With an x of bf16,
/// the weight is f32 and the products are of bf16. Throws Error as cross_entropy does.
Tensor linear_cross_entropy(Tensor x, Tensor weight, Tensor targets, const CrossEntropyOptions& options = {},
                            index logits_at_once = kLogitsAtOnce);

}  // namespace dikkat
