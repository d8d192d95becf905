#pragma once

#include <cstddef>

namespace dikkat {

/// While it lives, kernels that this thread calls compute nothing. Parallel loops do not run, and memory (arenas, pools, slabs, scratch) is
/// mapped but hardly touched. Values of tensors are undefined; shapes, closures and sizes are the real ones. So a step of a model takes
/// milliseconds and almost no memory, and shows exactly how much memory a real one needs.
class DryRun {
 public:
  DryRun() noexcept;
  ~DryRun();
  DryRun(const DryRun&) = delete;
  DryRun& operator=(const DryRun&) = delete;

  /// Returns whether this thread is in a dry run.
  static bool active() noexcept;

  /// Returns the most scratch memory, in bytes, that kernels leased at once while it lived, on `threads` threads together.
  std::size_t scratch_bytes(int threads) const noexcept;

  /// Counts the scratch memory that this thread leases for each thread of a parallel loop, while it lives.
  class EachThread {
   public:
    EachThread() noexcept;
    ~EachThread();
    EachThread(const EachThread&) = delete;
    EachThread& operator=(const EachThread&) = delete;

   private:
    bool within_another_;
  };
  /// Scratch calls this with the bytes that this thread has leased now.
  static void note_scratch(std::size_t in_use) noexcept;

 private:
  DryRun* outer_;
  bool each_thread_ = false;
  std::size_t each_begin_ = 0;                        // bytes leased when the loop began
  std::size_t own_bytes_ = 0, each_other_bytes_ = 0;  // most bytes leased: by this thread; by each of the others
};

}  // namespace dikkat
