#pragma once

#include <string>

namespace dikkat {

/// The build of this program. The bits of a run depend on it, and on configuration, text and processor.
struct BuildInfo {
  std::string version;
  std::string commit;  // bits do not depend on it
  std::string compiler;
  std::string flags;            // compiler flags
  std::string instruction_set;  // the one that this process's kernels use
};
const BuildInfo& build_info();

}  // namespace dikkat
