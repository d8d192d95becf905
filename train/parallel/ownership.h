#pragma once

#include <vector>

#include "optim/optimizer.h"

namespace dikkat {

/// Elements [begin, end) of a slab that one rank owns.
struct OwnedRange {
  index begin = 0, end = 0;
  int owner = 0;

  index size() const { return end - begin; }
  bool operator==(const OwnedRange&) const = default;
};

/// Which rank updates which trained weights, and keeps their optimizer state. Matrices whose update needs all of their gradient
/// (Unit::whole) are owned whole, and shared out by what their updates cost; all else is dealt out in small blocks, so that each layer is
/// everybody's.
class Ownership {
 public:
  /// Of an optimizer of this store, which has been laid out. A function of the three alone.
  Ownership(const ParameterStore& store, Optimizer& optimizer, int ranks);

  /// The trained weights, in order: each element of a unit once. No part crosses the boundary of a unit or of a block of the gradient norm.
  /// They do not depend on the number of ranks, but for the owners.
  const std::vector<OwnedRange>& parts() const { return parts_; }
  /// The same, with neighbours of one owner joined, up to a size that is sent in one message.
  const std::vector<OwnedRange>& weights() const { return weights_; }
  /// Of a slab of the optimizer's state, in its own elements, joined likewise.
  std::vector<OwnedRange> state(const StateSlab& slab) const;
  /// What a rank updates.
  std::vector<Unit> units_of(int rank) const;

 private:
  std::vector<Unit> units_;  // in order
  std::vector<OwnedRange> parts_, weights_;
};

/// The norm of the gradient, sqrt(sum g^2), from the sums of its parts, which are added in order.
double norm_of(const std::vector<double>& sums_of_squares);
/// A part's sum of squares, on the calling thread.
double sum_of_squares(ParameterStore& store, const OwnedRange& part);

}  // namespace dikkat
