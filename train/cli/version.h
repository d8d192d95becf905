#pragma once

#include <string>

namespace dikkat {

/// "dikkat 0.1.0", a line.
std::string version_line();
/// For bug reports: version, commit, compiler, flags, instruction set and libraries, a line each.
std::string version_report();

}  // namespace dikkat
