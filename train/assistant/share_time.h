#pragma once

#include "autograd/base/index.h"

namespace dikkat::assistant {

/// The measured cost of one stage.
struct StageCost {
  double step_seconds = 0;  ///< 0 if the plan leaves the stage out
  double epoch_steps = 0;   ///< steps that read the stage's text once
};

/// The number of steps of each stage; 0 if the plan leaves the stage out.
struct StageSteps {
  index pretrain = 0, chats = 0, preferences = 0;
};

/// Divides a time among the stages, by the epochs and shares of assumptions.h. Pretraining gets what the others leave; without it, chats
/// do. Throws InputError, naming --time, if a stage would have fewer than kFewestStageSteps.
StageSteps share_time(double seconds, const StageCost& pretrain, const StageCost& chats, const StageCost& preferences);

}  // namespace dikkat::assistant
