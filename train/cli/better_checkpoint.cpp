#include "train/cli/better_checkpoint.h"

#include <filesystem>

#include <fmt/format.h>

#include "train/cli/streams.h"
#include "train/metrics/read_metrics.h"

namespace dikkat {

void tell_of_a_better_checkpoint(const std::string& source, bool best, const ModelSource& taken) {
  if (best || taken.checkpoint() == nullptr || !std::filesystem::is_directory(source)) {
    return;
  }
  const index step = taken.state().step;
  const auto lowest = best_checkpoint(source);
  if (!lowest || lowest->step == step) {
    return;
  }
  const auto loss_at = [&](index of) {
    const auto evaluation = read_evaluation(source, of);
    return evaluation ? fmt::format(" (validation loss {:.4f})", evaluation->val_loss) : "";
  };
  tell(fmt::format(
      "this is the newest checkpoint, of step {}{}; the checkpoint of step {}{} has the lowest validation loss: --best takes it", step,
      loss_at(step), lowest->step, loss_at(lowest->step)));
}

}  // namespace dikkat
