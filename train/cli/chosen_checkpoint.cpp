#include "train/cli/chosen_checkpoint.h"

#include <filesystem>

#include <fmt/format.h>

#include "autograd/base/error.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/metrics/read_metrics.h"
#include "train/system/folder.h"

namespace dikkat {
namespace {

/// Returns "which has the lowest validation loss (1.3403)".
std::string reason(const std::string& run_directory, index step) {
  const auto evaluation = read_evaluation(run_directory, step);
  return concat("which has the lowest validation loss", evaluation ? fmt::format(" ({:.4f})", evaluation->val_loss) : "");
}

}  // namespace

void report_chosen_checkpoint(const ModelArguments& arguments, const ModelOrigin& taken) {
  for (const std::string& note : taken.notes()) {
    warn(for_terminal(note));
  }
  if (arguments.best || arguments.newest || taken.checkpoint() == nullptr || !is_folder(arguments.source)) {
    return;
  }
  const index step = taken.state().step;
  if (const auto checkpoints = list_checkpoints(arguments.source); !checkpoints.empty() && checkpoints.back().step > step) {
    print_message(fmt::format("using step {}, {}; --newest uses step {}", step, reason(arguments.source, step), checkpoints.back().step));
  }
}

void report_chosen_origin(const std::string& source) {
  if (source.empty() || ModelFiles::is_at(source) || !is_folder(source)) {
    return;
  }
  const auto best = best_checkpoint(source);
  if (const auto checkpoints = list_checkpoints(source); best && !checkpoints.empty() && checkpoints.back().step > best->step) {
    print_message(for_terminal(fmt::format("starting from step {} of {}, {}; to start from step {}, give {}", best->step, source,
                                           reason(source, best->step), checkpoints.back().step, checkpoints.back().path.string())));
  }
}

}  // namespace dikkat
