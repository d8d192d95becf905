#include "autograd/base/dry_run.h"

#include <algorithm>
#include <utility>

namespace dikkat {
namespace {

thread_local DryRun* current = nullptr;

}  // namespace

DryRun::DryRun() noexcept : outer_(std::exchange(current, this)) {}
DryRun::~DryRun() { current = outer_; }

bool DryRun::active() noexcept { return current != nullptr; }

std::size_t DryRun::scratch_bytes(int threads) const noexcept {
  std::size_t bytes = 0;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    bytes += std::max(own_[slot], each_[slot]) + static_cast<std::size_t>(threads - 1) * each_[slot];
  }
  return bytes;
}

DryRun::EachThread::EachThread() noexcept { current->each_thread_ = true; }
DryRun::EachThread::~EachThread() { current->each_thread_ = false; }

void DryRun::note(Scratch slot, std::size_t bytes) noexcept {
  if (current != nullptr) {
    std::size_t& most = (current->each_thread_ ? current->each_ : current->own_)[static_cast<std::size_t>(slot)];
    most = std::max(most, bytes);
  }
}

}  // namespace dikkat
