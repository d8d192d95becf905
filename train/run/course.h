#pragma once

#include <memory>

#include "optim/update_schedule.h"
#include "train/checkpoint/snapshot.h"
#include "train/config/accumulation.h"
#include "train/config/config.h"
#include "train/data/samples/loader.h"
#include "train/data/samples/prefetcher.h"
#include "train/data/training_data.h"
#include "train/parallel/ranks.h"

namespace dikkat {

/// The samples, the number of micro-batches and the learning rate of each step of a run. All are functions of the configuration, the seed
/// and the step.
struct Course {
  /// Keeps references to the samples of the data.
  Course(const Config& config, const TrainingData& data, std::uint64_t seed);

  Loader loader;
  UpdateSchedule schedule;
  Accumulation accumulation;  // micro-batches of each step

  /// Returns the batches of a rank for the steps starting at state.step. Keeps a reference to this.
  std::unique_ptr<Batches> batches(const TrainingState& state, index batch_size, const Ranks& ranks) const;
};

}  // namespace dikkat
