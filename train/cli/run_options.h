#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/checkpoint/run_directory.h"
#include "train/config/config.h"
#include "train/config/edit.h"

namespace dikkat {

/// The options that set the configuration of a new run.
struct RunOptions {
  std::string config{};                 // --config, for find_config(); empty: the defaults
  std::vector<std::string> set{};       // --set, "section.key=value"
  std::vector<ConfigEdit> edits{};      // further settings, of a command that makes runs itself
  std::vector<std::string> corpus{};    // --corpus, replaces data.corpus; empty: not given
  std::vector<std::string> columns{};   // --columns, replaces data.columns; empty: not given
  std::string init_from{};              // --init-from, replaces train.init_from; empty: not given
  std::vector<std::string> evaluate{};  // --evaluate, "NAME=PATH": added to data.evaluations
  std::vector<std::string> replay{};    // --replay: a second source, mixed into the corpus
  double replay_share = 0.2;            // --replay-share: the share of training windows from --replay
};

/// Returns the configuration of the run, resolved and valid. Throws InputError if it is not valid. If the run starts from a trained model
/// (train.init_from), keys of [model] and [tokenizer] that are not given take the model's values. `defaults` has the values of keys of
/// [train] that are not given. Sets `written`, if it is not null, to the keys that the user gave: those of --set and `edits`, and those of
/// a --config file that differ from their defaults. Keys of a recipe that comes with the program are left out.
Config configuration_of(const RunOptions& run, const TrainConfig& defaults = {}, std::vector<std::string>* written = nullptr);

/// Returns whether the user sets this key with --set.
bool is_set(const RunOptions& run, const char* key);

/// Returns the configurations that come with the program, sorted by name.
std::vector<std::filesystem::path> recipes();

/// Returns the path of a file of conversations that comes with the program, in the folder data/ next to its configurations.
/// Throws InputError if there are none.
std::string shipped_data(const char* name);

/// Returns whether the configuration comes with the program.
bool is_recipe(const std::filesystem::path& file);

/// Returns the file that --config names: a path, or the name of a configuration that comes with the program ("quickstart" or
/// "quickstart.toml"). A path that exists is preferred. Throws InputError, with the known names, for a name that is not found.
std::filesystem::path find_config(const std::string& name);

/// Returns the directory of the new run: `out` (--out), or if that is empty, runs/NAME after the configuration (runs/default without one).
/// If that exists, the first free one of runs/NAME-2, runs/NAME-3, ...
NewRunPath new_run_path(const std::string& out, const std::filesystem::path& config);

}  // namespace dikkat
