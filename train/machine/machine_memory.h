#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>

namespace dikkat {

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// The memory that this process can use, in bytes; kNoLimit where the system names no limit.
struct MachineMemory {
  std::size_t total = kNoLimit;          // of the machine with its swap space, or the limit of its cgroups
  std::size_t available = kNoLimit;      // free now; without swap space
  std::size_t address_space = kNoLimit;  // RLIMIT_AS: of all that is mapped, used or not
  bool limited = false;                  // `total` is a cgroup's, and not the machine's
};
MachineMemory machine_memory();

/// Memory of this process, in bytes; 0 where the system does not say.
struct ProcessMemory {
  std::size_t resident = 0;       // in use now (VmRSS)
  std::size_t peak = 0;           // at its highest so far (VmHWM)
  std::size_t address_space = 0;  // mapped (VmSize)
};
ProcessMemory process_memory();

/// The limits of a cgroup and of those above it.
struct CgroupMemory {
  std::size_t limit = kNoLimit;      // the least of their limits, swap space included
  std::size_t available = kNoLimit;  // the least that is free, with file pages that can be dropped; without swap space
};
/// Of the cgroup `path`, such as /a/b: memory.max and its neighbours under `root` (v2). `swap`: bytes of swap space that the machine has.
CgroupMemory cgroup_memory(const std::filesystem::path& root, const std::string& path, std::size_t swap);
/// The same by the names of v1, memory.limit_in_bytes and its neighbours.
CgroupMemory cgroup_memory_v1(const std::filesystem::path& root, const std::string& path, std::size_t swap);

}  // namespace dikkat
