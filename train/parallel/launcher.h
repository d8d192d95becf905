#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "train/parallel/engine.h"

namespace dikkat {

/// What has started this process, as its environment tells.
struct Launcher {
  std::string engine;  // "openmpi", "mpich"; empty: none that a plugin knows
  int ranks = 1;       // that were asked for
};

/// `variable` gives an environment variable, or null. One rank is no launcher: there is nothing to connect.
std::optional<Launcher> launcher(const std::function<const char*(const char*)>& variable);

/// This process's number among those that were started, as its environment tells; 0 where nothing does.
int number_by_launcher(const std::function<const char*(const char*)>& variable);

/// Connects the ranks that the launcher has started; null where there is none. Loads the plugin beside the program, in ../lib/dikkat, or the one that
/// DIKKAT_ENGINE names. Throws InputError, with the command that works, where there is no plugin, where the ranks do not find each other, or where they are not a power of two: each process throws it.
std::unique_ptr<Engine> connect_ranks();

}  // namespace dikkat
