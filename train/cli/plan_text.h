#pragma once

#include <filesystem>
#include <string>

#include "train/run/memory_plan.h"

// Memory and disk plans as lines for people.
namespace dikkat {

/// Returns "194.1 MB at most: 13.0 MB for weights, ...; 24.69 GB available".
std::string memory_line(const MemoryPlan& plan, const MachineMemory& machine);
/// Returns "9.8 MB per checkpoint, 49.0 MB for 5 at once; 200 GB free".
std::string disk_line(const DiskPlan& plan, const std::filesystem::path& folder);
/// Return a sentence if there is too little; empty otherwise.
std::string shortage_of_memory(const MemoryPlan& plan, const MachineMemory& machine);
std::string shortage_of_disk(const DiskPlan& plan, const std::filesystem::path& folder);

}  // namespace dikkat
