#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "train/checkpoint/save.h"

namespace dikkat {

/// Saves checkpoints while training continues: copies the state, and saves the copy in a TBB task. One at a time.
class BackgroundSaver {
 public:
  explicit BackgroundSaver(std::filesystem::path directory);
  /// Waits for the save that is running.
  ~BackgroundSaver();
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;

  /// Copies the snapshot and starts to save the copy (save_checkpoint()). The previous save must have been collected. Throws Error if there
  /// is no memory for the copy.
  void start(const Snapshot& snapshot);
  bool is_running() const;
  /// The checkpoint that was saved since the last call; nothing if the save is still running, unless `wait`. Throws what the save threw.
  std::optional<SavedCheckpoint> collect(bool wait);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dikkat
