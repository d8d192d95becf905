#pragma once

#include <atomic>
#include <exception>

#include "autograd/base/denormals.h"
#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"

namespace dikkat::detail {

/// A loop over tiles, for any kind of threads: no exception leaves a thread, and the first exception ends the loop.
class TileLoop {
 public:
  explicit TileLoop(const Tiles& tiles) : tiles_(tiles) {}

  /// Replaces the loop in a DryRun. False where there is none.
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

  /// Whether the calling thread should run it alone. If not, counts it in parallel_loops().
  bool is_for_one_thread() const noexcept;

  /// Runs all tiles on this thread. Throws what a tile threw.
  void run_all() {
    const FlushDenormals flushed;
    begin_thread();
    for (index tile = 0; tile < tiles_.count; ++tile) {
      run(tile);
    }
    finish();
  }

  /// Each thread calls this before its tiles.
  void begin_thread() noexcept {
    if (tiles_.on_thread != nullptr) {
      guarded([&] { tiles_.on_thread(tiles_.thread_context); });
    }
  }
  void run(index tile) noexcept {
    guarded([&] { tiles_.function(tiles_.context, tile); });
  }
  /// To be called when all threads are done. Throws what a thread threw.
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
};

}  // namespace dikkat::detail
