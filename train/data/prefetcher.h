#pragma once

#include <memory>

#include "train/data/loader.h"

namespace dikkat {

/// The batches of a loader, in order. While one is used, a TBB task fills the next (double buffering).
class Prefetcher {
 public:
  /// Keeps a reference to the loader. Every `step_batches` batches make up a step. Throws Error unless first_sample >= 0 and the
  /// others >= 1.
  Prefetcher(const Loader& loader, index first_sample, index batch_size, index step_batches = 1);
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
