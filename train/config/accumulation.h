#pragma once

#include <string>
#include <vector>

#include "train/config/config.h"

namespace dikkat {

/// Counts the micro-batches of each step, by train.gradient_accumulation_steps and train.accumulation_schedule.
class Accumulation {
 public:
  /// Throws InputError if problem_with_accumulation() is not empty.
  explicit Accumulation(const TrainConfig& config);

  /// Returns the number of micro-batches in a step; steps count from 0.
  index operator()(index step) const;
  /// Returns the number of micro-batches in steps `from` to `to - 1`.
  index passes(index from, index to) const;
  /// Return the smallest and the largest number of micro-batches in a step, in a run of max_steps.
  index fewest() const;
  index most() const;

 private:
  struct Piece {
    index first, count;  // the first step, and the micro-batches in each step starting there
  };
  std::vector<Piece> pieces_;  // the first begins at step 0
  index max_steps_;
};

/// Returns a sentence on the problem with train.accumulation_schedule; empty if there is none.
std::string problem_with_accumulation(const TrainConfig& config);
/// Returns a sentence on the problem with train.lanes, which must divide the micro-batches of each step; empty if there is none. The
/// accumulation schedule must be valid, and lanes must have a value.
std::string problem_with_lanes(const TrainConfig& config);

}  // namespace dikkat
