#include "train/run/build_info.h"

#include "autograd/kernels/instruction_set.h"

namespace dikkat {

const BuildInfo& build_info() {
  static const BuildInfo info{
      .version = DIKKAT_VERSION,
      .commit = DIKKAT_COMMIT,
#if defined(__clang__)
      .compiler = "clang " __clang_version__,
#else
      .compiler = "gcc " __VERSION__,
#endif
      .flags = DIKKAT_FLAGS,
      .instruction_set = kernels::instruction_set(),
  };
  return info;
}

}  // namespace dikkat
