#pragma once

#include <filesystem>
#include <string>

#include "train/loop/memory_plan.h"

// What a run takes, in words.
namespace dikkat {

/// "47.1 MB at most: 13.0 MB for weights, ...; the machine has 25.2 GB, 24.9 GB of them available"
std::string memory_line(const MemoryPlan& plan, const MachineMemory& machine);
/// "9.8 MB a checkpoint, up to 5 at once: 49.0 MB; 200 GB are free"
std::string disk_line(const DiskPlan& plan, const std::filesystem::path& folder);
/// Empty where there is enough.
std::string shortage_of_memory(const MemoryPlan& plan, const MachineMemory& machine);
std::string shortage_of_disk(const DiskPlan& plan, const std::filesystem::path& folder);

}  // namespace dikkat
