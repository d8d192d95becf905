#pragma once

#include <string>
#include <vector>

namespace dikkat {

/// The program, machine and command line of a run, for the record. Results do not depend on them.
struct Provenance {
  std::string date{};  ///< ISO 8601, UTC: 2026-11-23T00:30:00Z
  std::string version{}, commit{};
  std::vector<std::string> command{};  ///< the words of the command line
  std::string host{}, processor{};
  int threads = 0;
};

/// Formats the command line so that it can be typed into a shell again.
std::string command_line_of(const Provenance& by);

}  // namespace dikkat
