#pragma once

#include <string>

namespace dikkat {

/// Returns the line "dikkat 0.1.0 (COMMIT)".
std::string version_line();
/// Returns the version, commit, compiler, flags, instruction set, libraries and plugins for MPI, one per line, for bug reports.
std::string version_report();

}  // namespace dikkat
