// Replaces parallel.cpp where there is no OpenMP (DIKKAT_OPENMP=OFF). ThreadSanitizer reports false races in OpenMP's runtimes, which are
// not instrumented; it understands std::thread. Each loop starts and ends its threads, so that nothing else synchronizes them. This is
// slow.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "autograd/base/cores.h"
#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "autograd/base/thread_places.h"
#include "autograd/base/tile_loop.h"

namespace dikkat {
namespace {

int first_thread_count() {
  const char* chosen = std::getenv("OMP_NUM_THREADS");
  const int count = chosen == nullptr ? 0 : std::atoi(chosen);
  return count >= 1 ? count : usable_cores();
}

// Each thread has its own count, as with OpenMP.
thread_local int threads = first_thread_count();
thread_local bool in_loop = false;

/// Runs the share of thread `thread` of `size`.
void run_share(const detail::Tiles& tiles, detail::TileLoop& loop, int thread, int size, std::atomic<index>& next) {
  const FlushDenormals flushed;
  loop.begin_thread();
  if (tiles.even) {
    for (index tile = tiles.count * thread / size; tile < tiles.count * (thread + 1) / size; ++tile) {
      loop.run(tile);
    }
    return;
  }
  // Relaxed, so that taking tiles does not synchronize the threads' memory and hide races between tiles.
  for (index tile; (tile = next.fetch_add(1, std::memory_order_relaxed)) < tiles.count;) {
    loop.run(tile);
  }
}

}  // namespace

void add_thread_places(cpu_set_t&) noexcept {}

int thread_count() { return in_loop ? 1 : threads; }

void set_thread_count(int count) {
  require(count >= 1, "threads: ", count, ", expected 1 or more");
  threads = count;
}

void start_threads() {
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
  const int size = threads;
  std::atomic<index> next{0};
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(size - 1));
  for (int thread = 1; thread < size; ++thread) {
    others.emplace_back([&tiles, &loop, &next, thread, size] {
      in_loop = true;
      run_share(tiles, loop, thread, size, next);
    });
  }
  in_loop = true;
  run_share(tiles, loop, 0, size, next);
  in_loop = false;
  for (std::thread& other : others) {
    other.join();
  }
  loop.finish();
}

}  // namespace detail
}  // namespace dikkat
