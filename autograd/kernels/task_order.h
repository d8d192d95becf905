#pragma once

#include <atomic>
#include <new>
#include <thread>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"

namespace dikkat::kernels {

/// The order in which the tasks of a parallel loop add to memory that they share. A task waits until another one, which was begun before it
/// (parallel_for_uneven), has come as far as it needs. So the order of a sum, and its bits, do not depend on which task is faster.
class TaskOrder {
 public:
  /// Makes memory for `tasks` tasks; 0 if nothing is shared.
  explicit TaskOrder(index tasks) : done_(tasks) {
    for (index i = 0; i < tasks; ++i) {
      new (done_ + i) Count;
    }
  }
  /// Returns when a task has done `steps` of its steps; or throws, if that will not happen because a tile of the loop has thrown.
  void wait(index task, index steps) const {
    for (int spins = 0; done_[task].steps.load(std::memory_order_acquire) < steps;) {
      require(!parallel_loop_failed(), "another part of the same computation failed");
      if (spins < kSpins) {
        ++spins;
      } else {
        std::this_thread::yield();
      }
    }
  }
  /// Records that a task has done `steps` of its steps.
  void report(index task, index steps) { done_[task].steps.store(steps, std::memory_order_release); }

 private:
  static constexpr int kSpins = 1000;
  struct alignas(64) Count {  // a cache line each
    std::atomic<index> steps = 0;
  };
  Scratch<Count> done_;
};

}  // namespace dikkat::kernels
