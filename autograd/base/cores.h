#pragma once

#include <filesystem>
#include <string>

namespace dikkat {

/// Cores that this process may use, 1 or more: those of its affinity mask, and no more than its cgroup (v2) has time for, a part of a
/// core counting as one.
int usable_cores();

/// Cores' worth of time that the cgroup `path`, such as /a/b, and those above it may take, by their cpu.max under `root`; infinity
/// where nothing limits them.
double cgroup_quota(const std::filesystem::path& root, const std::string& path);

}  // namespace dikkat
