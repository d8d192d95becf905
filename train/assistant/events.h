#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "train/assistant/plan.h"
#include "train/data/training_data.h"

namespace dikkat::assistant {

/// Receives what an assistant does while it plans and works. By default nothing happens.
class Events {
 public:
  virtual ~Events() = default;
  /// The texts of a stage are being read, to try it.
  virtual void reading(const LoadingReport&) {}
  /// A stage has been tried.
  virtual void tried() {}
  /// The stages begin, or continue.
  virtual void begins(const Plan&) {}
  /// A stage begins or continues. `stage` is its index.
  virtual void stage_begins(const Plan&, std::size_t /*stage*/) {}
};

/// Runs what stages consist of. Each function may be stopped, and throws what training throws.
class StageRunner {
 public:
  virtual ~StageRunner() = default;
  /// Trains a new run in the folder `out` to its end. Returns false if it was stopped; then it is saved.
  virtual bool train(const StageRun& run, const std::filesystem::path& out) = 0;
  /// Continues the run in a folder in the same way.
  virtual bool resume(const std::filesystem::path& run) = 0;
  /// Asks a model the questions of a file. Returns the shares of right answers as JSON; nullopt if it was stopped.
  virtual std::optional<std::string> ask(const std::filesystem::path& model, const std::filesystem::path& tasks) = 0;
};

}  // namespace dikkat::assistant
