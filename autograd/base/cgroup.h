#pragma once

#include <filesystem>
#include <istream>
#include <string>
#include <string_view>

namespace dikkat {

/// Finds a process's cgroup, such as /a/b, in the lines of its /proc/PID/cgroup; "/" if it has none there. For version 2, whose line is
/// "0::/a/b", `controller` is empty; for version 1, as in "4:cpu,memory:/a/b", it is the controller, such as "memory".
std::string cgroup_in(std::istream& lines, std::string_view controller = "");

/// Returns the cgroup of this process, from /proc/self/cgroup; see cgroup_in().
std::string own_cgroup(std::string_view controller = "");

/// Calls visit(folder) for the cgroup `path` (such as /a/b) and for those above it, from the outermost: root, root/a, root/a/b.
/// Their limits all apply, so the lowest counts.
template <class Visit>
void for_each_cgroup(const std::filesystem::path& root, const std::string& path, Visit&& visit) {
  std::filesystem::path folder = root;
  visit(folder);
  for (const auto& name : std::filesystem::path(path).relative_path()) {
    folder /= name;
    visit(folder);
  }
}

}  // namespace dikkat
