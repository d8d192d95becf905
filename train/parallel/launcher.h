#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "autograd/base/error.h"
#include "train/parallel/transport.h"

namespace dikkat {

/// The program that started this process and others, such as mpirun.
struct Launcher {
  std::string mpi;  // "openmpi" or "mpich"; empty: unknown
  int ranks = 1;    // the number of processes that it started
};

/// Reads the launcher's environment through `variable`, which returns a variable's value or null. Returns nullopt for a single process.
std::optional<Launcher> launcher(const std::function<const char*(const char*)>& variable);

/// Returns this process's rank according to the environment; 0 if it says nothing.
int rank_by_launcher(const std::function<const char*(const char*)>& variable);

/// A launch error that all processes hit; only rank 0 prints it.
class LaunchError : public InputError {
 public:
  using InputError::InputError;
};

/// Connects the ranks that the launcher started. Returns null if there is no launcher. Loads the plugin beside the program, in
/// ../lib/dikkat, or the file that the variable DIKKAT_TRANSPORT names. Throws LaunchError, with the right command, if the processes cannot
/// see each other or their number is not a power of two. Throws InputError if this process has no plugin.
std::unique_ptr<Transport> connect_ranks();

}  // namespace dikkat
