// This file is compiled for any x86-64. It must not call inline functions of the standard library: the linker may take them from other
// files, which are compiled for newer processors.
#include "autograd/base/processor.h"

#include <cstdio>

#include "autograd/base/error.h"
#include "autograd/base/instruction_sets.h"

namespace dikkat {

#if defined(__x86_64__)
bool processor_lacks(char* text, std::size_t size) noexcept {
  __builtin_cpu_init();
#define DIKKAT_LACKS(macro, name, bit)                                                                                        \
  if ((kCompiledFor >> (bit) & 1U) != 0 && !__builtin_cpu_supports(name)) {                                                   \
    std::snprintf(text, size,                                                                                                 \
                  "this processor has no %s, which this program was compiled for: build it on this machine, or for any AVX2 " \
                  "machine with -DDIKKAT_MARCH=x86-64-v3 (the preset portable)",                                              \
                  name);                                                                                                      \
    return true;                                                                                                              \
  }
  DIKKAT_INSTRUCTION_SETS(DIKKAT_LACKS)
#undef DIKKAT_LACKS
  return false;
}
#else
bool processor_lacks(char*, std::size_t) noexcept { return false; }
#endif

void require_processor() {
  char text[256];
  if (processor_lacks(text, sizeof text)) {
    throw Error(text);
  }
}

}  // namespace dikkat
