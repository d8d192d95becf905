#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "train/checkpoint/save.h"

namespace dikkat {

/// Saves checkpoints from a copy of what they hold, in a TBB task, while training goes on. One at a time.
class BackgroundSaver {
 public:
  explicit BackgroundSaver(std::filesystem::path directory);
  /// Waits for the save that is under way.
  ~BackgroundSaver();
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;

  /// Copies the snapshot and has the copy saved (save_checkpoint()). The save before must have been collected. Throws Error when there is
  /// no memory for the copy.
  void start(const Snapshot& snapshot);
  bool under_way() const;
  /// What has been saved since the last call, if it is done; `wait`: when it is done. Throws what the save threw.
  std::optional<SavedCheckpoint> collect(bool wait);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dikkat
