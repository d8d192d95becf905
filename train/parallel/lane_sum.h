#pragma once

#include <vector>

#include "autograd/tape/parameters.h"

namespace dikkat {

/// Sums a step's gradients over its lanes. A lane is an equal part of the step's micro-batches; their gradients are added one after the
/// other. Lanes are added by a binary tree: (0 + 1) + (2 + 3) + ... The tree depends only on the number of lanes, so processes that share
/// the lanes get the bits of a single process.
class LaneSum {
 public:
  /// Sums into the gradients of the store, which must be laid out. Keeps a reference to it. Throws Error unless `lanes` is a power of two.
  LaneSum(ParameterStore& store, index lanes);

  /// Returns the number of gradient slabs that the sum needs in addition to the store's own: log2(lanes).
  static index slabs(index lanes);
  /// Maps the memory of these slabs without touching it. Throws Error if there is not enough.
  void reserve();

  /// Call before and after the backward passes of lane 0, 1, 2, ... After the last lane the store's gradients are the sum. A single lane is
  /// summed in them directly.
  void begin(index lane);
  void end(index lane);

  /// These two replace end(): call add_range() for ranges of elements as soon as their gradients of this lane are complete. When the ranges
  /// have covered all elements, call close().
  void add_range(index lane, index begin, index end);
  void close();

 private:
  ParameterStore& store_;
  index lanes_;
  std::vector<Pages> slabs_;
};

}  // namespace dikkat
