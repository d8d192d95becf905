#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/checkpoint/run_directory.h"
#include "train/config/config.h"

namespace dikkat {

/// What the command line says about the configuration of a new run.
struct WantedRun {
  std::string config{};                 // --config, for find_config(); empty: the defaults
  std::vector<std::string> set{};       // --set, "section.key=value"
  std::vector<std::string> corpus{};    // --corpus, in place of data.corpus; empty: not given
  std::string init_from{};              // --init-from, in place of train.init_from; empty: not given
  std::vector<std::string> evaluate{};  // --evaluate, "NAME=PATH": more texts of data.evaluations
  std::vector<std::string> replay{};    // --replay: a second source beside the corpus
  double replay_share = 0.2;            // its part of all windows
};

/// The configuration of the run, resolved and valid. Where it starts from a checkpoint (train.init_from), keys of [model] and [tokenizer]
/// that are not written take the checkpoint's values. `defaults` is what keys of [train] are that nobody gives. Throws InputError
/// otherwise.
/// Adds to `written` the keys that the user gave, if that is not null: with --set, and in a --config file that does not come with the
/// program those that are not at their default.
Config configuration_of(const WantedRun& run, const TrainConfig& defaults = {}, std::vector<std::string>* written = nullptr);

/// The configurations that come with the program, sorted by name.
std::vector<std::filesystem::path> recipes();

/// Whether the configuration comes with the program.
bool is_recipe(const std::filesystem::path& file);

/// The file that --config names: a path, or the name of a configuration that comes with the program ("quickstart" or "quickstart.toml").
/// A path that exists is preferred. Throws InputError for a name that is found nowhere, with the names that there are.
std::filesystem::path find_config(const std::string& name);

/// Where the new run goes: `out` (--out), or if that is empty, runs/NAME after the configuration's file (runs/default without one), or the
/// first of runs/NAME-2, runs/NAME-3 ... that does not exist.
NewRunPath new_run_path(const std::string& out, const std::filesystem::path& config);

}  // namespace dikkat
