#include <cstdlib>

#include <unistd.h>

#include "autograd/base/cores.h"
#include "autograd/base/parallel.h"

namespace dikkat {

void wait_briefly(char** argv) noexcept {
  constexpr const char* kChosen[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
  for (const char* name : kChosen) {
    if (std::getenv(name) != nullptr) {
      return;
    }
  }
  // NOLINTBEGIN(concurrency-mt-unsafe): there are no other threads yet
  ::setenv("GOMP_SPINCOUNT", "2000", 0);  // gcc's runtime: turns of a pause instruction
  ::setenv("KMP_BLOCKTIME", "0", 0);      // clang's: milliseconds
  // NOLINTEND(concurrency-mt-unsafe)
  use_all_cores();                  // the program that starts now inherits this thread's affinity
  ::execv("/proc/self/exe", argv);  // if this fails, threads wait as they do by default
}

}  // namespace dikkat
