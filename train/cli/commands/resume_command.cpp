#include "train/cli/commands/resume_command.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "autograd/base/parallel.h"
#include "train/assistant/plan.h"
#include "train/cli/commands.h"
#include "train/cli/commands/assistant_command.h"
#include "train/cli/run_training.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/with_ranks.h"
#include "train/config/override.h"
#include "train/run/trainer.h"

namespace dikkat {
namespace {

/// Returns the settings that let a finished run train on. optim.decay_steps is among them if the schedule has ended at its lowest rate and
/// does not follow train.max_steps.
std::string settings_to_train_on(const Trainer& trainer) {
  const Config& config = trainer.config();
  if (trainer.out_of_patience()) {
    return fmt::format(
        "train.patience=0 (it is {}, so the run ends after that many evaluations without a lower loss; with 0 it continues to the last "
        "step)",
        config.train.patience);
  }
  const bool stays_low = ends_at_min_lr(config.optim.schedule) && config.optim.schedule != Schedule::Kind::wsd;
  return stays_low ? "train.max_steps=N optim.decay_steps=N (without the second, the learning rate stays at its lowest value)"
                   : "train.max_steps=N";
}

Trainer resumed(const ResumeArguments& arguments, const std::shared_ptr<Ranks>& ranks) {
  LoadingLine line;
  try {
    return Trainer::resume(arguments.run_directory,
                           {.overrides = arguments.set,
                            .choice = arguments.latest_good ? CheckpointChoice::latest_good : CheckpointChoice::newest,
                            .base = arguments.base},
                           std::ref(line), ranks);
  } catch (const MissingCorpus& missing) {
    fail_input(missing.what(), ". If the text has moved: dikkat resume ", arguments.run_directory, " --set data.corpus=NEW_PATH");
  }
}

int resume_run(const ResumeArguments& arguments, const std::shared_ptr<Ranks>& ranks) {
  start_threads();
  std::unique_ptr<Trainer> trainer;
  ranks->run_on_all([&] {
    trainer.reset(new Trainer(resumed(arguments, ranks)));  // NOLINT(modernize-make-unique): a Trainer cannot be moved
  });
  ranks->set_timeout(trainer->config().train.rank_timeout);
  std::vector<std::string> keys;
  std::ranges::transform(arguments.set, std::back_inserter(keys), key_of_override);
  print_remarks(*trainer, keys);
  if (report_if_finished(*trainer, arguments.set, arguments.run_directory)) {
    if (!arguments.base.empty()) {
      print_message(
          "the checkpoints are unchanged and do not record the new place of the base: eval, sample, chat, serve, export and merge need "
          "--base too");
    }
    return 0;
  }
  return train_to_end(*trainer, {.profile = arguments.profile, .is_stage = arguments.is_stage});
}

}  // namespace

int resume_command(const ResumeArguments& arguments) {
  return with_ranks([&](const std::shared_ptr<Ranks>& ranks) { return resume_run(arguments, ranks); });
}

bool report_if_finished(const Trainer& trainer, const std::vector<std::string>& set, const std::string& run) {
  // Only the first rank reads the metrics, and so knows whether the last step was evaluated.
  if (trainer.ranks().from_first(trainer.finished() ? "finished" : "").empty()) {
    return false;
  }
  std::string kept;  // the settings that a run that ended early needs again
  for (const std::string& assignment : trainer.out_of_patience() ? set : std::vector<std::string>()) {
    kept += assignment.starts_with("train.patience=") ? "" : assignment + ' ';
  }
  print_message(fmt::format("{} is finished: step {} of {}. To train on: dikkat resume {} --set {}{}", run, trainer.state().step,
                            trainer.config().train.max_steps, run, kept, settings_to_train_on(trainer)));
  return true;
}

void add_resume(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat resume runs/mine
  dikkat resume runs/mine --set train.max_steps=4000)";
  const auto a = std::make_shared<ResumeArguments>();
  Command command =
      program.add("resume", "Continue a run from its newest checkpoint, to the same bits as a run that never stopped", kExamples,
                  [a] { return assistant::is_assistant(a->run_directory) ? resume_assistant(*a) : resume_command(*a); });
  command.text("RUN_DIR", a->run_directory, "", "The run directory, or the folder of `dikkat assistant`").required();
  command.texts("--set", a->set, "KEY=VALUE",
                "Change a key, as section.key=value, such as train.max_steps=4000; the checkpoints record the change");
  command.text("--base", a->base, "PATH", kBaseHelp);
  command.flag("--latest-good", a->latest_good, "If the newest checkpoint is damaged, continue from the newest one that is not");
  command.flag("--profile", a->profile, kProfileHelp);
}

}  // namespace dikkat
