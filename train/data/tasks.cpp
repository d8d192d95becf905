#include "train/data/tasks.h"

#include <exception>
#include <vector>

#include <tbb/parallel_for.h>

namespace dikkat {

void run_tasks(index count, const std::function<void(index)>& task) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
  tbb::parallel_for(index{0}, count, [&](index i) {
    try {
      task(i);
    } catch (...) {
      failures[static_cast<std::size_t>(i)] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

}  // namespace dikkat
