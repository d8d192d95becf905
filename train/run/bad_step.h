#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "autograd/base/error.h"
#include "autograd/tape/parameters.h"
#include "optim/optimizer.h"
#include "train/checkpoint/snapshot.h"
#include "train/data/samples/loader.h"
#include "train/metrics/reports.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Thrown if a loss, gradient or weight is not finite, or a loss is a spike, unless the configuration asks to continue. what() also has
/// advice.
class Diverged : public Error {
 public:
  Diverged(std::string reason, const std::string& what) : Error(what), reason_(std::move(reason)) {}
  /// Returns "step 7: the loss is NaN and the gradient's norm NaN", for example.
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

/// Returns why the update of a step must not be applied: its loss or gradient is not finite, or its loss is a spike. A spike is more than
/// `spike_z` standard deviations above the earlier losses in `state` (0: losses are not compared). Empty if it can be applied.
std::string objection_to(const StepReport& step, const TrainingState& state, double spike_z);

/// A step whose update was not applied.
struct BadStep {
  StepReport report;
  std::string reason;
  std::vector<double> losses;  // losses of its micro-batches
};

/// Writes RUN_DIR/bad-step-N.json, for people and scripts: the reason, and every row of the step's batches as text and as tokens. The
/// batches begin at sample `first_sample` of the run. Returns the file's path. Throws Error if it cannot be written.
std::filesystem::path write_bad_step(const std::filesystem::path& run_directory, const BadStep& step, const Loader& loader,
                                     index first_sample, index batch_size, const Tokenizer& tokenizer);

}  // namespace dikkat
