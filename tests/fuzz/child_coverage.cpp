// Compiled without instrumentation, which has declarations of its own for these two names.

#include "tests/fuzz/child_coverage.h"

#include <algorithm>
#include <cstring>

#include "tests/fuzz/fuzz.h"

extern "C" {
// Where clang's counters lie.
extern std::uint8_t __start___sancov_cntrs[];
extern std::uint8_t __stop___sancov_cntrs[];
}

namespace dikkat::fuzz {

namespace {

std::size_t count() { return static_cast<std::size_t>(__stop___sancov_cntrs - __start___sancov_cntrs); }

std::uint8_t* shared() {
  static auto* const memory =
      static_cast<std::uint8_t*>(::mmap(nullptr, count(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  hold(memory != MAP_FAILED, "there is memory to share");
  return memory;
}

}  // namespace

void forget_child_coverage() { std::memset(shared(), 0, count()); }

void tell_coverage() { std::memcpy(shared(), __start___sancov_cntrs, count()); }

void adopt_child_coverage() {
  std::transform(shared(), shared() + count(), __start___sancov_cntrs, __start___sancov_cntrs,
                 [](std::uint8_t a, std::uint8_t b) { return std::max(a, b); });
}

}  // namespace dikkat::fuzz
