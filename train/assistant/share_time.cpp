#include "train/assistant/share_time.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "autograd/base/error.h"
#include "train/assistant/assumptions.h"

namespace dikkat::assistant {
namespace {

/// Returns the whole steps of a stage that may take `seconds`, and read its text `epochs` times. Throws InputError if they are too few.
index steps_of(const StageCost& cost, double seconds, double epochs) {
  const double most = std::max(kFewestStageSteps, std::ceil(epochs * cost.epoch_steps));
  const double count = std::floor(std::min(seconds / cost.step_seconds, most));
  require_input(count >= kFewestStageSteps,
                fmt::format("--time leaves {:.0f} seconds for a stage whose step takes {:.2g} seconds, expected time for {:.0f} steps or "
                            "more: give a longer --time, or a smaller model",
                            std::max(0.0, seconds), cost.step_seconds, kFewestStageSteps));
  return static_cast<index>(count);
}

}  // namespace

StageSteps share_time(double seconds, const StageCost& pretrain, const StageCost& chats, const StageCost& preferences) {
  const bool has_pretraining = pretrain.step_seconds > 0, has_chats = chats.step_seconds > 0, has_pairs = preferences.step_seconds > 0;
  double left = seconds;
  StageSteps steps;
  if (has_pairs) {
    steps.preferences = steps_of(preferences, has_pretraining || has_chats ? kPreferenceShare * seconds : seconds, kPreferenceEpochs);
    left -= static_cast<double>(steps.preferences) * preferences.step_seconds;
  }
  if (has_chats) {
    const double epoch = chats.epoch_steps * chats.step_seconds;
    steps.chats = steps_of(chats, has_pretraining ? std::clamp(epoch, kChatShare * seconds, kManyChatsShare * seconds) : left, kChatEpochs);
    left -= static_cast<double>(steps.chats) * chats.step_seconds;
  }
  if (has_pretraining) {
    constexpr double kNoLimit = 1e9;
    steps.pretrain = steps_of({.step_seconds = pretrain.step_seconds, .epoch_steps = 1}, left, kNoLimit);
  }
  return steps;
}

}  // namespace dikkat::assistant
