#include "autograd/base/scratch.h"

#include <algorithm>
#include <array>

#include "autograd/base/dry_run.h"
#include "autograd/base/pages.h"

namespace dikkat {

void* scratch(Scratch slot, std::size_t bytes) {
  DryRun::note(slot, bytes);
  static thread_local std::array<Pages, static_cast<std::size_t>(Scratch::count)> slots;
  Pages& pages = slots[static_cast<std::size_t>(slot)];
  if (pages.size() < bytes) {
    pages = Pages();
    pages = Pages(std::max<std::size_t>(bytes + bytes / 4, 4096), "kernel scratch");
  }
  return pages.data();
}

}  // namespace dikkat
