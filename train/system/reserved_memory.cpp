#include "train/system/reserved_memory.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include <sys/mman.h>

namespace dikkat {
namespace {

constexpr std::size_t kAlignment = 64;

/// The reserved memory. Parts are taken one after another, and all of it is free again when the last one is returned.
struct Reserve {
  std::atomic<std::uintptr_t> begin = 0, end = 0;
  std::mutex mutex;  // guards the next two members
  std::size_t taken = 0, parts = 0;
};

Reserve& reserve() {
  static constinit Reserve one;
  return one;
}

}  // namespace

void reserve_memory_for_unwinding(std::size_t bytes) noexcept {
  Reserve& all = reserve();
  if (all.begin != 0) {
    return;
  }
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) {
    all.end = reinterpret_cast<std::uintptr_t>(memory) + bytes;
    all.begin = reinterpret_cast<std::uintptr_t>(memory);
  }
}

void* reserved_memory(std::size_t bytes) noexcept {
  Reserve& all = reserve();
  // A library may destroy parts in a handler that throws again.
  const bool handles_exception = std::uncaught_exceptions() > 0 || std::current_exception() != nullptr;
  if (all.begin == 0 || !handles_exception) {
    return nullptr;
  }
  const std::lock_guard lock(all.mutex);
  const std::size_t left = all.end - all.begin - all.taken;
  if (bytes > left) {
    return nullptr;
  }
  void* const memory = reinterpret_cast<void*>(all.begin + all.taken);
  all.taken += left - bytes < kAlignment ? left : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  ++all.parts;
  return memory;
}

bool free_reserved_memory(const void* memory) noexcept {
  Reserve& all = reserve();
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  if (at < all.begin || at >= all.end) {
    return false;
  }
  const std::lock_guard lock(all.mutex);
  if (--all.parts == 0) {
    all.taken = 0;
    ::madvise(reinterpret_cast<void*>(all.begin.load()), all.end - all.begin, MADV_DONTNEED);
  }
  return true;
}

}  // namespace dikkat
