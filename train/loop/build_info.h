#pragma once

#include <string>

namespace dikkat {

/// What the bits of a run depend on besides its configuration and text.
struct BuildInfo {
  std::string version;  // of the program
  std::string commit;   // of its source; bits do not depend on the name
  std::string compiler;
  std::string flags;            // of the compiler
  std::string instruction_set;  // that kernels were compiled for
};
const BuildInfo& build_info();

}  // namespace dikkat
