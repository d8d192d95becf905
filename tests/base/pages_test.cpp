#include "autograd/base/pages.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

namespace dikkat {
namespace {

/// The system's pages have 4 KiB, or up to 64 on arm64.
TEST(Pages, OnlyWholePagesAreReleased) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  Pages pages(8 * page, "memory");
  for (const auto& [from, to] : {std::pair{page / 2, 3 * page + page / 2}, std::pair{page, 2 * page}, std::pair{page / 8, page / 4}}) {
    std::fill_n(pages.data(), pages.size(), std::byte{1});
    pages.release(from, to - from);
    const std::size_t first = (from + page - 1) / page * page, end = std::max(to / page * page, first);
    EXPECT_EQ(std::count(pages.data() + first, pages.data() + end, std::byte{0}), static_cast<std::ptrdiff_t>(end - first)) << from;
    const auto kept = std::count(pages.data(), pages.data() + pages.size(), std::byte{1});
    EXPECT_EQ(kept, static_cast<std::ptrdiff_t>(pages.size() - (end - first))) << from;
  }
}

}  // namespace
}  // namespace dikkat
