#pragma once

#include <string>
#include <vector>

#include "train/config/config.h"

namespace dikkat {

/// How many forward and backward passes a step has, as a function of the step: train.gradient_accumulation_steps, and what
/// train.accumulation_schedule says.
class Accumulation {
 public:
  /// Throws InputError with problem_with_accumulation().
  explicit Accumulation(const TrainConfig& config);

  /// Of step `step`, which counts from 0.
  index operator()(index step) const;
  /// Of all steps from `from` to before `to`.
  index passes(index from, index to) const;
  /// The fewest and the most of a step of a run of max_steps.
  index fewest() const;
  index most() const;

 private:
  struct Piece {
    index first, count;  // step, and passes from there on
  };
  std::vector<Piece> pieces_;  // the first begins at step 0
  index max_steps_;
};

/// What is wrong with train.accumulation_schedule, as a sentence; empty if nothing is.
std::string problem_with_accumulation(const TrainConfig& config);
/// What is wrong with train.lanes, which must divide the passes of each step; empty if nothing is. The accumulation has no problem, and
/// lanes a value.
std::string problem_with_lanes(const TrainConfig& config);

}  // namespace dikkat
