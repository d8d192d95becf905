#include "autograd/base/dry_run.h"

#include <algorithm>
#include <utility>

#include "autograd/base/scratch.h"

namespace dikkat {
namespace {

thread_local DryRun* current = nullptr;

}  // namespace

DryRun::DryRun() noexcept : outer_(std::exchange(current, this)) {}

DryRun::~DryRun() {
  current = outer_;
  if (outer_ == nullptr) {
    drop_scratch();  // mapped without huge pages, as Pages does in a dry run
  }
}

bool DryRun::active() noexcept { return current != nullptr; }

std::size_t DryRun::scratch_bytes(int threads) const noexcept {
  return own_bytes_ + static_cast<std::size_t>(threads - 1) * each_other_bytes_;
}

DryRun::EachThread::EachThread() noexcept : within_another_(current->each_thread_) {
  if (!within_another_) {
    current->each_thread_ = true;
    current->each_begin_ = scratch_in_use();
  }
}
DryRun::EachThread::~EachThread() { current->each_thread_ = within_another_; }

void DryRun::note_scratch(std::size_t in_use) noexcept {
  if (current != nullptr) {
    current->own_bytes_ = std::max(current->own_bytes_, in_use);
    if (current->each_thread_) {
      current->each_other_bytes_ = std::max(current->each_other_bytes_, in_use - current->each_begin_);
    }
  }
}

}  // namespace dikkat
