#pragma once

#include <functional>
#include <string_view>

#include "autograd/base/philox.h"
#include "autograd/tape/tape.h"

namespace dikkat {

/// Told what an attention layer looks at: its path ("decoder.h.0.crossattention") and its weights (B, H, queries, keys), which live
/// as long as the pass's tape keeps its tensors.
using AttentionObserver = std::function<void(std::string_view layer, Tensor weights)>;

/// Activation checkpointing: what is not kept for backward, but computed again there. The results are the same, bit by bit.
enum class Recompute {
  none,
  cheap,  // the feed-forward's activation: the largest tensor of a block, and no matrix product to compute
  block,  // all of a block except its inputs and outputs
};

/// One forward pass: all the context that layers have.
struct Pass {
  Tape& tape;
  bool training = false;  // dropout drops
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  index first_sequence = 0;  // index of the batch's first sequence within the whole step, which may have several micro-batches
  const AttentionObserver* attention_observer = nullptr;  // attention weights are computed only if it is set
  Recompute recompute = Recompute::none;

  /// The same on another tape. The binding names every member, so one that is added and forgotten here does not compile.
  Pass on(Tape& other) const {
    const auto& [own_tape, is_training, its_seed, its_step, its_first_sequence, its_observer, what_to_recompute] = *this;
    return {other, is_training, its_seed, its_step, its_first_sequence, its_observer, what_to_recompute};
  }

  /// The random words of a site (Scope::site()) in this step.
  RandomStream stream(std::uint64_t site) const { return {seed, site, step}; }
};

}  // namespace dikkat
