#pragma once

#include <vector>

#include "optim/optimizer.h"

namespace dikkat {

/// Elements [begin, end) of a slab, which one rank owns.
struct OwnedRange {
  index begin = 0, end = 0;
  int owner = 0;

  index size() const { return end - begin; }
  bool operator==(const OwnedRange&) const = default;
};

/// Decides which rank updates which trained weights and keeps their optimizer state. Matrices whose update needs the whole gradient
/// (Unit::whole) have one owner each, and are shared out by the cost of their updates. Everything else is dealt out in small blocks, so
/// every rank owns part of every layer.
class Ownership {
 public:
  /// `optimizer` must belong to `store`, which must be laid out. The result depends only on these three arguments.
  Ownership(const ParameterStore& store, Optimizer& optimizer, int ranks);

  /// Returns ranges of the trained weights in order: each element of a unit once. No part crosses the boundary of a unit or of a block of
  /// the gradient norm. Only the owners depend on the number of ranks.
  const std::vector<OwnedRange>& parts() const { return parts_; }
  /// Returns the parts, with neighbors of one owner merged up to the size of a message.
  const std::vector<OwnedRange>& weights() const { return weights_; }
  /// Returns the owners of an optimizer state slab, in that slab's elements. Neighboring ranges of one owner are merged.
  std::vector<OwnedRange> state(const StateSlab& slab) const;
  /// Returns the units that a rank updates.
  std::vector<Unit> units_of(int rank) const;

 private:
  std::vector<Unit> units_;  // the units in order
  std::vector<OwnedRange> parts_, weights_;
};

/// Returns the norm of the gradient, sqrt(sum g^2). Adds the sums of squares of its parts in order.
double norm_of(const std::vector<double>& sums_of_squares);
/// Returns the sum of squares of a part's gradients, computed on the calling thread.
double sum_of_squares(ParameterStore& store, const OwnedRange& part);

}  // namespace dikkat
