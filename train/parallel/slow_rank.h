#pragma once

#include <span>
#include <vector>

namespace dikkat {

/// Finds the ranks that compute for longer than the others, which wait for them.
class SlowRank {
 public:
  struct Found {
    int rank = -1;                   // -1: there is none
    double seconds = 0, median = 0;  // of a step: its own, and the median rank's
  };
  /// What a step's passes took on each rank. Returns the slowest rank after every tenth step in which it took 1.3 times as long as the
  /// median rank, each once.
  Found take(std::span<const double> seconds);

 private:
  std::vector<double> sums_;
  std::vector<bool> told_;
  int steps_ = -1;  // the first one is not counted, in which memory is touched
};

}  // namespace dikkat
