#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/metrics/run_history.h"
#include "train/web/report/config_table.h"

namespace dikkat {

enum class RunState {
  running,   ///< a process holds its lock
  finished,  ///< all steps are done
  stopped,   ///< `dikkat resume` goes on with it: it was asked to stop, or killed
  broken,    ///< it has no metrics or no checkpoint
  model,     ///< a model without a run's history, made by merge or import
};
std::string_view name_of(RunState state);

/// A run as people look at it.
struct RunView {
  struct Checkpoint {
    index step = 0;
    std::string file{};
    index bytes = 0;
    bool best = false;
  };

  std::filesystem::path path;
  std::string name{};  ///< the last part of the path
  RunState state = RunState::broken;
  std::string problem{};  ///< of a broken run: what is missing
  RunHistory history{};
  ConfigTable config{};
  std::vector<Checkpoint> checkpoints{};
  index parameters = 0;    ///< of the model; 0 if that is not known
  index bytes = 0;         ///< of all its files
  double last_change = 0;  ///< seconds since 1970, of its metrics; of a model, of its checkpoint

  /// The value of a key of its configuration; empty if there is none.
  std::string value_of(std::string_view key) const;
};

/// Reads a run directory. Nothing is locked, nothing written. A folder without a run gives a broken one.
RunView view_run(const std::filesystem::path& run_directory);
/// The same with a history that was read before.
RunView view_run(const std::filesystem::path& run_directory, RunHistory history);

/// The run directories in a folder: those of its folders, and of theirs, that have metrics.jsonl or checkpoints/. Sorted by name.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& folder);

/// What the lowest validation losses of runs have in common. Runs without one do not count.
enum class Comparison {
  same,            ///< the same tokens are scored, from the same contexts
  other_contexts,  ///< the same tokens are scored, but the models see other tokens before them, such as more of the text
  unknown,         ///< the same corpus and tokenizer, but an earlier version wrote the metrics, which do not say what was scored
  other_targets,   ///< other tokens are scored: the losses cannot be compared
};
Comparison compare(const std::vector<RunView>& runs);
std::string_view name_of(Comparison comparison);

/// A sentence for the user about losses that are not simply comparable: why, by the keys and facts that differ, and what can be compared.
/// Empty for Comparison::same.
std::string remark_on(Comparison comparison, const std::vector<RunView>& runs);

/// Whether the losses in bits per byte mean the same: they are over the same text.
bool have_same_text(const std::vector<RunView>& runs);

/// The run with the lowest validation loss, and the next.
struct BetterRun {
  std::size_t best = 0, next = 0;  ///< their places in the list
  double difference = 0;           ///< of their losses, in nats
  /// Standard error of the difference, as if each had been evaluated on a text of its own; on the same text it is less. NaN if the errors
  /// are not known.
  double error = 0;
};
/// nullopt if the runs score other tokens, or fewer than two have a loss.
std::optional<BetterRun> better_of(const std::vector<RunView>& runs);
/// "b is better than a by 0.0124 +- 0.0030 nats", or that they cannot be told apart (a difference below two standard errors), and what the
/// error leaves out. Unless they score the same tokens from the same contexts, it only says that b's loss is lower.
std::string in_words(const BetterRun& better, const std::vector<RunView>& runs);

/// A key in which the configurations of runs differ. A value is empty where a run does not have the key.
struct KeyOfRuns {
  std::string key;
  std::vector<std::string> values;  ///< one for each run
};
std::vector<KeyOfRuns> differing_keys(const std::vector<RunView>& runs);

}  // namespace dikkat
