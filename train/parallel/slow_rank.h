#pragma once

#include <span>
#include <vector>

namespace dikkat {

/// Finds ranks that compute for longer than the others, which have to wait for them.
class SlowRank {
 public:
  struct Found {
    int rank = -1;       // -1: no rank is slow
    double seconds = 0;  // how long it computes in a step
    double median = 0;   // the seconds of the median rank
  };
  /// Adds a step. `seconds` has how long each rank computed. After every tenth step returns the slowest rank, if it took 1.3 times as long
  /// as the median rank in these steps. Returns each rank only once.
  Found take(std::span<const double> seconds);

 private:
  std::vector<double> sums_;
  std::vector<bool> was_found_;
  int steps_ = -1;  // the first step is not counted, because it touches memory
};

}  // namespace dikkat
