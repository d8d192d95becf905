#pragma once

#include <filesystem>
#include <vector>

#include "train/sweep/sweep_directory.h"

// Prints the results of a sweep to standard output.
namespace dikkat {

/// Prints a row for each combination, the best first.
void print_sweep_table(const SweepDescription& sweep, const std::vector<Standing>& all);
/// Prints the results as one JSON object.
void print_sweep_json(const std::filesystem::path& out, const SweepDescription& sweep, const std::vector<Standing>& all, bool complete);

}  // namespace dikkat
