#include "autograd/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

#include <omp.h>
#include <pthread.h>

#include "autograd/base/cores.h"
#include "autograd/base/error.h"
#include "autograd/base/thread_places.h"
#include "autograd/base/tile_loop.h"

namespace dikkat {
namespace {

// OpenMP's default respects the affinity mask but not a cgroup's CPU quota: threads beyond the quota are stopped for most of a period.
[[maybe_unused]] const bool threads_are_chosen = [] {
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    omp_set_num_threads(std::min(omp_get_max_threads(), usable_cores()));
  }
  return true;
}();

}  // namespace

void add_thread_places(cpu_set_t& cores) noexcept {
  if (omp_get_proc_bind() == omp_proc_bind_false) {
    return;  // no thread is bound; LLVM's runtime has places even so
  }
  for (int place = 0; place < omp_get_num_places(); ++place) {
    int numbers[CPU_SETSIZE];
    const int count = omp_get_place_num_procs(place);
    if (count > CPU_SETSIZE) {
      continue;
    }
    omp_get_place_proc_ids(place, numbers);
    for (int i = 0; i < count; ++i) {
      if (numbers[i] < CPU_SETSIZE) {
        CPU_SET(numbers[i], &cores);
      }
    }
  }
}

int thread_count() { return omp_in_parallel() != 0 ? 1 : omp_get_max_threads(); }

void set_thread_count(int count) {
  require(count >= 1, "threads: ", count, ", expected 1 or more");
  omp_set_num_threads(count);
}

void start_threads() {
  const int wanted = thread_count() - 1;  // this thread runs already
  // Start one thread for each that OpenMP will need, and let them all wait, to see whether the system allows so many.
  std::atomic<bool> over = false;
  std::vector<std::thread> probes;  // all at once, as OpenMP wants them
  const auto end_probes = [&] {
    over = true;
    over.notify_all();
    for (std::thread& probe : probes) {
      probe.join();
    }
  };
  try {
    probes.reserve(static_cast<std::size_t>(wanted));
    for (int i = 0; i < wanted; ++i) {
      probes.emplace_back([&over] { over.wait(false); });
    }
  } catch (const std::system_error& error) {
    const std::size_t started = probes.size();
    end_probes();
    fail("threads: ", started + 1, " of ", wanted + 1, " could be started (", error.code().message(),
         "): each maps a stack of its own (ulimit -s) and counts as a process (ulimit -u); raise these limits, or ask for fewer with "
         "--threads");
  } catch (...) {
    end_probes();
    throw;
  }
  end_probes();
  // OpenMP's threads end by pthread_exit(), for which the C library loads its unwinder; without memory it aborts. Load it now.
  pthread_t last{};
  if (::pthread_create(&last, nullptr, [](void*) -> void* { ::pthread_exit(nullptr); }, nullptr) == 0) {
    ::pthread_join(last, nullptr);
  }
  // A loop over all threads makes OpenMP start them.
  parallel_for(thread_count(), [](index) {});
}

namespace detail {

void run_tiles(const Tiles& tiles) {
  if (TileLoop::is_dry(tiles)) {
    return;
  }
  TileLoop loop(tiles);
  if (loop.is_for_one_thread()) {
    loop.run_all();
    return;
  }
  std::atomic<index> next = 0;  // OpenMP's dynamic schedule may hand out tiles in another order than theirs
#pragma omp parallel
  {
    const FlushDenormals flushed;
    loop.begin_thread();
    if (tiles.even) {
#pragma omp for schedule(static) nowait
      for (index tile = 0; tile < tiles.count; ++tile) {
        loop.run(tile);
      }
    } else {
      for (index tile = 0; (tile = next.fetch_add(1, std::memory_order_relaxed)) < tiles.count;) {
        loop.run(tile);
      }
    }
  }
  loop.finish();
}

}  // namespace detail
}  // namespace dikkat
