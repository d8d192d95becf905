#pragma once

#include <vector>

#include "autograd/tape/parameters.h"

namespace dikkat {

/// The sum of a step's gradients over its lanes. A lane is an equal part of the step's micro-batches, whose gradients are added one after
/// the other; lanes are added by a binary tree: (0 + 1) + (2 + 3) + ... The tree depends on the number of lanes alone, so processes that
/// share the lanes get the same bits.
class LaneSum {
 public:
  /// Sums into the store's gradients. Keeps a reference to the store, which has been laid out. Throws Error unless lanes is a power of two.
  LaneSum(ParameterStore& store, index lanes);

  /// Slabs of gradients beside the store's own that the sum of so many lanes needs: log2(lanes).
  static index slabs(index lanes);
  /// Maps their memory without touching it. Throws Error when there is not enough.
  void reserve();

  /// Before and after the backward passes of lane 0, 1, 2, ... After the last one the store's gradients are the sum. One lane is summed as
  /// without lanes.
  void begin(index lane);
  void end(index lane);

  /// In place of end(): first this for ranges of elements that cover all, as their gradients of this lane become complete; then close().
  void add_range(index lane, index begin, index end);
  void close();

 private:
  ParameterStore& store_;
  index lanes_;
  std::vector<Pages> slabs_;
};

}  // namespace dikkat
