#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "autograd/base/error.h"
#include "train/parallel/transport.h"

namespace dikkat {

/// What has started this process, as its environment tells.
struct Launcher {
  std::string mpi;  // "openmpi" or "mpich"; empty: unknown
  int ranks = 1;    // that were asked for
};

/// `variable` gives an environment variable, or null. One rank is no launcher: there is nothing to connect.
std::optional<Launcher> launcher(const std::function<const char*(const char*)>& variable);

/// This process's number among those that were started, as its environment tells; 0 where nothing does.
int rank_by_launcher(const std::function<const char*(const char*)>& variable);

/// What each of the processes meets that were started: the first tells.
class LaunchError : public InputError {
 public:
  using InputError::InputError;
};

/// Connects the ranks that the launcher has started; null where there is none. Loads the plugin beside the program, in ../lib/dikkat, or
/// the one that DIKKAT_TRANSPORT names. Throws LaunchError, with the command that works, where they do not know each other, or are not a
/// power of two, and InputError where this one has no plugin.
std::unique_ptr<Transport> connect_ranks();

}  // namespace dikkat
