#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// Returns this process's rank according to the environment; 0 if unknown.
int rank_by_launcher(const std::function<const char*(const char*)>& variable);

/// Returns this process's rank among those of its machine, in the same way.
int rank_on_host_by_launcher(const std::function<const char*(const char*)>& variable);

/// A launch error that all processes of the job hit, or all of one machine. Only the first of them prints it.
class LaunchError : public InputError {
 public:
  enum class Whose { job, host };
  explicit LaunchError(const std::string& text, Whose whose = Whose::job) : InputError(text), whose_(whose) {}
  Whose whose() const { return whose_; }

 private:
  Whose whose_;
};

/// A plugin that this program can load.
struct PluginFile {
  std::string mpi;  // "Open MPI" or "MPICH"
  std::filesystem::path path;
};

/// Returns the plugins in the program's folder or in ../lib/dikkat.
std::vector<PluginFile> plugin_files();

/// Connects the ranks that the launcher started. Returns null if there is no launcher. Loads the plugin in the program's folder, in
/// ../lib/dikkat, or the file that the variable DIKKAT_TRANSPORT names. Throws LaunchError, with the right command, if the processes are
/// not connected, their count is not a power of two, or this machine has no plugin. Throws InputError if the plugin cannot start.
std::unique_ptr<Transport> connect_ranks();

}  // namespace dikkat
