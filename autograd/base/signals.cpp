#include "autograd/base/signals.h"

#include <initializer_list>

#include <pthread.h>

namespace dikkat {
namespace {

thread_local bool blocked = false;

sigset_t block() noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  for (const int raised_by_the_thread : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
    sigdelset(&all, raised_by_the_thread);
  }
  pthread_sigmask(SIG_BLOCK, &all, &before);
  blocked = true;
  return before;
}

}  // namespace

sigset_t block_signals_for_good() noexcept { return block(); }

SignalsBlocked::SignalsBlocked() noexcept : restores_(!blocked) {
  if (restores_) {
    before_ = block();
  }
}

SignalsBlocked::~SignalsBlocked() {
  if (restores_) {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    blocked = false;
  }
}

void block_signals_on_worker() noexcept {
  if (!blocked) {
    block();
  }
}

}  // namespace dikkat
