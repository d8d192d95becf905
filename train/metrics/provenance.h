#pragma once

#include <string>
#include <vector>

namespace dikkat {

/// What worked on a run, and where: for people who ask later where a checkpoint comes from. Bits depend on none of it.
struct Provenance {
  std::string date{};  ///< ISO 8601, UTC: 2026-11-23T00:30:00Z
  std::string version{}, commit{};
  std::vector<std::string> command{};  ///< the words of the command line
  std::string host{}, processor{};
  int threads = 0;
};

/// The command line as it can be typed into a shell again.
std::string command_line_of(const Provenance& by);

}  // namespace dikkat
