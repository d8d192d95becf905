// This file is compiled for any x86-64. It must not call inline functions of the standard library: the linker may take them from other
// files, which are compiled for newer processors.
#include "autograd/base/choose_instruction_set.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace dikkat {
namespace {

#if defined(__x86_64__)
bool processor_has(const char* set) {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (std::strcmp(set, "avx2") == 0) {
    return avx2;
  }
  return std::strcmp(set, "avx512") == 0 ? avx512 : avx512 && __builtin_cpu_supports("avx512bf16");
}
#else
bool processor_has(const char*) { return true; }
#endif

[[noreturn]] void refuse(const char* wanted, const char* problem, const char* const* sets, int count) {
  char text[256];
  int length = std::snprintf(text, sizeof text, "dikkat: DIKKAT_ISA is \"%.40s\", %s, expected", wanted, problem);
  for (int i = 0; i < count; ++i) {
    length += std::snprintf(text + length, sizeof text - static_cast<unsigned>(length), "%s %s",
                            i == 0          ? ""
                            : i + 1 < count ? ","
                                            : " or",
                            sets[i]);
  }
  length += std::snprintf(text + length, sizeof text - static_cast<unsigned>(length), "\n");
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, static_cast<unsigned>(length));
  constexpr int kBadInput = 2;
  ::_exit(kBadInput);
}

}  // namespace

int choose_instruction_set(const char* const* sets, int count) noexcept {
  const char* wanted = std::getenv("DIKKAT_ISA");  // NOLINT(concurrency-mt-unsafe): there are no other threads yet
  if (wanted != nullptr && *wanted != '\0') {
    for (int i = 0; i < count; ++i) {
      if (std::strcmp(sets[i], wanted) == 0) {
        if (!processor_has(wanted)) {
          refuse(wanted, "which this processor lacks", sets, count);
        }
        return i;
      }
    }
    refuse(wanted, "which this build does not have", sets, count);
  }
  int chosen = 0;  // a processor without it is refused elsewhere, with what it lacks (processor.h)
  for (int i = 1; i < count; ++i) {
    chosen = processor_has(sets[i]) ? i : chosen;
  }
  return chosen;
}

}  // namespace dikkat
