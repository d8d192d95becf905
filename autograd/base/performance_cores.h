#pragma once

#include <filesystem>

#include <sched.h>

namespace dikkat {

/// Returns the cores among which equal shares of work end first, if the kernel reports cores of several speeds. It reads cpu_core/cpus and
/// cpu_atom/cpus, or system/cpu/cpu*/cpu_capacity, below `devices` (/sys/devices). A set of cores is as fast as its slowest one times their
/// number; a core of cpu_atom counts as half of one of cpu_core. Empty if all cores have one speed, or if all of them are the fastest set.
cpu_set_t performance_cores(const std::filesystem::path& devices);

/// Restricts this thread, and programs that it starts, to performance_cores(). Returns whether it did so. It does nothing if the process
/// may use only some of the cores already, if an argument is --threads, or if the environment chooses OpenMP's threads or their places.
bool use_performance_cores(const std::filesystem::path& devices, char** argv) noexcept;

/// Returns whether this thread may use exactly performance_cores().
bool is_on_performance_cores(const std::filesystem::path& devices = "/sys/devices");

}  // namespace dikkat
