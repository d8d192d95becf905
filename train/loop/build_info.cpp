#include "train/loop/build_info.h"

namespace dikkat {

const BuildInfo& build_info() {
  static const BuildInfo info {
    .version = DIKKAT_VERSION, .commit = DIKKAT_COMMIT,
#if defined(__clang__)
    .compiler = "clang " __clang_version__,
#else
    .compiler = "gcc " __VERSION__,
#endif
    .flags = DIKKAT_FLAGS,
#if defined(__AVX512F__)
    .instruction_set = "AVX-512",
#elif defined(__AVX2__)
    .instruction_set = "AVX2",
#else
    .instruction_set = "baseline",
#endif
  };
  return info;
}

}  // namespace dikkat
