#include "train/cli/commands/train_command.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "autograd/base/cores.h"
#include "autograd/base/parallel.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/commands.h"
#include "train/cli/commands/assistant_command.h"
#include "train/cli/effect_notes.h"
#include "train/cli/plan_text.h"
#include "train/cli/progress.h"
#include "train/cli/shared_options.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/cli/with_ranks.h"
#include "train/config/override.h"
#include "train/config/resolve.h"
#include "train/data/corpus/corpus_files.h"
#include "train/machine/rate.h"
#include "train/model/precision.h"
#include "train/run/assistant_plan.h"
#include "train/run/build_info.h"
#include "train/run/trainer.h"
#include "train/run/verify_resume.h"
#include "train/system/machine_memory.h"
#include "train/system/new_folder.h"

namespace dikkat {
namespace {

constexpr const char* kProfileHelp = "At the end, print a table of the time spent in each operation";

/// Describes the length of the run: "2,000 steps of 768 tokens (1 x 12 x 64), 1.5 M tokens, 1.5 epochs". With an accumulation schedule it
/// has "768 to 1,536 tokens (1 to 2 x 12 x 64)"; for pairs "300 steps of 32 pairs (1 x 32), 9,600 pairs, 240.0 epochs".
std::string training_plan(const Trainer& trainer) {
  const Config& c = trainer.config();
  const bool is_gpt = trainer.model().is_gpt();
  const index size = is_gpt ? trainer.loader().longest().cols : 1;
  const char* unit = is_gpt ? "tokens" : "pairs";
  const TrainingState& state = trainer.state();
  const Accumulation& passes = trainer.accumulation();
  const index samples = state.samples_seen + c.train.batch_size * passes.passes(state.step, c.train.max_steps);
  const auto from_to = [](const std::string& least, const std::string& most) { return least == most ? most : least + " to " + most; };
  const index pass = c.train.batch_size * size;
  return fmt::format("{} steps of {} {} ({} x {}{}), {} {}, {:.1f} epochs", grouped_digits(c.train.max_steps),
                     from_to(grouped_digits(passes.fewest() * pass), grouped_digits(passes.most() * pass)), unit,
                     from_to(fmt::to_string(passes.fewest()), fmt::to_string(passes.most())), c.train.batch_size,
                     is_gpt ? fmt::format(" x {}", size) : "", short_count(samples * size), unit,
                     static_cast<double>(samples) / static_cast<double>(trainer.loader().epoch_size()));
}

/// A remark on a run that reads its text many times; empty for other runs. The bound is from Muennighoff et al. 2023, "Scaling
/// Data-Constrained Language Models" (arXiv 2305.16264): up to 4 epochs are nearly as good as new text, and after about 16 epochs further
/// ones gain little.
std::string remark_on_epochs(const Trainer& trainer) {
  constexpr double kMany = 16;
  const Config& c = trainer.config();
  const TrainingState& state = trainer.state();
  const index samples = state.samples_seen + c.train.batch_size * trainer.accumulation().passes(state.step, c.train.max_steps);
  std::string remark;
  for (std::size_t i = 0; trainer.model().is_gpt() && i < trainer.data().sources.size(); ++i) {
    if (const double epochs = trainer.loader().epochs(static_cast<index>(i), samples); epochs > kMany) {
      const std::string& name = trainer.data().sources[i].name;
      remark += fmt::format("{}{} will be read {:.0f} times", remark.empty() ? "" : ", and ",
                            name.empty() ? "the text" : for_terminal(name), epochs);
    }
  }
  return remark.empty()
             ? ""
             : remark +
                   ": after about 16 times a model learns little more and starts to memorize; watch the validation loss, and train for "
                   "fewer epochs (--epochs) or on more text";
}

/// "stories: a.txt, 0.75 of all windows; 12,345 tokens for training, 1,234 for validation; 2.1 epochs".
std::string source_line(const Trainer& trainer, std::size_t i) {
  const DataSource& named = trainer.config().data.sources[i];
  const SourceData& source = trainer.data().sources[i];
  const TrainingState& state = trainer.state();
  const index samples =
      state.samples_seen + trainer.config().train.batch_size * trainer.accumulation().passes(state.step, trainer.config().train.max_steps);
  return fmt::format("{}: {}{}, {:.3g} of all windows; {} tokens for training, {} for validation; {:.3g} epochs", for_terminal(named.name),
                     names_of(named.corpus), named.validation.empty() ? "" : ", validated on " + names_of(named.validation), source.share,
                     grouped_digits(source.train->size().tokens), grouped_digits(source.validation->size().tokens),
                     trainer.loader().epochs(static_cast<index>(i), samples));
}

/// A remark at the end of a run whose optimizer took much of the time; empty for other runs.
std::string remark_on_optimizer(double share) {
  constexpr double kMuch = 0.15;
  return share > kMuch ? fmt::format(
                             "the optimizer took {:.0f}% of the training time; larger steps (train.batch_size, "
                             "train.gradient_accumulation_steps) lower this share",
                             100 * share)
                       : "";
}

/// A remark on a model that has not learned to end its answers; empty for other models. A base that has never seen the end token gives it
/// about 1 / vocabulary. Adapters cannot change that unless embedding and head are trained with them.
std::string remark_on_ends(const Trainer& trainer, double end_probability) {
  constexpr double kLikely = 0.1;  // an answer then ends within about ten tokens of its right end
  if (!(end_probability < kLikely)) {
    return "";
  }
  const Config& c = trainer.config();
  const bool is_head_frozen = !trainer.model().head().record()->needs_gradient;
  return fmt::format(
      "warning: where an answer ends, the model gives its end token a mean probability of {:.2g}, so its answers will hardly stop. {}",
      end_probability,
      c.lora.rank > 0 && is_head_frozen
          ? fmt::format("Adapters do not change how often a base that has not seen this token writes it: train its embedding and head, too "
                        "(--set lora.modules_to_save=embedding,head), or all weights (dikkat finetune {} --full --set "
                        "optim.learning_rate=2e-4)",
                        c.train.init_from)
          : fmt::format("Train longer, or with a higher rate than optim.learning_rate = {}", c.optim.learning_rate));
}

/// "1, 2, 4 or 8".
std::string numbers_of_ranks(index lanes) {
  std::string list = "1";
  for (index ranks = 2; ranks <= lanes; ranks *= 2) {
    list += (ranks == lanes ? " or " : ", ") + fmt::to_string(ranks);
  }
  return list;
}

/// "node1", or "node1, node2 and 6 others".
std::string hosts_of(const Ranks& ranks) {
  std::vector<std::string> hosts = ranks.hosts();
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts.size() <= 2 ? fmt::to_string(fmt::join(hosts, " and "))
                           : fmt::format("{}, {} and {} others", hosts[0], hosts[1], hosts.size() - 2);
}

void introduce(const Trainer& trainer) {
  const Config& c = trainer.config();
  const TrainingData& data = trainer.data();
  static constexpr int kLabel = 10;
  const auto print_line = [](const char* name, const std::string& text) {
    print_message(fmt::format("{:<{}}{}", name, kLabel, text), kLabel);
  };
  const auto warning = [](const std::string& text) { warn(fmt::format("{:<{}}{}", "warning", kLabel, text), kLabel); };
  const ReferenceRate& reference = trainer.reference_rate();
  const std::string measured = fmt::format("{} matrix products measured at ", name_of(trainer.config().train.precision));
  const std::string rate = reference.is_known()
                               ? fmt::format("{}{:.0f} GFLOP/s (MFU is relative to this)", measured, reference.highest() * 1e-9)
                               : fmt::format(
                                     "{}{:.0f} to {:.0f} GFLOP/s, which is too uncertain for MFU; MFU is shown once two "
                                     "measurements agree",
                                     measured, reference.lowest() * 1e-9, reference.highest() * 1e-9);
  print_line("dikkat", fmt::format("{}, {}, {} thread{}; {}", build_info().version, build_info().instruction_set, thread_count(),
                                   thread_count() == 1 ? "" : "s", rate));
  if (const int cores = usable_cores(); thread_count() > cores) {
    warning(
        fmt::format("{} threads share the {} core{} that this process may use, which is slower than {} threads; "
                    "see --threads and OMP_NUM_THREADS",
                    thread_count(), cores, cores == 1 ? "" : "s", cores));
  }
  print_line("model", fmt::format("{} with {} layers, {} heads, width {}, block {}, vocabulary {}: {} parameters", name_of(c.model.kind),
                                  c.model.n_layer, c.model.n_head, c.model.n_embd, c.model.block_size, grouped_digits(c.model.vocab_size),
                                  short_count(trainer.model().parameters().parameter_count())));
  if (trainer.model().is_gpt() && *c.data.window < c.model.block_size) {
    print_line("window", fmt::format("{} tokens (data.window); the model keeps its context of {} (model.block_size)",
                                     grouped_digits(c.data.window), grouped_digits(c.model.block_size)));
  }
  if (c.lora.rank > 0) {
    index trained = 0;
    for (const ParameterStore::Entry* entry : trainer.model().parameters().trainable()) {
      trained += entry->size();
    }
    print_line(
        "adapters",
        fmt::format("LoRA rank {}: {} trainable parameters{}, {} is frozen{}", c.lora.rank, short_count(trained),
                    c.lora.modules_to_save.empty() ? ""
                                                   : fmt::format(" with lora.modules_to_save = {}",
                                                                 for_terminal(fmt::format("{}", fmt::join(c.lora.modules_to_save, ", ")))),
                    c.train.init_from, c.lora.base == PackedType::f32 ? "" : fmt::format(", packed as {}", name_of(c.lora.base))));
  }
  if (c.data.sources.empty()) {
    print_line("corpus", names_of(c.data.corpus) + (c.data.validation.empty() ? "" : ", validated on " + names_of(c.data.validation)));
  }
  for (std::size_t i = 0; i < c.data.sources.size(); ++i) {
    print_line("source", source_line(trainer, i));
  }
  for (const EvaluationSource& text : c.data.evaluations) {
    print_line("evaluates", fmt::format("{}: {}", for_terminal(text.name), names_of(text.corpus)));
  }
  print_line("data", fmt::format("{} bytes in {} file{}{}; {} tokens for training, {} for validation ({} tokenizer)",
                                 grouped_digits(data.bytes), grouped_digits(data.files), data.files == 1 ? "" : "s",
                                 data.documents == data.files ? "" : fmt::format(", {} documents", grouped_digits(data.documents)),
                                 grouped_digits(data.train_tokens()), grouped_digits(data.validation_tokens()), data.tokenizer->kind()));
  for (const std::string& note : data.notes) {
    print_line("note", note);
  }
  print_line("training", training_plan(trainer));
  if (const std::string remark = remark_on_epochs(trainer); !remark.empty()) {
    print_line("note", remark);
  }
  print_line("memory", memory_line(trainer.memory_plan(), machine_memory()));
  print_line("disk", disk_line(trainer.disk_plan(), trainer.directory()));
  if (const std::string shortage = shortage_of_memory(trainer.memory_plan(), machine_memory()); !shortage.empty()) {
    warning(shortage);
  }
  // Only a new run is checked: a resumed one has written some of its checkpoints already.
  if (const std::string shortage = shortage_of_disk(trainer.disk_plan(), trainer.directory());
      !shortage.empty() && trainer.state().step == 0) {
    warning(shortage);
  }
  if (!c.train.init_from.empty() && trainer.state().step == 0) {
    print_line("weights", "from " + c.train.init_from);
  }
  print_line("run", trainer.directory().string());
  if (const Ranks& ranks = trainer.ranks(); ranks.size() > 1) {
    print_line("ranks", fmt::format("{} on {}, {} thread{} each; {} lanes give the same bits on {} ranks (train.lanes); {}", ranks.size(),
                                    hosts_of(ranks), thread_count(), thread_count() == 1 ? "" : "s", index{c.train.lanes},
                                    numbers_of_ranks(c.train.lanes), ranks.transport_name()));
    if (const long all = ::sysconf(_SC_NPROCESSORS_ONLN); usable_cores() * ranks.on_this_host() < all) {
      warning(
          fmt::format("the launcher binds each rank to {} of this machine's {} cores; mpirun --bind-to none or srun "
                      "--cpus-per-task gives it more",
                      usable_cores(), all));
    }
  }
  if (trainer.state().step > 0) {
    print_line("resumed", fmt::format("from step {} of {}", trainer.state().step, c.train.max_steps));
  }
}

void note_without_effect(const Trainer& trainer, std::span<const std::string> keys) {
  if (trainer.ranks().is_first()) {
    const PlannedRun run = trainer.planned();
    note_keys_without_effect(std::span(&run, 1), keys);
  }
}

/// Returns the exit code of a run that was stopped by a signal to this process or to another rank. All ranks call it.
int exit_code_of_stop(Trainer& trainer) { return 128 + trainer.ranks().largest(stop_signal()); }

/// Trains on a rank other than the first. It prints nothing.
int train_quietly(Trainer& trainer) {
  stop_in_order();
  trainer.measure_gemm_rate([&] { return gemm_rate(operand_type(trainer.config().train)); });
  TrainingEvents nobody;
  return trainer.run(nobody, [] { return stop_requested(); }) == Trainer::Outcome::stopped ? exit_code_of_stop(trainer) : 0;
}

/// Trains, and prints the introduction, the progress and, unless `is_stage`, the result. Returns the exit code.
int train_and_report(Trainer& trainer, bool with_profile, bool is_stage, const TrainArguments::Finished& finished = {}) {
  if (!trainer.ranks().is_first()) {
    return train_quietly(trainer);
  }
  stop_in_order();
  trainer.measure_gemm_rate([&] { return gemm_rate(operand_type(trainer.config().train)); });
  Profile profile;
  trainer.set_profile(with_profile ? &profile : nullptr);
  introduce(trainer);
  Trainer::Outcome outcome{};
  std::string remark, exchanged;
  bool losses_fall = false;
  double end_probability = 1;
  {
    Progress progress(trainer);
    outcome = trainer.run(progress, [] { return stop_requested(); });
    remark = remark_on_optimizer(progress.optimizer_share());
    exchanged = progress.remark_on_ranks();
    losses_fall = progress.losses_fall();
    end_probability = progress.end_probability();
  }
  for (const std::string& sentence : {remark, exchanged}) {
    if (!sentence.empty()) {
      print_message(sentence);
    }
  }
  if (with_profile) {
    print_message(profile.table());
  }
  const std::string directory = trainer.directory().string();
  const TrainingState& state = trainer.state();
  if (outcome == Trainer::Outcome::stopped) {
    const int code = exit_code_of_stop(trainer);
    print_message(
        fmt::format("stopped at step {} and saved{}", state.step, is_stage ? "" : concat("; continue with: dikkat resume ", directory)));
    return code;
  }
  if (trainer.out_of_patience() && state.step < trainer.config().train.max_steps) {
    const std::string_view metric = trainer.objective().decided_by();
    const std::string what = metric.empty() ? "the validation loss did not fall" : concat(metric, " did not rise");
    print_message(fmt::format("ended early at step {} of {}: {} in the last {} evaluations (train.patience)", state.step,
                              trainer.config().train.max_steps, what, trainer.config().train.patience));
  }
  if (state.best_step >= 0) {
    const std::string accuracy = state.best_accuracy >= 0 ? fmt::format(" with accuracy {:.3f}", state.best_accuracy) : "";
    print_message(fmt::format("finished at step {}; best validation loss {:.4f}{} at step {}", state.step, state.best_val_loss, accuracy,
                              state.best_step));
  } else {
    print_message(fmt::format("finished at step {}", state.step));
  }
  if (const std::string lack = remark_on_ends(trainer, end_probability); !lack.empty()) {
    warn(lack);
  }
  if (finished) {
    finished(trainer, losses_fall);
  }
  if (!is_stage) {
    print_result(directory + '\n');
    flush_results();
  }
  return 0;
}

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
  const std::string what = fmt::format("{} steps on {} thread{}, and {} steps, a stop, and {} more on {}", proof->steps, thread_count(),
                                       thread_count() == 1 ? "" : "s", proof->stop, proof->steps - proof->stop, proof->other_threads);
  require(proof->difference.empty(), what, ", do not give the same bytes: ", proof->difference,
          " differs. Either the program has a bug or the machine is faulty (memory, an overclocked core): please report it");
  print_result(fmt::format("{}, give the same bytes: {}\n", what, proof->hash));
  flush_results();
  return 0;
}

}  // namespace

namespace {

/// Makes a trainer with make(line). Either all ranks get one or none does. If `is_new`, make() creates the run's folder, which is removed
/// again if another rank fails.
template <class F>
std::unique_ptr<Trainer> make_trainer(Ranks& ranks, bool is_new, F&& make) {
  std::unique_ptr<Trainer> trainer;
  try {
    ranks.run_on_all([&] {
      LoadingLine line;
      trainer.reset(new Trainer(make(line)));  // NOLINT(modernize-make-unique): a Trainer cannot be moved
    });
  } catch (const CollectiveError&) {
    if (trainer && is_new) {
      trainer->discard();
    }
    throw;
  }
  return trainer;
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

/// The settings that let a finished run train on. optim.decay_steps is among them if the schedule has ended at its lowest rate and does not
/// follow train.max_steps.
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

/// Returns whether all steps of a run are done, after printing so. `set` has the settings of this command. Only the first rank reads the
/// metrics, and so knows whether the last step was evaluated.
bool is_finished(const Trainer& trainer, const std::vector<std::string>& set, const std::string& run) {
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

int train_new_run(const TrainArguments& arguments, const std::shared_ptr<Ranks>& ranks) {
  start_threads();
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
  const auto trainer = make_trainer(
      *ranks, true, [&](LoadingLine& line) { return Trainer::start(std::move(config), out, std::ref(line), ranks, arguments.length); });
  for (const std::string& what : trainer->remarks()) {
    print_message(what);
  }
  note_without_effect(*trainer, written);
  if (is_finished(*trainer, {}, arguments.out)) {
    print_result(arguments.is_stage ? "" : arguments.out + '\n');
    flush_results();
    return 0;
  }
  if (const index tokens = trainer->data().tokenizer->vocab_size(); trainer->data().tokenizer->kind() == "bpe" && tokens < wanted_tokens) {
    print_message(fmt::format(
        "the vocabulary has {} tokens instead of {}: no pair of tokens occurs twice in the text, so there is nothing left to merge",
        grouped_digits(tokens), grouped_digits(wanted_tokens)));
  }
  return train_and_report(*trainer, arguments.profile, arguments.is_stage, arguments.finished);
}

}  // namespace

void add_epochs(Command& command, RunLength& length) {
  command.number("--epochs", length.epochs, 0.001, 1e6,
                 "Train for N epochs instead of train.max_steps steps: each window of the text is read N times. With several sources, "
                 "the epochs of the first one count");
}

bool is_set(const RunOptions& run, const char* key) {
  return std::ranges::any_of(run.set, [&](const std::string& setting) { return setting.starts_with(concat(key, '=')); });
}

int train_command(const TrainArguments& arguments) {
  require_input(arguments.length.epochs == 0 || arguments.length.is_default || !is_set(arguments.run, "train.max_steps"),
                "--epochs and train.max_steps both set the length of the run; give only one of them");
  return with_ranks([&](const std::shared_ptr<Ranks>& ranks) { return train_new_run(arguments, ranks); });
}

namespace {

int resume_run(const ResumeArguments& arguments, const std::shared_ptr<Ranks>& ranks) {
  start_threads();
  const auto trainer = make_trainer(*ranks, false, [&](LoadingLine& line) {
    try {
      return Trainer::resume(arguments.run_directory,
                             {.overrides = arguments.set,
                              .choice = arguments.latest_good ? CheckpointChoice::latest_good : CheckpointChoice::newest,
                              .base = arguments.base},
                             std::ref(line), ranks);
    } catch (const MissingCorpus& missing) {
      fail_input(missing.what(), ". If the text has moved: dikkat resume ", arguments.run_directory, " --set data.corpus=NEW_PATH");
    }
  });
  ranks->set_timeout(trainer->config().train.rank_timeout);
  for (const std::string& what : trainer->remarks()) {
    print_message(what);
  }
  std::vector<std::string> written;
  std::ranges::transform(arguments.set, std::back_inserter(written), key_of_override);
  note_without_effect(*trainer, written);
  if (is_finished(*trainer, arguments.set, arguments.run_directory)) {
    if (!arguments.base.empty()) {
      print_message(
          "the checkpoints are unchanged and do not record the new place of the base: eval, sample, chat, serve, export and merge need "
          "--base too");
    }
    return 0;
  }
  return train_and_report(*trainer, arguments.profile, arguments.is_stage);
}

}  // namespace

int resume_command(const ResumeArguments& arguments) {
  return with_ranks([&](const std::shared_ptr<Ranks>& ranks) { return resume_run(arguments, ranks); });
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
  command.texts("--set", a->run.set, "KEY=VALUE", kSetHelp);
  command.text("--init-from", a->run.init_from, "RUN_DIR|FILE.h5", kInitFromHelp);
  command.flag("--profile", a->profile, kProfileHelp);
  command.flag("--verify-resume", a->verify_resume,
               "Do not train; check that a run with this configuration resumes to the same bits. Trains six steps in one go, then again "
               "with a stop in the middle and a different number of threads after it, and compares the checkpoints. Leaves no files");
}

void add_resume(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat resume runs/mine
  dikkat resume runs/mine --set train.max_steps=4000)";
  const auto a = std::make_shared<ResumeArguments>();
  Command command = program.add("resume", "Continue a run from its newest checkpoint, to the same bits as a run that never stopped",
                                kExamples, [a] { return is_assistant(a->run_directory) ? resume_assistant(*a) : resume_command(*a); });
  command.text("RUN_DIR", a->run_directory, "", "The run directory, or the folder of `dikkat assistant`").required();
  command.texts("--set", a->set, "KEY=VALUE",
                "Change a key, as section.key=value, such as train.max_steps=4000; the checkpoints record the change");
  command.text("--base", a->base, "PATH", kBaseHelp);
  command.flag("--latest-good", a->latest_good, "If the newest checkpoint is damaged, continue from the newest one that is not");
  command.flag("--profile", a->profile, kProfileHelp);
}

}  // namespace dikkat
