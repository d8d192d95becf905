#pragma once

#include <vector>

#include "autograd/base/index.h"
#include "autograd/base/parallel.h"

namespace dikkat {

namespace detail {
class TileLoop;
}

/// How long each tile of a parallel loop took.
struct LoopTimes {
  bool even = true;  // threads get equal shares of the tiles in order; if not, a thread takes the next tile when it has finished one
  std::vector<double> seconds;

  double sum() const;
  /// The time of the thread that has the most to do.
  double longest(int threads) const;
};

/// While it lives, this thread does alone what `threads` threads would do, tile after tile, and notes how long each takes. Threads that
/// share caches and memory, or wait for each other, are slower than that: it shows what they can reach at most.
class SimulatedThreads {
 public:
  /// Throws Error unless threads is 1 or more.
  explicit SimulatedThreads(int threads);
  ~SimulatedThreads();
  SimulatedThreads(const SimulatedThreads&) = delete;
  SimulatedThreads& operator=(const SimulatedThreads&) = delete;

  /// The loops that this thread has run so far on several threads.
  const std::vector<LoopTimes>& loops() const { return loops_; }

  /// For parallel loops: whether this thread simulates others now.
  static bool active() noexcept;
  static void run(detail::TileLoop& loop, index tiles, bool even);

 private:
  WithThreads threads_;
  std::vector<LoopTimes> loops_;
};

}  // namespace dikkat
