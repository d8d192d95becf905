#include "train/cli/version.h"

#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "train/parallel/launcher.h"
#include "train/run/build_info.h"

namespace dikkat {
namespace {

std::string system_libraries() {
  std::string glibc(64, '\0');
  glibc.resize(::confstr(_CS_GNU_LIBC_VERSION, glibc.data(), glibc.size()) - 1);
  return glibc;
}

/// Returns the MPIs for which there is a plugin, with its file.
std::string transports() {
  std::string list;
  for (const PluginFile& plugin : plugin_files()) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", plugin.mpi, plugin.path.string());
  }
  return list.empty() ? "none: neither dikkat-openmpi.so nor dikkat-mpich.so is beside the program or in ../lib/dikkat" : list;
}

}  // namespace

std::string version_line() { return fmt::format("dikkat {} ({})\n", build_info().version, build_info().commit); }

std::string version_report() {
  const BuildInfo& info = build_info();
  const auto line = [](const char* name, const std::string& text) { return fmt::format("{:<13}{}\n", name, text); };
  return fmt::format("dikkat {}\n", info.version) + line("commit", info.commit) + line("compiler", info.compiler) +
         line("flags", info.flags) + line("instructions", info.instruction_set) +
         line("libraries", DIKKAT_LIBRARIES ", " + system_libraries()) + line("MPI", transports());
}

}  // namespace dikkat
