#include "autograd/base/cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include <sched.h>

#include "autograd/base/cgroup.h"
#include "autograd/base/thread_places.h"

namespace dikkat {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// Returns the quota of one cgroup, in cores. Its file reads "max 100000" or "150000 100000": microseconds of processor time in each
/// period.
double quota_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? quota / period : kNoLimit;
}

/// Returns the cores in this thread's affinity mask, and those on which OpenMP's runtime places threads. With OMP_PROC_BIND it binds the
/// first thread to one of them before main() begins. Empty if the system does not report the mask.
cpu_set_t cores_of_process() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    CPU_ZERO(&set);
  }
  add_thread_places(set);
  return set;
}

}  // namespace

double cgroup_quota(const std::filesystem::path& root, const std::string& path) {
  double lowest = kNoLimit;
  for_each_cgroup(root, path, [&](const std::filesystem::path& folder) { lowest = std::min(lowest, quota_of(folder)); });
  return lowest;
}

int usable_cores() {
  const double quota = cgroup_quota("/sys/fs/cgroup", own_cgroup());
  const cpu_set_t set = cores_of_process();
  const int cores = CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
  return quota < cores ? static_cast<int>(std::ceil(quota)) : cores;
}

void use_all_cores() noexcept {
  const cpu_set_t set = cores_of_process();
  ::sched_setaffinity(0, sizeof set, &set);  // if this fails, the thread stays where it is
}

}  // namespace dikkat
