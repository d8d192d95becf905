#include "autograd/base/signals.h"

#include <initializer_list>

#include <pthread.h>

namespace dikkat {

sigset_t block_signals_for_good() noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  for (const int raised_by_the_thread : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
    sigdelset(&all, raised_by_the_thread);
  }
  pthread_sigmask(SIG_BLOCK, &all, &before);
  return before;
}

}  // namespace dikkat
