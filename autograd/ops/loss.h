#pragma once

#include <cstdint>
#include <optional>

#include "autograd/base/index.h"
#include "autograd/tape/tensor.h"

namespace dikkat {

/// A teacher's distributions, for distillation: for each target the likeliest classes, and one bin for all others, the tail.
struct Teacher {
  Tensor ids{};            // (..., K) of i32: classes, ascending for each target. K is at least 1 and less than V
  Tensor probabilities{};  // (..., K + 1) of f32, 0 or more: those of these classes, and last of the tail
  double share = 0;        // in [0, 1]
  double temperature = 1;  // more than 0, at most 10. The probabilities must be of the same temperature
};

struct CrossEntropyOptions {
  /// The weight of each target: (...) of f32; absent: all 1. A target of weight 0 is ignored and may have any value. A negative weight
  /// makes a target less likely, as the losses of preferences need it.
  Tensor weights{};
  /// The weight of each class: (V) of f32, 0 or more; absent: all 1. A target's weight is multiplied by that of its class. Not possible
  /// with label smoothing.
  Tensor class_weights{};
  /// Targets of this value are ignored, as those of weight 0.
  std::optional<std::int32_t> ignored_target{};
  /// The number that the sum is divided by. By default it is the number of targets or, with class weights or an ignored target, the sum of
  /// all targets' weights, as in PyTorch. If that sum is 0, so is the loss; it must not be negative. With gradient accumulation, pass that
  /// of the whole batch: then losses and gradients of the micro-batches add up to those of the batch.
  std::optional<double> normalizer{};
  /// In [0, 1): the share of each target that is spread evenly over all V classes, the right one included (Szegedy et al.,
  /// arXiv 1512.00567, section 7).
  double label_smoothing = 0;
  /// Only for linear_cross_entropy(): logits z become softcap tanh(z / softcap) (Bello et al., arXiv 1611.09940; Gemma 2). 0: they are not
  /// changed; at most 40.
  double softcap = 0;
  /// Only for linear_cross_entropy(), and not with label smoothing. If it has ids, the cost of each target becomes (1 - share) * its
  /// cross-entropy + share * temperature^2 * -sum over the bins of t log q. t is the teacher's probability of a bin, and q that of
  /// softmax(logits / temperature). Rows of weight 0 may have any ids.
  Teacher teacher{};
  /// If not null, each target's term of the sum is written here; one element for each target.
  double* terms = nullptr;
  /// Promises that backward() will be called with this loss itself. Then linear_cross_entropy() writes gradients of a parameter in forward,
  /// directly to their slab, and stores no copy of them. Backward throws Error if the promise is not kept.
  bool is_root = false;
};

/// Returns sum_i weights[i] * class_weights[targets[i]] * ((1 - label_smoothing) * nll[i, targets[i]] + label_smoothing * mean_v nll[i, v])
/// / normalizer, a scalar, where nll[i, v] = log sum_u e^logits[i, u] - logits[i, v]. logits (..., V); targets (...) of i32 in [0, V). The
/// loss of bf16 logits is f32. Throws Error for a target, a class's weight, a normalizer or a smoothing out of range.
Tensor cross_entropy(Tensor logits, Tensor targets, const CrossEntropyOptions& options = {});

/// The default of `logits_at_once`: 134 MB of f32.
constexpr index kLogitsAtOnce = index{1} << 25;

/// Returns cross_entropy(softcap(linear(x, weight)), targets, options) without a matrix of all logits: x (..., C), weight (V, C). Rows of x
/// are processed in chunks of at most `logits_at_once` logits and 1,056 rows (but at least 96 rows). Rows of weight 0 are left out and cost
/// nothing. The gradients of a chunk are computed right after its loss, in forward; those of the last chunk are computed in backward, from
/// its logits. With several chunks and a weight that needs a gradient, (V, C) more numbers are stored, unless the loss is the root. With an
/// x of bf16, the weight is f32 and the products are of bf16. Throws Error as cross_entropy() does.
Tensor linear_cross_entropy(Tensor x, Tensor weight, Tensor targets, const CrossEntropyOptions& options = {},
                            index logits_at_once = kLogitsAtOnce);

// Losses of elements, for f32, f64 and bf16. Both tensors have one shape and type, and both may need a gradient. The terms of a bf16 loss
// are computed and added in f32, and so is the result, a scalar. With Reduction::none it is a tensor of x's shape and type.

/// The way in which the terms of a loss become one number.
enum class Reduction : std::uint8_t {
  mean,        // their sum, divided by their number
  batch_mean,  // their sum, divided by the first extent
  sum,
  none  // they stay apart
};

/// Reduces (x - target)^2.
Tensor mse_loss(Tensor x, Tensor target, Reduction reduction = Reduction::mean);
/// Reduces d^2 / 2 with d = x - target where |d| <= delta, and delta (|d| - delta / 2) elsewhere (Huber 1964). delta is more than 0.
Tensor huber_loss(Tensor x, Tensor target, double delta = 1, Reduction reduction = Reduction::mean);
/// Reduces -target log p - (1 - target) log(1 - p) with p = 1 / (1 + e^-logit), for targets from 0 to 1. It is computed from the logits, as
/// max(x, 0) - x target + log(1 + e^-|x|), which neither overflows nor loses digits.
Tensor binary_cross_entropy(Tensor logits, Tensor targets, Reduction reduction = Reduction::mean);
/// Reduces p (log p - x), the terms of KL(p || e^x); 0 where p is 0. x are logarithms of probabilities, for example of log_softmax(), and p
/// are probabilities. With Reduction::batch_mean, and rows that are distributions, it is the mean divergence of a row. PyTorch's kl_div
/// computes the same.
Tensor kl_divergence(Tensor log_probabilities, Tensor targets, Reduction reduction = Reduction::batch_mean);

}  // namespace dikkat
