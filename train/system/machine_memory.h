#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>

namespace dikkat {

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// The memory that this process can use, in bytes. kNoLimit stands for no limit.
struct MachineMemory {
  std::size_t total = kNoLimit;          // memory and swap space of the machine, or the limit of the process's cgroups
  std::size_t available = kNoLimit;      // free now, without swap space
  std::size_t address_space = kNoLimit;  // the limit of mapped memory, used or not (RLIMIT_AS)
  bool limited = false;                  // whether `total` is the limit of a cgroup
};
MachineMemory machine_memory();

/// The memory of this process, in bytes; 0 if unknown.
struct ProcessMemory {
  std::size_t resident = 0;       // bytes in use now (VmRSS)
  std::size_t peak = 0;           // the most in use so far (VmHWM)
  std::size_t address_space = 0;  // mapped (VmSize)
};
ProcessMemory process_memory();
/// Returns freed memory to the system; otherwise malloc() keeps it.
void return_free_memory();
/// Calls return_free_memory() at the end of a scope, also when an exception leaves it.
struct FreeMemoryReturner {
  bool is_on = true;

  explicit FreeMemoryReturner(bool on = true) : is_on(on) {}
  FreeMemoryReturner(const FreeMemoryReturner&) = delete;
  FreeMemoryReturner& operator=(const FreeMemoryReturner&) = delete;
  ~FreeMemoryReturner() {
    if (is_on) {
      return_free_memory();
    }
  }
};

/// The limits of a cgroup and of those above it, in bytes.
struct CgroupMemory {
  std::size_t limit = kNoLimit;      // the lowest of their limits, including swap space
  std::size_t available = kNoLimit;  // the lowest free amount, including file pages that can be dropped, without swap space
};
/// Reads the limits of the cgroup `path` (such as /a/b) and those above it from memory.max and related files under `root` (version 2).
/// `swap` is the machine's swap space in bytes.
CgroupMemory cgroup_memory(const std::filesystem::path& root, const std::string& path, std::size_t swap);
/// Does what cgroup_memory() does, but for version 1, from memory.limit_in_bytes and related files.
CgroupMemory cgroup_memory_v1(const std::filesystem::path& root, const std::string& path, std::size_t swap);

}  // namespace dikkat
