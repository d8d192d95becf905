#include "train/cli/run_training.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "train/cli/effect_notes.h"
#include "train/cli/run_introduction.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/machine/rate.h"
#include "train/model/precision.h"
#include "train/run/evaluate.h"
#include "train/run/trainer.h"

namespace dikkat {
namespace {

/// Returns a remark on a run whose optimizer took much of the time; empty for other runs.
std::string remark_on_optimizer(double share) {
  constexpr double kMuch = 0.15;
  return share > kMuch ? fmt::format(
                             "the optimizer took {:.0f}% of the training time; larger steps (train.batch_size, "
                             "train.gradient_accumulation_steps) lower this share",
                             100 * share)
                       : "";
}

/// Warns of a model that has not learned to end its answers. A base that has never seen the end token predicts it with a probability of
/// about 1 / vocabulary. Adapters cannot change that unless embedding and head are trained with them.
void warn_of_endless_answers(const Trainer& trainer, double end_probability) {
  constexpr double kLikely = 0.1;  // an answer then ends within about ten tokens of its right end
  if (!(end_probability < kLikely)) {
    return;
  }
  const Config& c = trainer.config();
  const bool is_head_frozen = !trainer.model().head().record()->needs_gradient;
  warn(fmt::format(
      "warning: where an answer ends, the model gives its end token a mean probability of {:.2g}, so its answers will hardly stop. {}",
      end_probability,
      c.lora.rank > 0 && is_head_frozen
          ? fmt::format("Adapters do not change how often a base that has not seen this token writes it: train its embedding and head, too "
                        "(--set lora.modules_to_save=embedding,head), or all weights (dikkat finetune {} --full --set "
                        "optim.learning_rate=2e-4)",
                        c.train.init_from)
          : fmt::format("Train longer, or with a higher rate than optim.learning_rate = {}", c.optim.learning_rate)));
}

/// Returns the mean probability of the end tokens in some training conversations; NaN if there are none.
double end_probability_in_training(const Trainer& trainer) {
  constexpr index kTokens = 2048;  // about
  const Config& c = trainer.config();
  const auto& sources = trainer.data().sources;
  const auto found = std::ranges::find_if(sources, [](const SourceData& source) { return source.chat.has_value(); });
  if (c.preference.is_on() || found == sources.end()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const Samples& samples = *found->train->evaluation();
  const auto scorer = trainer.objective().scorer();
  const SampleChoice choice{.count = std::max<index>(1, kTokens / samples.longest().cols), .seed = trainer.state().seed};
  return Evaluator(*scorer, operand_type(c.train))(samples, choice)->end_probability;
}

/// Prints at which step the run has ended and why, and its best evaluation.
void print_end(const Trainer& trainer) {
  const TrainingState& state = trainer.state();
  const TrainConfig& train = trainer.config().train;
  if (trainer.out_of_patience() && state.step < train.max_steps) {
    const std::string_view metric = trainer.objective().decided_by();
    const std::string what = metric.empty() ? "the validation loss did not fall" : concat(metric, " did not rise");
    print_message(fmt::format("ended early at step {} of {}: {} in the last {} evaluations (train.patience)", state.step, train.max_steps,
                              what, train.patience));
  }
  std::string best;
  if (state.best_step >= 0) {
    const std::string accuracy =
        state.best_accuracy >= 0 ? fmt::format(" with {} {:.3f}", trainer.objective().decided_by(), state.best_accuracy) : "";
    best = fmt::format("; best validation loss {:.4f}{} at step {}", state.best_val_loss, accuracy, state.best_step);
  }
  print_message(fmt::format("finished at step {}{}", state.step, best));
}

/// Returns the exit code of a run that was stopped by a signal to this process or to another rank. All ranks call it.
int exit_code_of_stop(const Trainer& trainer) { return 128 + trainer.ranks().largest(stop_signal()); }

}  // namespace

void print_remarks(const Trainer& trainer, const std::vector<std::string>& keys) {
  for (const std::string& remark : trainer.remarks()) {
    print_message(remark);
  }
  if (trainer.ranks().is_first()) {
    note_keys_without_effect(trainer.planned(), keys);
  }
}

int train_to_end(Trainer& trainer, const TrainingOptions& options) {
  stop_in_order();
  trainer.measure_gemm_rate([&] { return gemm_rate(operand_type(trainer.config().train)); });
  if (!trainer.ranks().is_first()) {
    TrainingEvents nobody;
    return trainer.run(nobody, stop_requested) == Trainer::Outcome::stopped ? exit_code_of_stop(trainer) : 0;
  }
  // Train, with the progress on the terminal.
  Profile profile;
  trainer.set_profile(options.profile ? &profile : nullptr);
  print_introduction(trainer);
  std::optional<Progress> progress(std::in_place, trainer);
  const Trainer::Outcome outcome = trainer.run(*progress, stop_requested);
  const std::string remarks[] = {remark_on_optimizer(progress->optimizer_share()), progress->remark_on_ranks()};
  const bool losses_fall = progress->losses_fall();
  const double evaluated = progress->end_probability();
  progress.reset();  // removes its line
  // Print where the time went.
  for (const std::string& remark : remarks) {
    if (!remark.empty()) {
      print_message(remark);
    }
  }
  if (options.profile) {
    print_message(profile.table());
  }
  // Print the result, or how to continue.
  const std::string directory = trainer.directory().string();
  if (outcome == Trainer::Outcome::stopped) {
    const int code = exit_code_of_stop(trainer);
    print_message(fmt::format("stopped at step {} and saved{}", trainer.state().step,
                              options.is_stage ? "" : "; continue with: dikkat resume " + directory));
    return code;
  }
  print_end(trainer);
  warn_of_endless_answers(trainer, std::isnan(evaluated) ? end_probability_in_training(trainer) : evaluated);
  if (options.finished) {
    options.finished(trainer, losses_fall);
  }
  if (!options.is_stage) {
    print_result(directory + '\n');
    flush_results();
  }
  return 0;
}

}  // namespace dikkat
