#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// In what order a run takes samples from several sources: a pure function of the position in the run, in which each source has its share,
/// spread as evenly as whole numbers allow. The first source is divided from all others, the second from those after it, and so on; each
/// division gives its left side n a of n samples, rounded, where a is the left side's share of both.
class Mixture {
 public:
  /// Throws Error unless there is a weight, and each is above 0 and at least 1e-6 of the sum of those from it on.
  explicit Mixture(std::span<const double> weights);

  index sources() const { return static_cast<index>(shares_.size()) + 1; }

  struct Place {
    index source = 0;
    index number = 0;  // how many samples of this source came before

    bool operator==(const Place&) const = default;
  };
  /// The sample at a position of the run, 0 <= position < 2^38; with one source, any.
  Place at(index position) const;
  /// How many of the first `positions` samples are from a source.
  index taken(index source, index positions) const;

 private:
  std::vector<index> shares_;  // of each source but the last: its part of what it is divided from, in 2^-24
};

}  // namespace dikkat
