#include "autograd/base/parallel.h"

#include <omp.h>

#include <algorithm>
#include <cstdlib>

#include "autograd/base/cores.h"
#include "autograd/base/denormals.h"
#include "autograd/base/error.h"

namespace dikkat {
namespace {

// OpenMP's own default knows the affinity mask, and nothing of a cgroup's quota: threads beyond it are stopped for most of a period.
[[maybe_unused]] const bool threads_are_chosen = [] {
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    omp_set_num_threads(std::min(omp_get_max_threads(), usable_cores()));
  }
  return true;
}();

}  // namespace

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int count) {
  require(count >= 1, "threads: ", count, ", expected 1 or more");
  omp_set_num_threads(count);
}

OneThread::OneThread() noexcept : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

namespace detail {

void run_tiles(const Tiles& tiles) noexcept {
  flush_denormals_to_zero();
  const bool alone = omp_in_parallel() != 0 || (tiles.count <= 1 && tiles.on_thread == nullptr);
#pragma omp parallel if (!alone)
  {
    flush_denormals_to_zero();
    if (tiles.on_thread != nullptr) {
      tiles.on_thread(tiles.thread_context);
    }
    if (tiles.even) {
#pragma omp for schedule(static) nowait
      for (index tile = 0; tile < tiles.count; ++tile) {
        tiles.function(tiles.context, tile);
      }
    } else {
#pragma omp for schedule(dynamic, 1) nowait
      for (index tile = 0; tile < tiles.count; ++tile) {
        tiles.function(tiles.context, tile);
      }
    }
  }
}

}  // namespace detail
}  // namespace dikkat
