#pragma once

#include <atomic>
#include <exception>

#include "autograd/base/denormals.h"
#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"

namespace dikkat::detail {

/// A loop over tiles, for any kind of threads. No exception leaves a thread; the first exception ends the loop.
class TileLoop {
 public:
  explicit TileLoop(const Tiles& tiles) : tiles_(tiles) {}

  /// Replaces the loop in a DryRun, and returns whether it is one.
  static bool is_dry(const Tiles& tiles) {
    if (!DryRun::active()) {
      return false;
    }
    if (tiles.on_thread != nullptr) {
      const DryRun::EachThread each;
      tiles.on_thread(tiles.thread_context);
    }
    return true;
  }

  /// Returns whether the loop should run only on the calling thread. If not, counts the loop in parallel_loops().
  bool is_for_one_thread() const noexcept;

  /// Runs all tiles on this thread. Rethrows the first exception.
  void run_all() {
    const FlushDenormals flushed;
    const std::atomic<bool>* const failed_outside = failed_here_;  // this thread may be within a tile of another loop
    begin_thread();
    for (index tile = 0; tile < tiles_.count; ++tile) {
      run(tile);
    }
    failed_here_ = failed_outside;
    finish();
  }

  /// Each thread calls this before its tiles.
  void begin_thread() noexcept {
    failed_here_ = &failed_;
    if (tiles_.on_thread != nullptr) {
      guarded([&] { tiles_.on_thread(tiles_.thread_context); });
    }
  }
  void run(index tile) noexcept {
    guarded([&] { tiles_.function(tiles_.context, tile); });
  }
  /// Returns whether the loop that this thread works for has failed.
  static bool failed_here() noexcept { return failed_here_ != nullptr && failed_here_->load(std::memory_order_relaxed); }
  /// Ends the loop: call it when all threads are done. Rethrows the first exception of a thread.
  void finish() const {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  template <class F>
  void guarded(F&& work) noexcept {
    if (failed_.load(std::memory_order_relaxed)) {
      return;
    }
    try {
      work();
    } catch (...) {
      if (!failed_.exchange(true)) {
        failure_ = std::current_exception();
      }
    }
  }

  const Tiles& tiles_;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;
  static thread_local const std::atomic<bool>* failed_here_;
};

}  // namespace dikkat::detail
