#pragma once

#include <cstdint>

#include "autograd/base/index.h"
#include "train/data/batch.h"
#include "train/data/token_store.h"

namespace dikkat {

/// The samples that training sees, as a pure function of (tokens, block_size T, seed).
///
/// A sample is T tokens and the T that follow each of them. An epoch has W = floor((N - 1) / T) windows: window i starts at token
/// o + i * T, where the offset o in [0, (N - 1) mod T] changes from epoch to epoch, and each is seen once, in the order of a keyed
/// permutation. Sample p, counted from the start of the run, is the one of rank p mod W in epoch p / W.
class Loader {
 public:
  /// Keeps a reference to the store. Throws InputError when it has fewer than T + 1 tokens; Error unless T >= 1.
  Loader(const TokenStore& store, index block_size, std::uint64_t seed);

  index block_size() const { return block_size_; }
  /// W, the samples of an epoch.
  index windows() const { return windows_; }
  /// Where window 0 starts in an epoch.
  index offset(index epoch) const;

  /// Samples first_sample to first_sample + count - 1, as rows of (count, T); all weights 1. They may run over the end of an epoch.
  /// Throws Error unless first_sample >= 0 and count >= 1.
  void fill(index first_sample, index count, Batch& batch) const;
  /// The sum of the weights that fill() will give, known beforehand: micro-batches are normalised by that of the whole step.
  double target_weight(index first_sample, index count) const;

 private:
  const TokenStore& store_;
  index block_size_;
  index windows_;
  std::uint64_t seed_;
};

}  // namespace dikkat
