#include <cmath>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "autograd/base/parallel.h"
#include "train/cli/commands.h"
#include "train/cli/progress.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/config/parse.h"
#include "train/loop/build_info.h"
#include "train/loop/trainer.h"

namespace dikkat {
namespace {

/// runs/NAME, or the first of runs/NAME-2, runs/NAME-3 ... that is free.
std::filesystem::path free_run_directory(const std::filesystem::path& config) {
  const std::filesystem::path base = std::filesystem::path("runs") / config.stem();
  std::filesystem::path path = base;
  for (index number = 2; std::filesystem::exists(path); ++number) {
    path = base.string() + "-" + std::to_string(number);
  }
  return path;
}

void introduce(const Trainer& trainer) {
  const Config& c = trainer.config();
  const TrainingData& data = trainer.data();
  const index step_tokens = c.train.batch_size * c.train.gradient_accumulation_steps * c.model.block_size;
  const index all_tokens = step_tokens * c.train.max_steps;
  const auto line = [](const char* name, const std::string& text) { tell(fmt::format("{:<10}{}", name, text)); };
  line("dikkat", fmt::format("{}, {}, {} thread{}", build_info().version, build_info().instruction_set, thread_count(),
                             thread_count() == 1 ? "" : "s"));
  line("model", fmt::format("{} with {} layers, {} heads, width {}, block {}, vocabulary {}: {} parameters", c.model.kind, c.model.n_layer,
                            c.model.n_head, c.model.n_embd, c.model.block_size, c.model.vocab_size,
                            short_count(trainer.model().parameters().parameter_count())));
  line("data", fmt::format("{} bytes in {} file{}; {} tokens for training, {} for validation ({} tokenizer)", grouped_digits(data.bytes),
                           data.documents, data.documents == 1 ? "" : "s", grouped_digits(data.train.size()),
                           grouped_digits(data.validation.size()), data.tokenizer->kind()));
  line("training",
       fmt::format("{} steps of {} tokens ({} x {} x {}), {} tokens, {:.1f} epochs", grouped_digits(c.train.max_steps),
                   grouped_digits(step_tokens), c.train.gradient_accumulation_steps, c.train.batch_size, c.model.block_size,
                   short_count(all_tokens), static_cast<double>(all_tokens) / static_cast<double>(trainer.windows() * c.model.block_size)));
  line("memory", fmt::format("{} for weights, gradients and moments; activations come on top",
                             short_bytes(static_cast<double>(trainer.parameter_bytes()))));
  line("run", trainer.directory().string());
  if (trainer.state().step > 0) {
    line("resumed", fmt::format("from step {} of {}", trainer.state().step, c.train.max_steps));
  }
}

int run(Trainer& trainer) {
  stop_in_order();
  introduce(trainer);
  Trainer::Outcome outcome{};
  {
    Progress progress(trainer);
    outcome = trainer.run(progress, [] { return stop_requested(); });
  }
  const std::string directory = trainer.directory().string();
  const TrainingState& state = trainer.state();
  if (outcome == Trainer::Outcome::stopped) {
    tell(fmt::format("stopped at step {} and saved; go on with: dikkat resume {}", state.step, directory));
    return 128 + stop_signal();
  }
  if (state.best_step >= 0) {
    tell(fmt::format("finished at step {}; best validation loss {:.4f} at step {}", state.step, state.best_val_loss, state.best_step));
  } else {
    tell(fmt::format("finished at step {}", state.step));
  }
  put(directory + '\n');
  flush_results();
  return 0;
}

}  // namespace

int train_command(const TrainArguments& arguments) {
  Config config = load_config(arguments.config);
  for (const std::string& assignment : arguments.set) {
    apply_override(config, assignment);
  }
  if (!arguments.corpus.empty()) {
    config.data.corpus = arguments.corpus;
  }
  resolve(config);
  validate(config);
  Trainer trainer = Trainer::start(std::move(config),
                                   arguments.out.empty() ? free_run_directory(arguments.config) : std::filesystem::path(arguments.out));
  return run(trainer);
}

int resume_command(const ResumeArguments& arguments) {
  Trainer trainer = Trainer::resume(arguments.run_directory,
                                    {.overrides = arguments.set, .pick = arguments.latest_good ? Pick::latest_good : Pick::newest});
  const TrainingState& state = trainer.state();
  if (trainer.finished()) {
    tell(fmt::format("{} is finished: step {} of {}. To train on: dikkat resume {} --set train.max_steps=N", arguments.run_directory,
                     state.step, trainer.config().train.max_steps, arguments.run_directory));
    return 0;
  }
  return run(trainer);
}

}  // namespace dikkat
