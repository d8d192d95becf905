#pragma once

#include <filesystem>
#include <string>

#include "train/assistant/chats.h"
#include "train/assistant/events.h"
#include "train/assistant/plan.h"
#include "train/checkpoint/lock.h"

namespace dikkat::assistant {

/// The stages of an assistant, from the plan in its folder. The folder is locked as long as this exists.
class Stages {
 public:
  /// Throws InputError if another process runs them, or for what read_plan() throws.
  explicit Stages(const std::filesystem::path& folder);

  /// Runs the stages that are left, and then saves the model. Returns false if a signal stopped it. Throws InputError if a stage's folder
  /// has another run than the plan's.
  bool run(StageRunner& runner, Events& events, const ShippedData& shipped);

  const Plan& plan() const { return plan_; }

 private:
  std::filesystem::path run_of(StageKind kind) const;
  void write_chats(const ShippedData& shipped) const;
  void write_pairs() const;
  bool train(const Stage& stage, StageRunner& runner) const;
  bool ask(const std::filesystem::path& model, std::string& tasks, StageRunner& runner) const;
  double check_run(const Stage& stage) const;
  StageRun placed(const Stage& stage) const;
  std::string origin_of(const Stage& stage) const;

  std::filesystem::path folder_;
  FolderLock lock_;
  Plan plan_;
};

}  // namespace dikkat::assistant
