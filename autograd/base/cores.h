#pragma once

#include <filesystem>
#include <string>

namespace dikkat {

/// The number of cores that this process may use, 1 or more: those of its affinity mask, and no more than the CPU quota of its cgroup (v2),
/// rounded up.
int usable_cores();

/// The CPU quota of the cgroup `path`, such as /a/b, and of those above it, in cores: read from cpu.max below `root`. Infinity where there
/// is no limit.
double cgroup_quota(const std::filesystem::path& root, const std::string& path);

}  // namespace dikkat
