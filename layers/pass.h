#pragma once

#include <functional>
#include <string_view>

#include "autograd/base/philox.h"
#include "autograd/tape/tape.h"

namespace dikkat {

/// Told what an attention layer looks at: its path ("decoder.h.0.crossattention") and its weights (B, H, queries, keys), which live
/// as long as the pass's tape keeps its tensors.
using AttentionObserver = std::function<void(std::string_view layer, Tensor weights)>;

/// What is not kept for backward and made again there. The results are the same, bit by bit.
enum class Recompute {
  none,
  cheap,  // the feed-forward's activation, which is the largest tensor of a block and costs no product
  block,  // that, and all of a block but what goes in and out
};

/// One forward pass: all the context that layers have.
struct Pass {
  Tape& tape;
  bool training = false;  // dropout drops
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  index first_sequence = 0;  // place of the batch's first sequence among the whole step's, micro-batches before it included
  const AttentionObserver* attention_observer = nullptr;  // weights are made only for it
  Recompute recompute = Recompute::none;

  /// The same on another tape.
  Pass on(Tape& other) const { return {other, training, seed, step, first_sequence, attention_observer, recompute}; }

  /// The random words of a site (Scope::site()) in this step.
  RandomStream stream(std::uint64_t site) const { return {seed, site, step}; }
};

}  // namespace dikkat
