// This file is compiled for any x86-64 or arm64 processor. It must not call inline functions of the standard library: the linker may take
// them from other files, which are compiled for newer processors.
#include "autograd/base/choose_instruction_set.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace dikkat {
namespace {

#if defined(__x86_64__)
/// Returns whether this processor multiplies tiles of bf16, and the system lets this process use their registers.
bool can_use_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBf16 = 1U << 22, kTiles = 1U << 24;  // bits of leaf 7, EDX
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kBf16) != 0 && (d & kTiles) != 0 &&
         ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

/// Returns whether this processor has the rest of x86-64-v3 that compilers have no names for: f16c, movbe and lzcnt.
bool has_rest_of_v3() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kF16c = 1U << 29, kMovbe = 1U << 22;  // bits of leaf 1, ECX
  constexpr unsigned kExtended = 0x8000'0001, kLzcnt = 1U << 5;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16c) != 0 && (c & kMovbe) != 0 && __get_cpuid(kExtended, &a, &b, &c, &d) != 0 &&
         (c & kLzcnt) != 0;
}

bool processor_has(const char* set) {
  __builtin_cpu_init();
  if (std::strcmp(set, "sse42") == 0) {
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  }
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && has_rest_of_v3();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (std::strcmp(set, "avx2") == 0) {
    return avx2;
  }
  if (std::strcmp(set, "avx512") == 0) {
    return avx512;
  }
  const bool avx512bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
  return std::strcmp(set, "amx") == 0 ? avx512bf16 && can_use_amx() : avx512bf16;
}
#elif defined(__aarch64__)
bool processor_has(const char* set) {
  const bool has_dot = (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  if (std::strcmp(set, "neondot") == 0) {
    return has_dot;
  }
  if (std::strcmp(set, "neonbf16") == 0) {
    return has_dot && (::getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
  }
  return std::strcmp(set, "neon") == 0;
}
#else
bool processor_has(const char* set) { return std::strcmp(set, "amx") != 0; }
#endif

constexpr char kLacks[] = "which this processor or its system lacks";  // a system may deny AMX's registers

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

constexpr int kUnknown = -1;
int amx = kUnknown;  // whether kernels use AMX; threads may ask at the same time
int widens = kUnknown;
void set_amx(bool is_used) { __atomic_store_n(&amx, is_used ? 1 : 0, __ATOMIC_RELAXED); }

const char* wanted_set() { return std::getenv("DIKKAT_ISA"); }  // NOLINT(concurrency-mt-unsafe): nothing sets it

/// Returns the index of the set that DIKKAT_ISA names, or of the last one that this processor has.
int choose(const char* const* sets, int count) {
  const char* wanted = wanted_set();
  if (wanted != nullptr && *wanted != '\0') {
    for (int i = 0; i < count; ++i) {
      if (std::strcmp(sets[i], wanted) == 0) {
        if (!processor_has(wanted)) {
          refuse(wanted, kLacks, sets, count);
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

}  // namespace

int choose_instruction_set(const char* const* sets, int count) noexcept {
  const int chosen = choose(sets, count);
  set_amx(std::strcmp(sets[chosen], "amx") == 0);
  return chosen;
}

bool uses_amx() noexcept {
  int use = __atomic_load_n(&amx, __ATOMIC_RELAXED);
  if (use == kUnknown) {
    const char* wanted = wanted_set();
    const bool asks = wanted != nullptr && std::strcmp(wanted, "amx") == 0;
    const bool is_used = (wanted == nullptr || *wanted == '\0' || asks) && processor_has("amx");
    if (asks && !is_used) {
      const char* const sets[] = {"avx512bf16"};
      refuse(wanted, kLacks, sets, 1);
    }
    set_amx(is_used);
    use = is_used ? 1 : 0;
  }
  return use == 1;
}

bool has_fast_vdpbf16ps() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

bool widens_bf16() noexcept {
  const int known = __atomic_load_n(&widens, __ATOMIC_RELAXED);
  if (known != kUnknown) {
    return known == 1;
  }
  const char* wanted = std::getenv("DIKKAT_BF16");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  const bool is_widen = wanted != nullptr && std::strcmp(wanted, "widen") == 0;
  const bool is_dot = wanted != nullptr && std::strcmp(wanted, "dot") == 0;
  const bool chosen = is_widen || (!is_dot && !has_fast_vdpbf16ps());
  set_widens_bf16(chosen);
  return chosen;
}

void set_widens_bf16(bool is_wide) noexcept { __atomic_store_n(&widens, is_wide ? 1 : 0, __ATOMIC_RELAXED); }

}  // namespace dikkat
