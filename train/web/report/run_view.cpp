#include "train/web/report/run_view.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "autograd/base/error.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/lock.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

index size_of(const fs::path& file) {
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(file, missing);
  return missing ? 0 : static_cast<index>(size);
}

index size_of_files_in(const fs::path& folder) {
  std::error_code failed;
  index bytes = 0;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code gone;
    bytes += at->is_regular_file(gone) ? size_of(at->path()) : 0;
  }
  return bytes;
}

double last_change_of(const fs::path& file) {
  std::error_code missing;
  const auto time = fs::last_write_time(file, missing);
  return missing ? 0 : std::chrono::duration<double>(std::chrono::file_clock::to_sys(time).time_since_epoch()).count();
}

/// Describes why a run is broken; empty if it can continue or is finished.
std::string problem_of(const RunView& run) {
  std::error_code unreadable;
  if (!fs::is_directory(run.path, unreadable)) {
    return "the folder does not exist";
  }
  if (!run.history.header && run.history.last_step() == 0) {
    return "it has no readable metrics.jsonl";
  }
  // A program's own loop need not save its model.
  return run.checkpoints.empty() && !is_of_own_loop(run.history) ? "it has no checkpoint" : "";
}

/// Returns the number of parameters of a model from merge or import, from the index of its checkpoint; nullopt for other folders.
std::optional<index> parameters_of_model(const RunView& run) {
  try {
    if (run.checkpoints.empty() || is_there(run.path / "metrics.jsonl")) {
      return {};
    }
    const Contents contents = read_index(checkpoint_directory(run.path) / run.checkpoints.back().file);
    index parameters = 0;
    for (const StoredTensor& tensor : contents.tensors) {
      parameters += tensor.path.starts_with("model/") ? tensor.shape.size() : 0;
    }
    return is_of_a_run(contents.state) ? std::nullopt : std::optional(parameters);
  } catch (const Error&) {  // it is damaged, or cannot be read
    return {};
  }
}

RunState state_of(const RunView& run) {
  if (is_locked(run.path)) {
    return RunState::running;
  }
  return !run.problem.empty() ? RunState::broken : run.history.finished() ? RunState::finished : RunState::stopped;
}

bool is_run(const fs::path& folder) {
  std::error_code no;
  return fs::is_regular_file(folder / "metrics.jsonl", no) || fs::is_directory(checkpoint_directory(folder), no);
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> folders;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code gone;
    if (at->is_directory(gone)) {
      folders.push_back(at->path());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace

std::string_view name_of(RunState state) {
  constexpr std::string_view kNames[] = {"running", "finished", "stopped", "broken", "model"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string RunView::value_of(std::string_view key) const {
  const auto row = std::find_if(config.rows.begin(), config.rows.end(), [&](const ConfigRow& one) { return one.key == key; });
  return row == config.rows.end() ? "" : row->value;
}

RunView view_run(const fs::path& run_directory) {
  HistoryReader reader(run_directory);
  reader.update();
  return view_run(run_directory, reader.history());
}

RunView view_run(const fs::path& run_directory, RunHistory history) {
  // Find the name and the checkpoints.
  RunView run{.path = run_directory, .history = std::move(history)};
  std::error_code removed;  // the current folder
  const fs::path seen = fs::absolute(run_directory, removed);
  const fs::path whole = (removed ? run_directory : seen).lexically_normal();
  run.name = (whole.has_filename() ? whole.filename() : whole.parent_path().filename()).string();
  index best_step = -1;
  try {
    if (const auto best = best_checkpoint(run_directory)) {
      best_step = best->step;
    }
  } catch (const Error&) {  // it names a file that no longer exists
  }
  try {
    for (const CheckpointEntry& entry : list_checkpoints(run_directory)) {
      run.checkpoints.push_back(
          {.step = entry.step, .file = entry.path.filename().string(), .bytes = size_of(entry.path), .best = entry.step == best_step});
    }
  } catch (const Error&) {  // a folder that cannot be read
  }
  // Read the configuration, and find the state. A model from merge or import has no history.
  run.config = read_config_table(run_directory, run.history);
  run.bytes = size_of_files_in(run_directory);
  run.last_change = last_change_of(run_directory / "metrics.jsonl");
  if (const auto parameters = parameters_of_model(run)) {
    run.parameters = *parameters;
    run.last_change = last_change_of(checkpoint_directory(run_directory) / run.checkpoints.back().file);
    run.state = is_locked(run.path) ? RunState::running : RunState::model;
    return run;
  }
  run.parameters = run.history.header ? run.history.header->parameters : 0;
  run.problem = problem_of(run);
  run.state = state_of(run);
  return run;
}

std::vector<fs::path> find_runs(const fs::path& folder) {
  std::vector<fs::path> runs;
  for (const fs::path& one : folders_in(folder)) {
    if (is_run(one)) {
      runs.push_back(one);
      continue;
    }
    for (const fs::path& inner : folders_in(one)) {  // such as the runs of a sweep
      if (is_run(inner)) {
        runs.push_back(inner);
      }
    }
  }
  return runs;
}

namespace {

/// Returns the runs that have a validation loss.
std::vector<const RunView*> evaluated(const std::vector<RunView>& runs) {
  std::vector<const RunView*> some;
  for (const RunView& run : runs) {
    if (run.history.best() != nullptr) {
      some.push_back(&run);
    }
  }
  return some;
}

const LossFingerprint& scored_of(const RunView& run) { return run.history.best()->report.scored; }

bool have_same_facts(const RunView& one, const RunView& other) {
  const auto &a = one.history.header, &b = other.history.header;
  return a && b && a->tokenizer == b->tokenizer && a->vocab_size == b->vocab_size && a->corpus == b->corpus &&
         a->val_tokens == b->val_tokens;
}

/// Lists the keys that differ and may determine which tokens are scored, with their values: "chat.loss (answers, all), data.pack (stream,
/// document)".
std::string deciding_keys(const std::vector<RunView>& runs) {
  std::string list;
  for (const KeyOfRuns& one : differing_keys(runs)) {
    if (one.key.starts_with("chat.") || one.key.starts_with("data.") || one.key.starts_with("tokenizer.") ||
        one.key == "model.block_size" || one.key == "train.init_from") {
      std::string values;
      for (const std::string& value : one.values) {
        values += concat(values.empty() ? "" : ", ", value.empty() ? "not set" : value);
      }
      list += concat(list.empty() ? "" : ", ", one.key, " (", values, ')');
    }
  }
  return list;
}

}  // namespace

Comparison compare(const std::vector<RunView>& runs) {
  const std::vector<const RunView*> some = evaluated(runs);
  const auto all = [&](const auto& holds) { return std::ranges::all_of(some, [&](const RunView* run) { return holds(*run); }); };
  if (some.size() < 2) {
    return Comparison::same;
  }
  const RunView& first = *some.front();
  if (all([](const RunView& run) { return scored_of(run).is_known(); })) {
    return !all([&](const RunView& run) { return scored_of(run).targets == scored_of(first).targets; })     ? Comparison::other_targets
           : !all([&](const RunView& run) { return scored_of(run).contexts == scored_of(first).contexts; }) ? Comparison::other_contexts
                                                                                                            : Comparison::same;
  }
  return all([&](const RunView& run) { return have_same_facts(run, first); }) ? Comparison::unknown : Comparison::other_targets;
}

std::string_view name_of(Comparison comparison) {
  constexpr std::string_view kNames[] = {"same", "other contexts", "unknown", "other targets"};
  return kNames[static_cast<std::size_t>(comparison)];
}

bool have_same_text(const std::vector<RunView>& runs) {
  const std::vector<const RunView*> some = evaluated(runs);
  return std::ranges::all_of(some, [&](const RunView* run) {
    const std::string& text = scored_of(*run).text;
    return !text.empty() && text == scored_of(*some.front()).text && run->history.header &&
           std::isfinite(run->history.header->bytes_per_token);
  });
}

std::string remark_on(Comparison comparison, const std::vector<RunView>& runs) {
  const std::string keys = deciding_keys(runs);
  const std::string by_keys = keys.empty() ? "" : concat(": they differ in ", keys);
  switch (comparison) {
    case Comparison::same: return "";
    case Comparison::other_contexts:
      return concat("The same tokens are scored, but the models see different contexts before them", by_keys,
                    ". A lower loss may come from the context.");
    case Comparison::unknown:
      return concat(
          "It is not known whether the losses are over the same data, because metrics of an earlier version or of a program's own loop do "
          "not record it",
          by_keys, ".");
    case Comparison::other_targets:
      return concat("The losses are over different tokens, so they cannot be compared", by_keys, ". ",
                    have_same_text(runs) ? "The tokens stand for the same text, so bits per byte can be compared (dikkat eval)."
                                         : "`dikkat eval RUN_DIR --corpus PATH` measures each run on a text of your choice; for "
                                           "conversations, --score selects the tokens that count.");
  }
  return "";
}

std::optional<BetterRun> better_of(const std::vector<RunView>& runs) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].history.best() != nullptr) {
      order.push_back(i);
    }
  }
  if (order.size() < 2 || compare(runs) == Comparison::other_targets) {
    return {};
  }
  const auto report_of = [&](std::size_t i) { return runs[i].history.best()->report; };
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return report_of(i).val_loss; });
  const EvaluationReport best = report_of(order[0]), next = report_of(order[1]);
  return BetterRun{.best = order[0],
                   .next = order[1],
                   .difference = next.val_loss - best.val_loss,
                   .error = std::hypot(best.val_standard_error, next.val_standard_error)};
}

std::string in_words(const BetterRun& better, const std::vector<RunView>& runs) {
  const std::string best = runs[better.best].path.string(), next = runs[better.next].path.string();
  if (compare(runs) != Comparison::same) {
    return concat("The loss of ", best, " is lower than that of ", next, " by ", fmt::format("{:.4f}", better.difference),
                  std::isnan(better.error) ? "" : fmt::format(" +- {:.4f}", better.error), " nats.");
  }
  if (std::isnan(better.error)) {
    return fmt::format("{} is better than {} by {:.4f} nats.", best, next, better.difference);
  }
  const std::string by = fmt::format("{:.4f} +- {:.4f} nats", better.difference, better.error);
  return concat(better.difference < 2 * better.error
                    ? concat("There is no significant difference between ", best, " and ", next, ": their losses differ by ", by, ".")
                    : concat(best, " is better than ", next, " by ", by, "."),
                " The error covers only the choice of validation text; only runs with other seeds show how much the seed matters.");
}

std::vector<KeyOfRuns> differing_keys(const std::vector<RunView>& runs) {
  std::vector<KeyOfRuns> keys;
  for (const RunView& run : runs) {
    for (const ConfigRow& row : run.config.rows) {
      const bool known = std::any_of(keys.begin(), keys.end(), [&](const KeyOfRuns& one) { return one.key == row.key; });
      if (!known) {
        keys.push_back({.key = row.key, .values = {}});
        for (const RunView& other : runs) {
          keys.back().values.push_back(other.value_of(row.key));
        }
      }
    }
  }
  std::erase_if(keys, [](const KeyOfRuns& one) {
    return std::all_of(one.values.begin(), one.values.end(), [&](const std::string& value) { return value == one.values.front(); });
  });
  return keys;
}

}  // namespace dikkat
