#pragma once

#include <string>

namespace dikkat {

/// The build of this program. Besides configuration, text and processor, the bits of a run depend on it.
struct BuildInfo {
  std::string version;  // of the program
  std::string commit;   // of its source; bits do not depend on the name
  std::string compiler;
  std::string flags;            // of the compiler
  std::string instruction_set;  // of the kernels that run
};
const BuildInfo& build_info();

}  // namespace dikkat
