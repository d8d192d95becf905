#pragma once

#include <array>
#include <cstddef>

#include "autograd/base/scratch.h"

namespace dikkat {

/// While it lives, kernels that this thread calls compute nothing: parallel loops are not run, and what is asked for (arenas, pools,
/// slabs, scratch) is mapped and hardly touched. Tensors hold anything; shapes, closures and sizes are the real ones. So a step of a model
/// costs some milliseconds and next to no memory, and tells exactly what it would take.
class DryRun {
 public:
  DryRun() noexcept;
  ~DryRun();
  DryRun(const DryRun&) = delete;
  DryRun& operator=(const DryRun&) = delete;

  /// On this thread.
  static bool active() noexcept;

  /// Bytes of scratch that kernels asked for while it lived, of `threads` threads together.
  std::size_t scratch_bytes(int threads) const noexcept;

  /// For parallel loops: what each thread asks for is asked here, once, while this lives.
  class EachThread {
   public:
    EachThread() noexcept;
    ~EachThread();
    EachThread(const EachThread&) = delete;
    EachThread& operator=(const EachThread&) = delete;
  };
  /// For scratch(): what was asked for.
  static void note(Scratch slot, std::size_t bytes) noexcept;

 private:
  static constexpr auto kSlots = static_cast<std::size_t>(Scratch::count);

  DryRun* outer_;
  bool each_thread_ = false;
  std::array<std::size_t, kSlots> own_{}, each_{};  // of the calling thread alone, and of every thread
};

}  // namespace dikkat
