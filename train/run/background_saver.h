#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "train/checkpoint/save.h"

namespace dikkat {

/// Saves one checkpoint at a time while training continues: copies the state, and saves the copy in a TBB task.
class BackgroundSaver {
 public:
  explicit BackgroundSaver(std::filesystem::path directory);
  /// Waits for the save that is running.
  ~BackgroundSaver();
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;

  /// Copies the snapshot and starts saving the copy (save_checkpoint()). The previous save must have been collected. Throws Error if there
  /// is no memory for the copy.
  void start(const Snapshot& snapshot);
  bool is_running() const;
  /// Returns the checkpoint that was saved since the last call. If the save is still running, waits for it with `wait`, and returns nothing
  /// otherwise. Rethrows an error of the save.
  std::optional<SavedCheckpoint> collect(bool wait);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dikkat
