#include "train/cli/commands/train_command.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "autograd/base/parallel.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/commands.h"
#include "train/cli/commands/resume_command.h"
#include "train/cli/run_training.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/cli/with_ranks.h"
#include "train/config/resolve.h"
#include "train/run/trainer.h"
#include "train/run/verify_resume.h"
#include "train/system/new_folder.h"

namespace dikkat {
namespace {

/// Implements --verify-resume. It works in a hidden folder next to the run directory, on the same disk.
int verify(const Config& config, const std::filesystem::path& out) {
  constexpr index kSteps = 6;
  stop_in_order();
  announce_corpus(config.data.training_paths());
  struct StoppedWhileLoading {};
  const LoadingProgress loading = [](const LoadingReport&) {
    if (stop_requested()) {
      throw StoppedWhileLoading();
    }
  };
  const NewFolder scratch(out.string() + ".verify");  // never gets that name
  const auto proof = [&]() -> std::optional<ResumeProof> {
    ShareLine line("training");
    try {
      return verify_resume(config, kSteps, scratch.path() / "runs", loading, stop_requested, std::ref(line));
    } catch (const StoppedWhileLoading&) {
      return std::nullopt;
    }
  }();
  if (!proof) {
    return 128 + stop_signal();
  }
  const std::string what = fmt::format("{} steps on {}, and {} steps, a stop, and {} more on {}", proof->steps,
                                       counted(thread_count(), "thread"), proof->stop, proof->steps - proof->stop, proof->other_threads);
  require(proof->difference.empty(), what, ", do not give the same bytes: ", proof->difference,
          " differs. Either the program has a bug or the machine is faulty (memory, an overclocked core): please report it");
  print_result(fmt::format("{}, give the same bytes: {}\n", what, proof->hash));
  flush_results();
  return 0;
}

/// Fits the configuration of a new run to several ranks. Throws InputError if they cannot share it.
void share_with(Ranks& ranks, Config& config, bool verify_resume) {
  const index passes = config.train.gradient_accumulation_steps;
  require_input(config.train.lanes.is_set() || passes % ranks.size() == 0, ranks.size(),
                " processes share the micro-batches of a step, but train.gradient_accumulation_steps is ", passes,
                ", not a multiple of their number: --set train.gradient_accumulation_steps=", round_up(passes, ranks.size()));
  config.train.lanes.derive(ranks.size());
  validate(config);
  require_input(!verify_resume,
                "--verify-resume runs in one process; start it without mpirun. train.lanes=N checks the sums of N processes");
  const auto texts = config.data.training_paths();
  require_input(std::ranges::find(texts, "-") == texts.end(),
                "the corpus is standard input, which only one process can read: give a file or a folder that all ", ranks.size(),
                " processes can read");
  ranks.set_timeout(config.train.rank_timeout);
}

/// Makes the run on all ranks. Its folder is removed again if a rank other than the first fails.
std::unique_ptr<Trainer> new_trainer(Config config, const NewRunPath& out, const RunLength& length, const std::shared_ptr<Ranks>& ranks) {
  std::unique_ptr<Trainer> trainer;
  try {
    ranks->run_on_all([&] {
      LoadingLine line;
      // NOLINTNEXTLINE(modernize-make-unique): a Trainer cannot be moved
      trainer.reset(new Trainer(Trainer::start(std::move(config), out, std::ref(line), ranks, length)));
    });
  } catch (const CollectiveError&) {
    if (trainer) {
      trainer->discard();
    }
    throw;
  }
  return trainer;
}

int train_new_run(const TrainArguments& arguments, const std::shared_ptr<Ranks>& ranks) {
  start_threads();
  // Read the configuration.
  Config config;
  std::vector<std::string> written;
  ranks->run_on_all([&] {
    config = configuration_of(arguments.run, {}, &written);
    if (ranks->size() > 1) {
      share_with(*ranks, config, arguments.verify_resume);
    }
  });
  report_chosen_origin(config.train.init_from);
  const index wanted_tokens = config.tokenizer.path.empty() && config.train.init_from.empty() ? config.tokenizer.vocab_size : 0;
  const NewRunPath out = new_run_path(arguments.out, arguments.run.config);
  if (arguments.verify_resume) {
    return verify(config, out.free_now());
  }
  // Read the corpus and make the run, or find the one that --out continues.
  const auto trainer = new_trainer(std::move(config), out, arguments.length, ranks);
  print_remarks(*trainer, written);
  if (report_if_finished(*trainer, {}, arguments.out)) {
    print_result(arguments.is_stage ? "" : arguments.out + '\n');
    flush_results();
    return 0;
  }
  if (const index tokens = trainer->data().tokenizer->vocab_size(); trainer->data().tokenizer->kind() == "bpe" && tokens < wanted_tokens) {
    print_message(fmt::format(
        "the vocabulary has {} tokens instead of {}: no pair of tokens occurs twice in the text, so there is nothing left to merge",
        grouped_digits(tokens), grouped_digits(wanted_tokens)));
  }
  return train_to_end(*trainer, {.profile = arguments.profile, .is_stage = arguments.is_stage, .finished = arguments.finished});
}

}  // namespace

void add_epochs(Command& command, RunLength& length) {
  command.number("--epochs", length.epochs, 0.001, 1e6,
                 "Train for N epochs instead of train.max_steps steps: each window of the text is read N times. With several sources, "
                 "the epochs of the first one count");
}

int train_command(const TrainArguments& arguments) {
  require_input(arguments.length.epochs == 0 || arguments.length.is_default || !is_set(arguments.run, "train.max_steps"),
                "--epochs and train.max_steps both set the length of the run; give only one of them");
  return with_ranks([&](const std::shared_ptr<Ranks>& ranks) { return train_new_run(arguments, ranks); });
}

void add_train(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat train --config quickstart
  dikkat train --config quickstart --corpus my-text.txt notes/ --out runs/mine --set train.max_steps=500 model.n_layer=6
  dikkat train --config quickstart --corpus letters/*.txt --init-from runs/mine --set optim.learning_rate=1e-4
  dikkat train --config quickstart --verify-resume
  zcat dump.jsonl.gz | grep -v spam | dikkat train --config quickstart --corpus -
`dikkat --help-config` explains every key of a configuration.)";
  const auto a = std::make_shared<TrainArguments>();
  Command command = program.add("train", "Train a model on a corpus", kExamples, [a] { return train_command(*a); });
  command.text("--config", a->run.config, "FILE|NAME", kConfigHelp);
  command.texts("--corpus", a->run.corpus, "PATH",
                "Text files and folders to train on, or pairs (.tsv) for an encoder-decoder; replaces data.corpus");
  add_evaluate(command, a->run.evaluate);
  add_epochs(command, a->length);
  command.text(
      "--out", a->out, "DIR",
      "Run directory to create; by default runs/NAME after the configuration, or runs/NAME-2, ... if that exists. A run of the same "
      "configuration that was interrupted there continues");
  command.list("--columns", a->run.columns, kColumnsType, kColumnsHelp);
  command.texts("--set", a->run.set, "KEY=VALUE", kSetHelp);
  command.text("--init-from", a->run.init_from, "RUN_DIR|FILE.h5", kInitFromHelp);
  command.flag("--profile", a->profile, kProfileHelp);
  command.flag("--verify-resume", a->verify_resume,
               "Do not train; check that a run with this configuration resumes to the same bits. Trains six steps in one go, then again "
               "with a stop in the middle and a different number of threads after it, and compares the checkpoints. Leaves no files");
}

}  // namespace dikkat
