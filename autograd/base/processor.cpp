// This file is compiled for any x86-64 or arm64 processor. It must not call inline functions of the standard library: the linker may take
// them from other files, which are compiled for newer processors.
#include "autograd/base/processor.h"

#include <cstdio>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "autograd/base/error.h"
#include "autograd/base/instruction_sets.h"

namespace dikkat {

#if defined(__x86_64__)
#define DIKKAT_PROCESSOR_HAS(name, ...) __builtin_cpu_supports(name)
constexpr char kPortable[] = "for any machine with SSE4.2 (the preset portable)";
#elif defined(__aarch64__)
#define DIKKAT_PROCESSOR_HAS(name, word, flag) ((::getauxval(word) & (flag)) != 0)
constexpr char kPortable[] = "for any arm64 machine with -DDIKKAT_MARCH=armv8-a (the preset portable-arm64)";
#else
#define DIKKAT_PROCESSOR_HAS(name) true
constexpr char kPortable[] = "";
#endif

bool processor_lacks([[maybe_unused]] char* text, [[maybe_unused]] std::size_t size) noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
#define DIKKAT_LACKS(macro, name, bit, ...)                                                                                           \
  if ((kCompiledFor >> (bit) & 1U) != 0 && !DIKKAT_PROCESSOR_HAS(name __VA_OPT__(, ) __VA_ARGS__)) {                                  \
    std::snprintf(text, size, "this processor has no %s, which this program was compiled for: build it on this machine, or %s", name, \
                  kPortable);                                                                                                         \
    return true;                                                                                                                      \
  }
  DIKKAT_INSTRUCTION_SETS(DIKKAT_LACKS)
#undef DIKKAT_LACKS
  return false;
}

void require_processor() {
  char text[256];
  if (processor_lacks(text, sizeof text)) {
    throw Error(text);
  }
}

}  // namespace dikkat
