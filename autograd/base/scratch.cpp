#include "autograd/base/scratch.h"

#include <algorithm>

#include "autograd/base/dry_run.h"

namespace dikkat {
namespace {

constexpr std::size_t kAlignment = 64;

struct Stack {
  Pages memory;
  std::size_t used = 0;  // bytes of all leases; the next one begins here
  std::size_t most = 0;  // the most bytes ever used at once
};
thread_local Stack stack;

}  // namespace

ScratchLease::ScratchLease(std::size_t bytes) : bytes_((bytes + kAlignment - 1) / kAlignment * kAlignment) {
  const std::size_t end = stack.used + bytes_;
  const std::size_t most = std::max(stack.most, end);
  if (stack.used == 0 && stack.memory.size() < most) {
    stack.memory = Pages();
    stack.memory = Pages(most + most / 4, "kernel scratch");
  }
  if (end > stack.memory.size()) {
    own_pages_ = Pages(bytes_, "kernel scratch");
    data_ = own_pages_.data();
  } else {
    data_ = stack.memory.data() + stack.used;
  }
  stack.most = most;
  stack.used = end;
  DryRun::note_scratch(end);
}

ScratchLease::~ScratchLease() { stack.used -= bytes_; }

std::size_t scratch_in_use() noexcept { return stack.used; }

void drop_scratch() noexcept {
  if (stack.used == 0) {
    stack.memory = Pages();
    stack.most = 0;
  }
}

}  // namespace dikkat
