#include <algorithm>
#include <cstdlib>
#include <iterator>

#include <unistd.h>

#include "autograd/base/cores.h"
#include "autograd/base/parallel.h"
#include "autograd/base/performance_cores.h"

namespace dikkat {

void wait_briefly(char** argv) noexcept {
  constexpr const char* kChosen[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
  const bool is_chosen = std::any_of(std::begin(kChosen), std::end(kChosen), [](const char* name) { return std::getenv(name) != nullptr; });
  const bool is_narrowed = use_performance_cores("/sys/devices", argv);  // not twice: then the process may use some cores only
  if (is_chosen && !is_narrowed) {
    return;
  }
  if (!is_chosen) {
    // NOLINTBEGIN(concurrency-mt-unsafe): there are no other threads yet
    ::setenv("GOMP_SPINCOUNT", "2000", 0);  // gcc's runtime: turns of a pause instruction
    ::setenv("KMP_BLOCKTIME", "0", 0);      // clang's: milliseconds
    // NOLINTEND(concurrency-mt-unsafe)
  }
  // The program that starts now inherits this thread's affinity.
  if (!is_narrowed) {
    use_all_cores();
  }
  ::execv("/proc/self/exe", argv);  // if this fails, threads wait as they do by default
}

}  // namespace dikkat
