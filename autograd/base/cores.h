#pragma once

#include <filesystem>
#include <string>

namespace dikkat {

/// Returns the number of cores that this process may use, 1 or more. It is the number in its affinity mask, limited by the CPU quota of its
/// cgroup (v2), rounded up. If OpenMP's runtime has bound this thread to one core (OMP_PROC_BIND), the cores of its other threads count
/// too.
int usable_cores();

/// Lets this thread run on all cores of the process, even if OpenMP's runtime has bound it to one.
void use_all_cores() noexcept;

/// Returns the lowest CPU quota, in cores, of the cgroup `path` (such as /a/b) and those above it. It is read from the cpu.max files below
/// `root`. Returns infinity if nothing limits it.
double cgroup_quota(const std::filesystem::path& root, const std::string& path);

}  // namespace dikkat
