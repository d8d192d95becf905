#pragma once

#include "autograd/base/index.h"

namespace dikkat::assistant {

/// The shape of a model, and of its batches.
struct Size {
  index n_layer = 0, n_embd = 0, n_head = 0;
  index block_size = 0;  ///< tokens of a window
  index batch_size = 0;  ///< windows of a step

  /// Returns the parameters that products read: all matrices of the blocks, and the head.
  index parameters(index vocab_size) const;
  /// Returns the floating-point operations of training on a token: 6 for each parameter, and those of causal attention (Kaplan et al. 2020,
  /// arXiv 2001.08361).
  double flops_per_token(index vocab_size) const;
  /// Returns the tokens of a step.
  double step_tokens() const { return static_cast<double>(batch_size * block_size); }

  bool operator==(const Size&) const = default;
};

/// Returns the number of word pieces for a text of this many bytes: a larger text can fill a larger vocabulary.
index vocabulary_for(index bytes);

/// Returns the largest size that reads kTokensPerParameter in `seconds` with `flops` useful operations per second, and has at most
/// kParametersPerByte. Returns the smallest size if none fits.
Size size_for(double seconds, double flops, index vocab_size, index bytes);

}  // namespace dikkat::assistant
