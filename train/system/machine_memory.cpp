#include "train/system/machine_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include <malloc.h>
#include <sys/resource.h>

#include "autograd/base/cgroup.h"

namespace dikkat {
namespace {

std::size_t sum_of(std::size_t a, std::size_t b) { return a > kNoLimit - b ? kNoLimit : a + b; }

/// Reads a file with one number. "max" or a missing file means no limit.
std::size_t number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::size_t number = 0;
  return file >> number ? number : kNoLimit;
}

/// Returns the number in a line "name 123" of the file, or `otherwise`.
std::size_t field_in(const std::filesystem::path& path, std::string_view name, std::size_t otherwise) {
  std::ifstream file(path);
  std::string found;
  std::size_t number = 0;
  while (file >> found) {
    if (found == name) {
      return file >> number ? number : otherwise;
    }
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return otherwise;
}

/// Returns the lowest of the limits that memory_of(folder) returns for the cgroup `path` and those above it.
template <class MemoryOf>
CgroupMemory lowest(const std::filesystem::path& root, const std::string& path, MemoryOf&& memory_of) {
  CgroupMemory lowest;
  for_each_cgroup(root, path, [&](const std::filesystem::path& folder) {
    const CgroupMemory here = memory_of(folder);
    lowest = {.limit = std::min(lowest.limit, here.limit), .available = std::min(lowest.available, here.available)};
  });
  return lowest;
}

/// Returns the part of a limit that is still free. Inactive file pages count as free, because the kernel drops them when memory is needed.
std::size_t remaining(std::size_t limit, std::size_t used, std::size_t droppable) {
  if (limit == kNoLimit || used == kNoLimit) {
    return kNoLimit;
  }
  const std::size_t in_use = used - std::min(used, droppable);
  return limit - std::min(limit, in_use);
}

std::size_t soft_limit_of_address_space() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : kNoLimit;
}

constexpr std::size_t kKilo = 1024;  // the meaning of "kB" in /proc

std::size_t kilobytes_in(const std::filesystem::path& path, std::string_view name, std::size_t otherwise) {
  const std::size_t number = field_in(path, name, kNoLimit);
  return number == kNoLimit ? otherwise : number * kKilo;
}

}  // namespace

CgroupMemory cgroup_memory(const std::filesystem::path& root, const std::string& path, std::size_t swap) {
  return lowest(root, path, [swap](const std::filesystem::path& folder) -> CgroupMemory {
    const std::size_t limit = number_in(folder / "memory.max");
    return {.limit = sum_of(limit, std::min(number_in(folder / "memory.swap.max"), swap)),
            .available = remaining(limit, number_in(folder / "memory.current"), field_in(folder / "memory.stat", "inactive_file", 0))};
  });
}

CgroupMemory cgroup_memory_v1(const std::filesystem::path& root, const std::string& path, std::size_t swap) {
  return lowest(root, path, [swap](const std::filesystem::path& folder) -> CgroupMemory {
    const std::size_t limit = number_in(folder / "memory.limit_in_bytes");
    return {.limit = std::min(sum_of(limit, swap), number_in(folder / "memory.memsw.limit_in_bytes")),
            .available =
                remaining(limit, number_in(folder / "memory.usage_in_bytes"), field_in(folder / "memory.stat", "total_inactive_file", 0))};
  });
}

MachineMemory machine_memory() {
  constexpr const char* kFacts = "/proc/meminfo";
  const std::size_t swap = kilobytes_in(kFacts, "SwapTotal:", 0);
  MachineMemory memory{.total = sum_of(kilobytes_in(kFacts, "MemTotal:", kNoLimit), swap),
                       .available = kilobytes_in(kFacts, "MemAvailable:", kNoLimit),
                       .address_space = soft_limit_of_address_space()};
  for (const CgroupMemory& cgroup :
       {cgroup_memory("/sys/fs/cgroup", own_cgroup(), swap), cgroup_memory_v1("/sys/fs/cgroup/memory", own_cgroup("memory"), swap)}) {
    memory.limited |= cgroup.limit < memory.total;
    memory.total = std::min(memory.total, cgroup.limit);
    memory.available = std::min(memory.available, cgroup.available);
  }
  return memory;
}

void return_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

ProcessMemory process_memory() {
  constexpr const char* kStatus = "/proc/self/status";
  return {.resident = kilobytes_in(kStatus, "VmRSS:", 0),
          .peak = kilobytes_in(kStatus, "VmHWM:", 0),
          .address_space = kilobytes_in(kStatus, "VmSize:", 0)};
}

}  // namespace dikkat
