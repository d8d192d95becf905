#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "autograd/base/parallel.h"
#include "autograd/base/seconds_since.h"
#include "train/cli/commands.h"
#include "train/cli/effect_notes.h"
#include "train/cli/run_options.h"
#include "train/cli/shared_options.h"
#include "train/cli/sweep_table.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/config/problems.h"
#include "train/config/value.h"
#include "train/data/corpus/corpus_files.h"
#include "train/run/absolute_paths.h"
#include "train/run/pace.h"
#include "train/sweep/grid.h"
#include "train/sweep/late_keys.h"
#include "train/sweep/train_leg.h"
#include "train/system/free_space.h"

namespace dikkat {
namespace {

struct SweepArguments {
  RunOptions run;
  std::vector<std::string> vary;
  std::string seeds;
  index eta = 3;
  bool no_halving = false;
  std::string budget;
  std::string out = "runs/sweep";
  std::string resume;
  bool json = false;
  std::vector<std::string> given;  // the options in use that --resume takes from the folder
};

/// Parses --budget, such as "90s", "30m" or "1.5h", into seconds.
double seconds_of_budget(const std::string& text) {
  const auto seconds = duration_in_seconds(text);
  require_input(seconds.has_value(), "--budget is ", schema::in_quotes(text), ", expected a time such as 90s, 30m or 2h");
  return *seconds;
}

/// Returns why a sweep cannot use runs of this configuration; empty if it can.
std::string objection_to(const Config& c, bool halving, const std::vector<std::string>& vary) {
  const std::vector<DataSource> sources = c.data.all_sources();
  if (c.data.val_fraction == 0 && std::ranges::all_of(sources, [](const DataSource& source) { return source.validation.empty(); })) {
    return "a sweep compares validation losses, but there is no text to validate on: set data.val_fraction or data.validation";
  }
  const std::vector<std::string> corpus = c.data.training_paths();
  if (std::ranges::find(corpus, kStandardInput) != corpus.end()) {
    return "the corpus is standard input, which can be read only once, but a sweep reads it for each run: give a file";
  }
  if (c.train.patience > 0) {
    return "train.patience ends runs early, but a sweep compares runs after equal numbers of steps and stops the worse ones itself: leave "
           "it out";
  }
  if (halving && std::any_of(vary.begin(), vary.end(), [](const std::string& v) { return v.starts_with("train.max_steps="); })) {
    return "train.max_steps varies, but halving compares runs after equal numbers of steps: add --no-halving";
  }
  return "";
}

/// Collects what is wrong with the combinations. A problem that all of them have is reported only once.
class Refusals {
 public:
  explicit Refusals(std::size_t combinations) : combinations_(combinations) {}
  void add(const std::string& name, const std::string& what) { found_.emplace_back(name, what); }
  void throw_if_any() const {
    schema::Problems problems;
    const bool all_same = found_.size() == combinations_ &&
                          std::all_of(found_.begin(), found_.end(), [&](const auto& f) { return f.second == found_.front().second; });
    for (const auto& [name, what] : found_) {
      problems.add(all_same || name.empty() ? what : concat(name, ": ", what));
      if (all_same) {
        break;
      }
    }
    problems.throw_if_any();
  }

 private:
  std::size_t combinations_;
  std::vector<std::pair<std::string, std::string>> found_;
};

/// Returns the sweep that the arguments describe, with every combination resolved and checked, but without times. Sets `written` to the
/// keys that the user gave.
SweepDescription described(const SweepArguments& a, std::vector<std::string>& written) {
  // Read what varies.
  const std::vector<Variation> variations = parse_variations(a.vary);
  SweepDescription sweep{
      .combinations = {}, .seeds = a.seeds.empty() ? std::vector<index>() : parse_seeds(a.seeds), .eta = a.no_halving ? 0 : a.eta};
  require_input(!variations.empty() || sweep.seeds.size() > 1,
                "nothing varies: add --vary section.key=value,value, for example --vary optim.learning_rate=1e-3,2e-3, or several --seeds");
  for (const Variation& v : variations) {
    const auto sets = [&](const std::string& assignment) { return assignment.substr(0, assignment.find('=')) == v.key; };
    require_input(std::none_of(a.run.set.begin(), a.run.set.end(), sets), v.key, " is set by --set and varied by --vary: leave one out");
  }
  // Resolve and check every combination.
  const std::vector<GridPoint> points = grid_of(variations);
  Refusals refusals(points.size());
  TrainConfig defaults;
  defaults.keep_last = 1;
  for (const GridPoint& point : points) {
    RunOptions run = a.run;
    run.set.insert(run.set.end(), point.assignments.begin(), point.assignments.end());
    try {
      Config config = configuration_of(run, defaults, &written);
      make_absolute(config);
      if (const std::string objection = objection_to(config, !a.no_halving, a.vary); !objection.empty()) {
        fail_input(objection);
      }
      sweep.combinations.push_back({.name = point.name, .config = std::move(config)});
    } catch (const InputError& error) {
      refusals.add(point.name, error.what());
    }
  }
  refusals.throw_if_any();
  // All combinations begin with the first seed.
  if (sweep.seeds.empty()) {
    sweep.seeds = {sweep.combinations.front().config.train.seed};
  }
  for (Combination& c : sweep.combinations) {
    c.config.train.seed = sweep.seeds.front();
  }
  return sweep;
}

/// Throws InputError if combinations score different tokens, since then their losses cannot be compared. `scored` has each combination's
/// name and scored tokens.
void require_comparable(const std::vector<std::pair<std::string, LossFingerprint>>& scored) {
  if (scored.empty()) {
    return;
  }
  const std::string& name = scored.front().first;
  const LossFingerprint& of_first = scored.front().second;
  const auto other = std::ranges::find_if(scored, [&](const auto& one) { return one.second.targets != of_first.targets; });
  if (other != scored.end()) {
    fail_input("the validation losses of ", name, " and ", other->first, " are over different tokens, so a sweep cannot compare them",
               name.find("chat.loss=") == std::string::npos
                   ? ""
                   : "; score the same tokens in all of them, for example with --set chat.eval_loss=answers");
  }
  const auto seen = std::ranges::find_if(scored, [&](const auto& one) { return one.second.contexts != of_first.contexts; });
  if (seen != scored.end()) {
    warn_labeled("note", concat(name, " and ", seen->first,
                                " predict the same tokens from different contexts: a lower loss may be due to the context"));
  }
}

/// Refuses to vary keys that have no effect, since all runs would be equal. Warns of other runs that are equal.
void check_effects(const SweepArguments& a, const SweepDescription& sweep, std::span<const PlannedRun> runs,
                   std::vector<std::string> written) {
  std::vector<std::string> varied;
  for (const Variation& v : parse_variations(a.vary)) {
    varied.push_back(v.key);
    std::erase(written, v.key);
  }
  if (const auto idle = keys_without_effect(runs, varied); !idle.empty()) {
    schema::Problems problems;
    for (const std::string& sentence : explain_without_effect(runs.front(), idle)) {
      problems.add(concat("--vary: ", sentence, "; runs that differ only in that would be equal"));
    }
    problems.throw_if_any();
  }
  note_keys_without_effect(runs, written);
  std::vector<Config> distinct;
  std::string repeated;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Config config = effective(runs[i]);
    if (std::ranges::find(distinct, config) == distinct.end()) {
      distinct.push_back(std::move(config));
    } else {
      append_to(repeated, concat(repeated.empty() ? "" : "; ", sweep.combinations[i].name));
    }
  }
  require_input(distinct.size() > 1 || runs.size() == 1,
                "--vary: all combinations give the same run, since their differences have no effect: vary a key that has one");
  if (!repeated.empty()) {
    warn_labeled("note", "equal to another combination, since the difference has no effect there: " + repeated);
  }
}

/// Tries each combination as `dikkat plan` does, so that a model that does not fit the memory or the text is found before anything runs.
void try_out(const SweepArguments& a, SweepDescription& sweep, const std::filesystem::path& out, const std::vector<std::string>& written) {
  constexpr index kSteps = 3;
  ShareLine progress("trying the combinations");
  Refusals refusals(sweep.combinations.size());
  std::vector<std::pair<std::string, LossFingerprint>> scored;
  std::size_t disk = 0;
  double done = 0;
  std::vector<PlannedRun> runs;
  // Plan each combination, and time some steps of it.
  for (Combination& c : sweep.combinations) {
    try {
      Trainer trainer = Trainer::plan(c.config);
      runs.push_back(trainer.planned());
      disk += trainer.disk_plan().total();
      c.seconds = pace_of(trainer, run_trial(trainer, kSteps)).seconds;
      scored.emplace_back(c.name, trainer.scored());
      if (!trainer.objective().decided_by().empty()) {
        scored.back().second.contexts.clear();  // their losses may differ, as a metric is compared
      }
    } catch (const Diverged&) {  // the run will report it
    } catch (const InputError& error) {
      refusals.add(c.name, error.what());
    }
    progress(++done / static_cast<double>(sweep.combinations.size()));
  }
  // Check that the losses can be compared, and that what varies has an effect.
  refusals.throw_if_any();
  require_comparable(scored);
  check_effects(a, sweep, runs, written);
  // Warn if the disk may become full.
  disk *= sweep.seeds.size();
  if (const auto free = free_space(out); free && *free < static_cast<index>(disk)) {
    warn_labeled("warning", concat("the runs' checkpoints may need ", short_bytes(disk), ", but ", short_bytes(*free), " are free"));
  }
}

SweepDirectory wanted_sweep(const SweepArguments& a) {
  std::vector<std::string> written;
  SweepDescription sweep = described(a, written);
  if (!SweepDirectory::is_one(a.out)) {
    SweepDirectory::require_usable(a.out);
    try_out(a, sweep, a.out, written);
    return SweepDirectory::create(a.out, std::move(sweep));
  }
  SweepDirectory there = SweepDirectory::open(a.out);
  const std::string difference = difference_between(there.description(), sweep);
  require_input(difference.empty(), a.out, " holds a different sweep: ", difference, ". Continue that one with `dikkat sweep --resume ",
                a.out, "`, or choose another --out");
  return there;
}

/// Estimates what is left of a sweep and how long it takes: from trials, corrected by the runs that have ended.
class SweepClock {
 public:
  explicit SweepClock(const SweepDirectory& directory) : plan_(directory.description().plan()) {
    for (const Combination& c : directory.description().combinations) {
      seconds_.push_back(c.seconds);
    }
  }
  Forecast left(const std::vector<LegResult>& ended) const {
    Forecast left = forecast(plan_, ended, seconds_);
    left.seconds *= correction_;
    return left;
  }
  /// Records how many seconds a leg took.
  void took(const Leg& leg, double seconds) {
    const auto c = static_cast<std::size_t>(leg.combination);
    expected_ += seconds_[c] * static_cast<double>(leg.steps - leg.from) / static_cast<double>(plan_.max_steps[c]);
    taken_ += seconds;
    correction_ = expected_ > 0 ? taken_ / expected_ : 1;
  }

 private:
  SweepPlan plan_;
  std::vector<double> seconds_;
  double expected_ = 0, taken_ = 0, correction_ = 1;
};

void introduce(const SweepDirectory& directory, const Forecast& left, const std::string& budget) {
  const SweepDescription& sweep = directory.description();
  const std::vector<index> rungs = sweep.plan().rungs();
  print_labeled("sweep", fmt::format("{}, {}", counted(std::ssize(sweep.combinations), "combination"),
                                     sweep.seeds.size() == 1 ? fmt::format("seed {}", sweep.seeds.front())
                                                             : fmt::format("seeds {}", fmt::join(sweep.seeds, ", "))));
  if (rungs.empty()) {
    print_labeled("halving", "none: every run trains to its end");
  } else {
    std::string steps;
    index count = static_cast<index>(sweep.combinations.size());
    for (const index rung : rungs) {
      steps += fmt::format("{}{} to step {}, ", count, steps.empty() ? " combinations" : "", grouped_digits(rung));
      count = survivors(count, sweep.eta);
    }
    print_labeled("halving",
                  fmt::format("{}{} to step {}{}", steps, count, grouped_digits(sweep.combinations.front().config.train.max_steps),
                              sweep.seeds.size() > 1 ? " with all seeds" : ""));
  }
  print_labeled("time", fmt::format("{}, at most, for {} in {}{}", left.seconds > 0 ? "about " + clock_time(left.seconds) : "unknown",
                                    counted(left.runs, "run"), counted(left.legs, "leg"), budget.empty() ? "" : "; stops after " + budget));
  print_labeled("out", directory.path().string());
  if (!directory.results().empty()) {
    print_labeled("continued", fmt::format("{} legs had ended before", directory.results().size()));
  }
}

/// Throws InputError if the sweep has runs whose losses cannot be compared: it may be from an older version, or its texts have changed.
void require_comparable(const SweepDirectory& directory, const std::vector<LegResult>& ended) {
  const auto found = find_incomparable(ended);
  if (found.first != nullptr) {
    const auto name = [&](const LegResult* result) { return directory.run_path(result->leg).string(); };
    fail_input("the losses of ", name(found.first), " and ", name(found.second),
               " are over different tokens, so the sweep cannot compare them; `dikkat runs diff` shows how the two differ");
  }
}

/// Warns if halving, which compares runs early, varies a key that shows its effect only at the end.
void warn_about_late_keys(const SweepArguments& a, const SweepDescription& sweep) {
  const std::vector<index> rungs = sweep.plan().rungs();
  std::string late;
  for (const Variation& v : rungs.empty() ? std::vector<Variation>() : parse_variations(a.vary)) {
    if (acts_late(v.key)) {
      append_to(late, concat(late.empty() ? "" : ", ", v.key));
    }
  }
  if (!late.empty()) {
    warn_labeled(
        "warning",
        fmt::format("halving stops runs as early as step {} of {}, but {} shows its effect late: the value that would be best at the "
                    "end may be stopped. With --no-halving every run trains to its end",
                    grouped_digits(rungs.front()), grouped_digits(sweep.combinations.front().config.train.max_steps), late));
  }
}

/// The progress of a leg. It may also be stopped by the budget, without a signal.
class LegProgress : public Progress {
 public:
  using Progress::Progress;
  std::string stopped() override { return stop_requested() ? Progress::stopped() : "budget"; }
};

/// Prints "leg 2 of 5 at most  optim.learning_rate=0.01,seed=1  to step 20  at most 0:12 left".
void announce(const Leg& leg, const SweepDescription& sweep, index number, const Forecast& left) {
  std::vector<LinePart> parts = {{fmt::format("leg {} of {} at most", number, number + left.legs - 1), 3},
                                 {sweep.run_name(leg.combination, leg.seed), 5},
                                 {fmt::format("to step {}", leg.steps), 4}};
  if (left.seconds > 0) {
    parts.push_back({fmt::format("at most {} left", clock_time(left.seconds)), 2});
  }
  print_message(fitted(std::move(parts), terminal_columns()));
}

/// Prints the table, and what to do next. Returns the exit code. Throws InputError if the budget was too small for a step.
int conclude(const SweepArguments& a, const SweepDirectory& directory, const std::vector<Standing>& all, bool complete, bool has_trained) {
  const SweepDescription& sweep = directory.description();
  const std::string out = directory.path().string();
  require_input(
      complete || has_trained || stop_requested(), "--budget is ", a.budget,
      ", which ended before the first step of a run, expected time for reading the texts and for some steps; give more: dikkat sweep "
      "--resume ",
      out, " --budget TIME");
  const bool found = has_winner(all);
  const std::string best = found ? directory.write_best(all.front().combination).string() : "";
  a.json ? print_sweep_json(out, sweep, all, complete) : print_sweep_table(sweep, all);
  flush_results();
  if (found) {
    const std::string& name = sweep.combinations[static_cast<std::size_t>(all.front().combination)].name;
    print_message(fmt::format("the best combination{} is {}: dikkat train --config {}", complete ? "" : " so far",
                              name.empty() ? "the only one" : name, best));
  }
  if (complete) {
    require(found, "every run failed; the table shows why");
    return 0;
  }
  if (stop_requested()) {
    print_message(fmt::format("stopped and saved; continue with: dikkat sweep --resume {}", out));
    return 128 + stop_signal();
  }
  print_message(fmt::format("the budget of {} is used up; continue with: dikkat sweep --resume {} --budget {}", a.budget, out, a.budget));
  return 0;
}

int sweep_command(const SweepArguments& a) {
  // Check the options.
  using Time = std::chrono::steady_clock;
  const double budget = a.budget.empty() ? 0 : seconds_of_budget(a.budget);
  require_input(a.resume.empty() || a.given.empty(), a.given.empty() ? "" : a.given.front(),
                " cannot be combined with --resume, which continues the sweep with its own settings: leave one out");
  const auto start = Time::now();
  const auto stop = [&] { return stop_requested() || (budget > 0 && seconds_since(start) >= budget); };
  // Make the sweep, or open the one that continues.
  start_threads();
  SweepDirectory directory = a.resume.empty() ? wanted_sweep(a) : SweepDirectory::open(a.resume);
  const SweepDescription& sweep = directory.description();
  std::vector<LegResult> ended = directory.results();
  SweepClock clock(directory);
  require_comparable(directory, ended);
  introduce(directory, clock.left(ended), a.budget);
  warn_about_late_keys(a, sweep);
  stop_in_order();

  // Train leg after leg.
  index number = 0;
  bool has_trained = false;            // whether this command has made a step
  std::optional<Standing> unfinished;  // the combination whose run was stopped
  const auto step_of = [&](const Leg& leg) {
    const auto checkpoints = list_checkpoints(directory.run_path(leg));
    return checkpoints.empty() ? index{0} : checkpoints.back().step;
  };
  const Halving halving = walk(sweep.plan(), ended, [&](const Leg& leg) -> std::optional<LegResult> {
    if (stop()) {
      return std::nullopt;
    }
    announce(leg, sweep, ++number, clock.left(ended));
    LoadingLine loading;
    const auto began = Time::now();
    const index before = step_of(leg);
    auto result = train_leg(leg, sweep.combinations[static_cast<std::size_t>(leg.combination)].config, directory.run_path(leg),
                            {.loading = std::ref(loading),
                             .events = [](const Trainer& trainer) { return std::make_unique<LegProgress>(trainer); },
                             .stop = stop});
    // Record how the leg ended.
    const index step = step_of(leg);
    has_trained = has_trained || step > before;
    if (!result) {
      unfinished = {.combination = leg.combination, .state = Standing::State::unfinished, .step = step};
      return result;
    }
    has_trained = true;
    directory.record(*result);
    clock.took(leg, seconds_since(began));
    std::vector<LegResult> all = ended;
    all.push_back(*result);
    require_comparable(directory, all);
    if (result->failed()) {
      warn_labeled("warning", concat(sweep.run_name(leg.combination, leg.seed), " failed: ", result->failure, "; the sweep continues"));
    }
    return result;
  });

  // The run that was stopped is unfinished, and not waiting.
  std::vector<Standing> all = standings(sweep.plan(), ended);
  for (Standing& s : all) {
    if (unfinished && s.state == Standing::State::waiting && s.combination == unfinished->combination) {
      s.state = unfinished->state;
      s.step = std::max(s.step, unfinished->step);
    }
  }
  return conclude(a, directory, all, halving.complete, has_trained);
}

}  // namespace

void add_sweep(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat sweep --config quickstart --vary optim.learning_rate=1e-3,2e-3,4e-3
  dikkat sweep --config quickstart --corpus my-text.txt --vary optim.learning_rate=1e-3,2e-3 model.n_layer=2,4 --seeds 1,2,3 --out runs/lr
  dikkat sweep --config quickstart --vary optim.kind=adamw,muon --no-halving --budget 30m
  dikkat sweep --resume runs/lr                       # continues after an interruption, as does the original command
  dikkat train --config runs/lr/best.toml             # the best combination
All combinations run in turn, each in a run directory under --out. After max_steps / 9 and max_steps
/ 3 steps (with --eta 3) only the best third continues, judged by the validation loss of the first
seed. Combinations that reach the end also run with the other seeds. A leg is the part of a run
between two of these steps. Halving saves time, but it misjudges settings that show their effect
late, such as dropout, weight decay and schedules: compare these with --no-halving. A run that
diverges is recorded, and the sweep continues.)";
  const auto a = std::make_shared<SweepArguments>();
  Command command = program.add("sweep", "Train all combinations of some settings and compare their validation losses", kExamples,
                                [a] { return sweep_command(*a); });
  command.text("--config", a->run.config, "FILE|NAME", kConfigHelp).note_in(a->given);
  command.texts("--corpus", a->run.corpus, "PATH", "Text files and folders to train on, or pairs; replaces data.corpus").note_in(a->given);
  command
      .texts("--vary", a->vary, "KEY=VALUE,VALUE",
             "A key and the values to try, as section.key=value,value; all combinations of several keys run")
      .note_in(a->given);
  command.text("--seeds", a->seeds, "N,N", "Seeds to average over; by default only train.seed").note_in(a->given);
  command.number("--eta", a->eta, index{2}, index{100}, "Keep the best 1/N of the combinations at each rung").note_in(a->given);
  command.flag("--no-halving,--full", a->no_halving, "Run every combination to its end, with all seeds").note_in(a->given);
  command.text("--budget", a->budget, "TIME",
               "Stop after this time, such as 90s, 30m or 2h: the current run is saved, and --resume continues the sweep");
  command.text("--out", a->out, "DIR", "Folder of the sweep; if it holds this sweep already, the sweep continues").note_in(a->given);
  command.text("--resume", a->resume, "DIR", "Continue the sweep in this folder, with the same results as if it had never stopped");
  command.texts("--set", a->run.set, "KEY=VALUE", kSetHelp).note_in(a->given);
  command.text("--init-from", a->run.init_from, "RUN_DIR|FILE.h5", kInitFromHelp).note_in(a->given);
  command.flag("--json", a->json, "Print one JSON object: out, complete, best, rungs, combinations (best first)");
}

}  // namespace dikkat
