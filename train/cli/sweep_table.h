#pragma once

#include <filesystem>
#include <vector>

#include "train/run/sweep/sweep_directory.h"

// What a sweep has found, on standard output.
namespace dikkat {

/// A row for each combination, the best first.
void put_sweep_table(const SweepDescription& sweep, const std::vector<Standing>& all);
/// The same as one JSON object.
void put_sweep_object(const std::filesystem::path& out, const SweepDescription& sweep, const std::vector<Standing>& all, bool complete);

}  // namespace dikkat
