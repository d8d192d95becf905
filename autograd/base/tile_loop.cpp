#include "autograd/base/tile_loop.h"

#include <atomic>

namespace dikkat {
namespace {

thread_local double least_work = kLeastWork.multiply_adds;
std::atomic<std::int64_t> loops_of_several{0};

}  // namespace

std::int64_t parallel_loops() noexcept { return loops_of_several.load(std::memory_order_relaxed); }

WithThreads::WithThreads(int count, Work least) : count_before_(thread_count()), least_before_(least_work) {
  set_thread_count(count);
  least_work = least.multiply_adds;
}

WithThreads::~WithThreads() {
  set_thread_count(count_before_);  // NOLINT(bugprone-exception-escape): it was a count before
  least_work = least_before_;
}

bool parallel_loop_failed() noexcept { return detail::TileLoop::failed_here(); }

namespace detail {

thread_local const std::atomic<bool>* TileLoop::failed_here_ = nullptr;

bool TileLoop::is_for_one_thread() const noexcept {
  if (tiles_.work.multiply_adds < least_work || (tiles_.count <= 1 && tiles_.on_thread == nullptr) || thread_count() == 1) {
    return true;
  }
  loops_of_several.fetch_add(1, std::memory_order_relaxed);
  return false;
}

}  // namespace detail
}  // namespace dikkat
