#include "train/cli/terminal/stack.h"

#include <algorithm>
#include <cstddef>

#include <pthread.h>
#include <sys/resource.h>

#include "autograd/base/error.h"

namespace dikkat {

void ensure_stack() {
  constexpr rlim_t kNeeded = rlim_t{1} << 20, kUsual = rlim_t{8} << 20;  // the second is Linux's default
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kNeeded) {
    return;
  }
  // The stack of the first thread may grow up to the limit of the moment. Those of other threads have the limit at the start of the
  // program, unless they are given another size.
  rlimit raised{.rlim_cur = std::min(limit.rlim_max, kUsual), .rlim_max = limit.rlim_max};
  if (raised.rlim_cur < kNeeded) {
    raised = {.rlim_cur = kUsual, .rlim_max = kUsual};  // only root may do this
  }
  require_input(::setrlimit(RLIMIT_STACK, &raised) == 0, "the stack is limited to ", limit.rlim_cur >> 10, " KiB (ulimit -s), expected ",
                kNeeded >> 10, " KiB or more, and this process may not raise the limit: start it with ulimit -s ", kUsual >> 10);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(kUsual));
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

}  // namespace dikkat
