#pragma once

#include <cstddef>

namespace dikkat {

/// While it lives, kernels that this thread calls compute nothing: parallel loops do not run, and memory (arenas, pools, slabs, scratch)
/// is mapped and hardly touched. Tensors hold anything; shapes, closures and sizes are the real ones. So a step of a model takes some
/// milliseconds and next to no memory, and tells exactly how much memory it would take.
class DryRun {
 public:
  DryRun() noexcept;
  ~DryRun();
  DryRun(const DryRun&) = delete;
  DryRun& operator=(const DryRun&) = delete;

  /// On this thread.
  static bool active() noexcept;

  /// Bytes of scratch that kernels leased at once at most while it lived, on `threads` threads together.
  std::size_t scratch_bytes(int threads) const noexcept;

  /// For parallel loops: while it lives, this thread leases what each of the loop's threads would.
  class EachThread {
   public:
    EachThread() noexcept;
    ~EachThread();
    EachThread(const EachThread&) = delete;
    EachThread& operator=(const EachThread&) = delete;
  };
  /// Scratch calls this with the bytes that this thread has leased now.
  static void note_scratch(std::size_t in_use) noexcept;

 private:
  DryRun* outer_;
  bool each_thread_ = false;
  std::size_t each_begin_ = 0;      // leased when the loop began
  std::size_t own_ = 0, each_ = 0;  // leased at most: by this thread, and by each of the others
};

}  // namespace dikkat
