#pragma once

#include "autograd/base/philox.h"
#include "autograd/tape/tape.h"

namespace dikkat {

/// One forward pass: all the context that layers have.
struct Pass {
  Tape& tape;
  bool training = false;  // dropout drops
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  index first_sequence = 0;  // place of the batch's first sequence among the whole step's, micro-batches before it included

  /// The random words of a site (Scope::site()) in this step.
  RandomStream stream(std::uint64_t site) const { return {seed, site, step}; }
};

}  // namespace dikkat
