#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// The order in which a run takes samples from several sources: a pure function of the position in the run. Each source gets its share,
/// spread as evenly as whole numbers allow. The first source is divided from all others, the second from those after it, and so on. The
/// left side of a division gets round(n a) of n samples, where a is its share of both sides.
class Mixture {
 public:
  /// Throws Error if there are no weights. Each weight must be above 0 and at least 1e-6 of the sum of itself and those after it.
  explicit Mixture(std::span<const double> weights);

  index sources() const { return static_cast<index>(shares_.size()) + 1; }

  struct Place {
    index source = 0;
    index number = 0;  // the number of earlier samples from this source

    bool operator==(const Place&) const = default;
  };
  /// Returns the sample at a position of the run. 0 <= position < 2^38; with only one source there is no upper limit.
  Place at(index position) const;
  /// Returns how many of the first `positions` samples are from a source.
  index taken(index source, index positions) const;

 private:
  std::vector<index> shares_;  // each source's share of itself and the sources after it, in units of 2^-24; without the last source
};

}  // namespace dikkat
