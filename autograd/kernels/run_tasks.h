#pragma once

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"

namespace dikkat::kernels {

/// Calls task(i) for each of `count` tasks, which have parallel loops of their own, such as products. `each` is the work of a task.
/// Tasks run at the same time if there is one for each thread, or if a task is too small for several threads. Otherwise they run in turn,
/// each on all threads. In a DryRun one task runs, which asks for a thread's scratch memory. So tasks compute only in parallel loops.
template <class F>
void run_tasks(index count, Work each, F&& task) {
  if (count >= thread_count() || each.multiply_adds < kLeastWork.multiply_adds) {
    auto scratch = [&] {
      if (DryRun::active() && count > 0) {
        task(0);
      }
    };
    parallel_for(count, Work{each.multiply_adds * static_cast<double>(count)}, scratch, task);
    return;
  }
  for (index i = 0; i < count; ++i) {
    task(i);
  }
}

}  // namespace dikkat::kernels
