#pragma once

#include <functional>
#include <memory>

#include "train/data/samples/loader.h"

namespace dikkat {

/// The batches of a run, one after another.
class Batches {
 public:
  virtual ~Batches() = default;
  /// Returns the next batch, valid until the next call.
  virtual const Batch& next() = 0;
};

/// The batches of a loader. While one is used, a TBB task fills the next (double buffering).
class Prefetcher : public Batches {
 public:
  /// Keeps a reference to the loader. Every `step_batches` batches make up a step. Throws Error unless first_sample >= 0, batch_size >= 1
  /// and step_batches >= 1.
  Prefetcher(const Loader& loader, index first_sample, index batch_size, index step_batches = 1);
  /// One of `of` equal parts of each step. A part consists of consecutive batches.
  struct Part {
    index number = 0, of = 1;
  };
  /// Makes steps of different sizes: next_step_batches(), which the task calls, returns the number of batches of each step in turn. Only
  /// the batches of `part` are returned.
  Prefetcher(const Loader& loader, index first_sample, index batch_size, std::function<index()> next_step_batches, Part part);
  Prefetcher(const Loader& loader, index first_sample, index batch_size, std::function<index()> next_step_batches)
      : Prefetcher(loader, first_sample, batch_size, std::move(next_step_batches), Part{}) {}
  /// Waits for the task.
  ~Prefetcher() override;
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Returns the next batch_size samples, valid until the next call. Rethrows an exception of the task, also at every later call.
  const Batch& next() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dikkat
