#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "autograd/base/index.h"

namespace dikkat {

/// Returns the number of threads that kernels use when this thread calls them. The default is OMP_NUM_THREADS, or usable_cores(). It is 1
/// within a parallel loop.
int thread_count();
/// Throws Error unless count is 1 or more.
void set_thread_count(int count);

/// Starts the threads that kernels run on. Throws Error, with the number that could be started, if the system allows fewer. Without this
/// call they start with the first kernel, and OpenMP's runtime ends the process if it cannot start them.
void start_threads();

/// Makes waiting threads spin for some microseconds before they sleep, unless the environment sets another policy: by default they spin for
/// milliseconds, which slows steps down if another process uses a core. Also lets threads run on performance cores only
/// (performance_cores.h). Call it first in main(): OpenMP's runtimes read the environment before main() begins, so this starts the program
/// once more.
void wait_briefly(char** argv) noexcept;

/// A rough estimate of a loop's work, from shapes: the number of multiply-adds, at full speed, that take as long. It only decides whether
/// other threads are woken, which changes no bits.
struct Work {
  double multiply_adds;

  static constexpr Work products(index m, index n, index k) {
    return {static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k)};
  }
  /// Returns the work of reading and writing n elements once: an element takes as long as 32 multiply-adds.
  static constexpr Work elements(index n) { return {32 * static_cast<double>(n)}; }
};

/// A loop with less work than this runs only on the calling thread. It is about 5 microseconds, the time that waking the others takes.
inline constexpr Work kLeastWork{1 << 19};

/// Returns the number of loops that this process has run on more than one thread.
std::int64_t parallel_loops() noexcept;

/// While it lives, kernels that this thread calls (and the libraries that they call) run on `count` threads, except for loops with less
/// work than `least`.
class WithThreads {
 public:
  /// Throws Error unless count is 1 or more.
  explicit WithThreads(int count, Work least = kLeastWork);
  ~WithThreads();
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int count_before_;
  double least_before_;
};

namespace detail {
inline constexpr Work kMuch{1e300};
using TileFunction = void (*)(void* context, index tile);
using ThreadFunction = void (*)(void* context);
struct Tiles {
  index count;
  bool even;
  Work work;
  TileFunction function;
  void* context;
  ThreadFunction on_thread;  // called once on each thread before its first tile; null for none
  void* thread_context;
};
void run_tiles(const Tiles& tiles);

template <class F>
constexpr TileFunction kTileFunction = [](void* context, index tile) { (*static_cast<F*>(context))(tile); };
template <class F>
constexpr ThreadFunction kThreadFunction = [](void* context) { (*static_cast<F*>(context))(); };
}  // namespace detail

/// Calls f(tile) for tile = 0 to tiles - 1, on all threads, in any order.
///
/// The bits are equal on any number of threads if callers keep three rules. Tiles follow from shapes and never from the thread count. Each
/// tile owns the memory that it writes. Partial sums are kept per tile and added in tile order.
/// When f throws (for example because a thread gets no scratch memory), tiles that have not begun are skipped, and one of the exceptions is
/// rethrown here. While f runs, denormals are flushed to zero. In a DryRun f is not called.
template <class F>
void parallel_for(index tiles, Work work, F&& f) {
  detail::run_tiles({tiles, true, work, detail::kTileFunction<std::remove_reference_t<F>>, &f, nullptr, nullptr});
}
/// Runs a loop whose work is large or unknown.
template <class F>
void parallel_for(index tiles, F&& f) {
  parallel_for(tiles, detail::kMuch, f);
}
/// Each thread calls on_thread() before its tiles, even if it gets none. on_thread() should lease the scratch memory that a tile needs and
/// release it. Then a thread that gets its first tile in a later step has that memory already, and a DryRun, which calls on_thread() once,
/// counts it.
template <class P, class F>
void parallel_for(index tiles, Work work, P&& on_thread, F&& f) {
  detail::run_tiles({tiles, true, work, detail::kTileFunction<std::remove_reference_t<F>>, &f,
                     detail::kThreadFunction<std::remove_reference_t<P>>, &on_thread});
}

/// Does what parallel_for() does, but for tiles of unequal work: a thread takes the next tile when it has finished one. Tiles begin in
/// their order, so a tile may wait for one before it.
template <class P, class F>
void parallel_for_uneven(index tiles, Work work, P&& on_thread, F&& f) {
  detail::run_tiles({tiles, false, work, detail::kTileFunction<std::remove_reference_t<F>>, &f,
                     detail::kThreadFunction<std::remove_reference_t<P>>, &on_thread});
}

/// Returns, within a parallel loop, whether one of its tiles has thrown, so that tiles that have not begun are skipped. Tiles that wait for
/// another tile check this.
bool parallel_loop_failed() noexcept;

/// Calls f(begin, end) for consecutive ranges that cover 0 to n - 1, one range for each thread and all of about the same length. Ranges
/// depend on the number of threads, so what f computes for an element must not depend on the range. on_thread() is as above.
template <class P, class F>
void parallel_ranges(index n, Work work, P&& on_thread, F&& f) {
  const index ranges = work.multiply_adds < kLeastWork.multiply_adds ? 1 : std::min<index>(thread_count(), std::max<index>(n, 1));
  parallel_for(ranges, work, on_thread, [&](index i) { f(n * i / ranges, n * (i + 1) / ranges); });
}

/// Calls f(begin, end) for consecutive blocks of at most `block` of the n elements.
template <class F>
void parallel_blocks(index n, index block, Work work, F&& f) {
  parallel_for(ceil_div(n, block), work, [&](index tile) {
    const index begin = tile * block;
    f(begin, begin + block < n ? begin + block : n);
  });
}
/// Does what parallel_blocks() above does, but for work that is proportional to the number of elements.
template <class F>
void parallel_blocks(index n, index block, F&& f) {
  parallel_blocks(n, block, Work::elements(n), f);
}

}  // namespace dikkat
