#include "autograd/base/performance_cores.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

namespace dikkat {
namespace {

cpu_set_t no_cores() {
  cpu_set_t none;
  CPU_ZERO(&none);
  return none;
}

cpu_set_t cores_of_thread() {
  cpu_set_t cores = no_cores();
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? cores : no_cores();
}

/// Reads a list such as "0-3,8,10-11". Empty if there is no such file, or if it has something else.
cpu_set_t cores_in(const std::filesystem::path& list) {
  cpu_set_t cores = no_cores();
  std::ifstream file(list);
  for (int first = 0; file >> first;) {
    int last = first;
    if (file.peek() == '-' && !(file.ignore() >> last)) {
      return no_cores();
    }
    if (first < 0 || last < first || last >= CPU_SETSIZE) {
      return no_cores();
    }
    for (int core = first; core <= last; ++core) {
      CPU_SET(core, &cores);
    }
    if (file.peek() != ',') {
      break;
    }
    file.ignore();
  }
  return cores;
}

constexpr int kFastest = 1024;  // the capacity that the kernel gives to the fastest core
using Capacities = std::array<int, CPU_SETSIZE>;

/// Returns the capacity of each of these cores; 0 for all others, and if the kernel does not report it.
Capacities capacities_of(const cpu_set_t& cores, const std::filesystem::path& devices) {
  const cpu_set_t core = cores_in(devices / "cpu_core/cpus"), atom = cores_in(devices / "cpu_atom/cpus");
  const bool has_kinds = CPU_COUNT(&core) > 0 && CPU_COUNT(&atom) > 0;
  Capacities capacities{};
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &cores)) {
      continue;
    }
    if (has_kinds) {
      capacities[i] = CPU_ISSET(i, &core) ? kFastest : CPU_ISSET(i, &atom) ? kFastest / 2 : 0;
    } else {
      std::ifstream(devices / "system/cpu" / ("cpu" + std::to_string(i)) / "cpu_capacity") >> capacities[i];
    }
  }
  return capacities;
}

bool chooses_threads(char** argv) {
  constexpr const char* kNames[] = {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_HW_SUBSET"};
  bool chooses = std::any_of(std::begin(kNames), std::end(kNames), [](const char* name) { return std::getenv(name) != nullptr; });
  for (; argv != nullptr && *argv != nullptr; ++argv) {
    chooses = chooses || std::string_view(*argv) == "--threads" || std::string_view(*argv).starts_with("--threads=");
  }
  return chooses;
}

}  // namespace

cpu_set_t performance_cores(const std::filesystem::path& devices) {
  const cpu_set_t all = cores_in(devices / "system/cpu/online");
  const Capacities capacities = capacities_of(all, devices);
  const auto as_fast_as = [&](int capacity) { return std::ranges::count_if(capacities, [&](int c) { return c >= capacity; }); };
  // Find the least capacity of the fastest set. Among equal sets, the smaller one leaves cores to other programs.
  int least = 0;
  std::ptrdiff_t fastest = 0;
  Capacities from_the_top = capacities;
  std::ranges::sort(from_the_top, std::greater<>());
  for (const int capacity : from_the_top) {
    if (capacity > 0 && as_fast_as(capacity) * capacity > fastest) {
      least = capacity;
      fastest = as_fast_as(capacity) * capacity;
    }
  }
  // A core of unknown speed cannot be compared.
  if (least == 0 || as_fast_as(1) < CPU_COUNT(&all) || as_fast_as(least) == CPU_COUNT(&all)) {
    return no_cores();
  }
  cpu_set_t chosen = no_cores();
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (capacities[i] >= least) {
      CPU_SET(i, &chosen);
    }
  }
  return chosen;
}

bool use_performance_cores(const std::filesystem::path& devices, char** argv) noexcept {
  try {
    const cpu_set_t chosen = performance_cores(devices), all = cores_in(devices / "system/cpu/online"), own = cores_of_thread();
    return CPU_COUNT(&chosen) > 0 && CPU_EQUAL(&own, &all) && !chooses_threads(argv) && ::sched_setaffinity(0, sizeof chosen, &chosen) == 0;
  } catch (...) {
    return false;  // without memory, threads stay where they are
  }
}

bool is_on_performance_cores(const std::filesystem::path& devices) {
  const cpu_set_t chosen = performance_cores(devices), own = cores_of_thread();
  return CPU_COUNT(&chosen) > 0 && CPU_EQUAL(&own, &chosen);
}

}  // namespace dikkat
