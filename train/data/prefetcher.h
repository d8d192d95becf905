#pragma once

#include <functional>
#include <memory>

#include "train/data/loader.h"

namespace dikkat {

/// The batches of a loader, in order. While one is used, a TBB task fills the next (double buffering).
class Prefetcher {
 public:
  /// Keeps a reference to the loader. Every `step_batches` batches make up a step. Throws Error unless first_sample >= 0 and the
  /// others >= 1.
  Prefetcher(const Loader& loader, index first_sample, index batch_size, index step_batches = 1);
  /// One of several equal parts of each step, which are runs of its batches.
  struct Part {
    index number = 0, of = 1;
  };
  /// The same where steps differ: next_step_batches() gives the number of each step in turn, and is called by the task. Of each step only
  /// the batches of the part are given.
  Prefetcher(const Loader& loader, index first_sample, index batch_size, std::function<index()> next_step_batches, Part part);
  Prefetcher(const Loader& loader, index first_sample, index batch_size, std::function<index()> next_step_batches)
      : Prefetcher(loader, first_sample, batch_size, std::move(next_step_batches), Part{}) {}
  /// Waits for the task.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The next batch_size samples; valid until the next call. Rethrows an exception of the task, also at every further call.
  const Batch& next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dikkat
