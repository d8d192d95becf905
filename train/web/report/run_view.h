#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/metrics/run_history.h"
#include "train/web/report/config_table.h"

namespace dikkat {

/// The state of a run directory.
enum class RunState {
  running,   ///< a process holds its lock
  finished,  ///< all steps are done
  stopped,   ///< the run was asked to stop, or killed; `dikkat resume` continues it
  broken,    ///< it has no metrics or no checkpoint
  model,     ///< a model from merge or import, which has no history
};
std::string_view name_of(RunState state);

/// The facts about a run that reports and tables show.
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
  std::string problem{};  ///< why the run is broken; otherwise empty
  RunHistory history{};
  ConfigTable config{};
  std::vector<Checkpoint> checkpoints{};
  index parameters = 0;    ///< number of the model's parameters; 0 if unknown
  index bytes = 0;         ///< size of all its files
  double last_change = 0;  ///< when the metrics were last changed (for a model, its checkpoint), in seconds since 1970

  /// Returns the value of a configuration key; empty if there is none.
  std::string value_of(std::string_view key) const;
};

/// Reads a run directory, without locking or writing anything. For a folder without a run, the state is `broken`.
RunView view_run(const std::filesystem::path& run_directory);
/// Reads a run directory whose history is already known.
RunView view_run(const std::filesystem::path& run_directory, RunHistory history);

/// Finds the run directories in a folder and in its subfolders: folders that have metrics.jsonl or checkpoints/. Sorted by name.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& folder);

/// Whether the lowest validation losses of runs can be compared. Runs without a validation loss do not count.
enum class Comparison {
  same,            ///< yes: the same tokens are scored, in the same contexts
  other_contexts,  ///< partly: the same tokens are scored, but the models see other tokens before them, such as more of the text
  unknown,         ///< the runs have the same corpus and tokenizer, but metrics of an earlier version do not record the scored tokens
  other_targets,   ///< no: different tokens are scored
};
Comparison compare(const std::vector<RunView>& runs);
std::string_view name_of(Comparison comparison);

/// Explains to the user why losses are not fully comparable: which keys differ, and what can be compared. Empty for Comparison::same.
std::string remark_on(Comparison comparison, const std::vector<RunView>& runs);

/// Returns whether the losses in bits per byte are comparable because they are over the same text.
bool have_same_text(const std::vector<RunView>& runs);

/// The runs with the lowest and the second lowest validation loss.
struct BetterRun {
  std::size_t best = 0, next = 0;  ///< their positions in the list
  double difference = 0;           ///< difference of their losses, in nats
  /// Standard error of the difference, as if each run had been evaluated on a different text; on the same text it is smaller. NaN if the
  /// errors are unknown.
  double error = 0;
};
/// Finds the two best runs; nullopt if the runs score different tokens, or fewer than two have a loss.
std::optional<BetterRun> better_of(const std::vector<RunView>& runs);
/// Describes the result, as in "b is better than a by 0.0124 +- 0.0030 nats", or as not significant if the difference is below two standard
/// errors. Unless the runs score the same tokens in the same contexts, only names the lower loss.
std::string in_words(const BetterRun& better, const std::vector<RunView>& runs);

/// A key in which the configurations of runs differ. The value is empty for a run that does not have the key.
struct KeyOfRuns {
  std::string key;
  std::vector<std::string> values;  ///< one for each run
};
std::vector<KeyOfRuns> differing_keys(const std::vector<RunView>& runs);

}  // namespace dikkat
