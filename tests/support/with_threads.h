#pragma once

#include "autograd/base/parallel.h"

namespace dikkat::testing {

/// While it lives, kernels run on `count` threads.
class WithThreads {
 public:
  explicit WithThreads(int count) : before_(thread_count()) { set_thread_count(count); }
  ~WithThreads() { set_thread_count(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
};

}  // namespace dikkat::testing
