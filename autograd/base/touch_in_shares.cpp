#include "autograd/base/pages.h"
#include "autograd/base/parallel.h"

namespace dikkat {

void touch_in_shares(std::byte* memory, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const auto count = static_cast<index>((bytes + kPage - 1) / kPage);
  parallel_ranges(
      count, Work::elements(count * 64), [] {},
      [&](index begin, index end) {
        for (index page = begin; page < end; ++page) {
          memory[static_cast<std::size_t>(page) * kPage] = std::byte{0};
        }
      });
}

}  // namespace dikkat
