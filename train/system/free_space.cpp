#include "train/system/free_space.h"

#include <limits>

#include <sys/statvfs.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/system/format_numbers.h"

namespace dikkat {

std::optional<index> free_space(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::path there = std::filesystem::absolute(path, ignored);
  while (!std::filesystem::exists(there, ignored) && there.has_parent_path() && there != there.parent_path()) {
    there = there.parent_path();
  }
  struct statvfs info{};
  if (::statvfs(there.c_str(), &info) != 0 || info.f_blocks == 0) {
    return std::nullopt;
  }
  const auto blocks = static_cast<index>(::geteuid() == 0 ? info.f_bfree : info.f_bavail);  // f_bavail excludes blocks reserved for root
  index bytes = 0;
  return __builtin_mul_overflow(blocks, static_cast<index>(info.f_frsize), &bytes) ? std::numeric_limits<index>::max() : bytes;
}

std::string lack_of_space(const std::filesystem::path& path, index bytes) {
  const auto left = free_space(path);
  return !left || *left >= bytes ? ""
                                 : concat(grouped_digits(bytes), " bytes are needed, and the file system of ", path.string(), " has ",
                                          grouped_digits(*left), " left");
}

}  // namespace dikkat
