#include "train/cli/better_checkpoint.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "train/cli/streams.h"
#include "train/loop/metrics.h"

namespace dikkat {

void tell_of_a_better_checkpoint(const std::string& source, bool best, const CheckpointFile& taken) {
  const TrainingState& state = taken.state();
  if (best || !std::filesystem::is_directory(source) || state.best_step < 0 || state.best_step == state.step || !best_checkpoint(source)) {
    return;
  }
  std::ostringstream metrics;
  metrics << std::ifstream(std::filesystem::path(source) / "metrics.jsonl", std::ios::binary).rdbuf();
  const auto evaluation = keep_metrics(metrics.str(), state.step).evaluation;
  const std::string loss = evaluation ? fmt::format(", with a validation loss of {:.4f}", evaluation->val_loss) : "";
  tell(fmt::format("this is the newest checkpoint, of step {}{}; that of step {} has the lowest, {:.4f}: --best takes it", state.step, loss,
                   state.best_step, state.best_val_loss));
}

}  // namespace dikkat
