#pragma once

#include <chrono>
#include <filesystem>

namespace dikkat {

/// Runs the stages that are left of an assistant, from the plan in its folder (train/assistant/plan.h), and then writes its report and
/// its model. Prints the results, as JSON if `json`, and the time since `start`. Returns the exit code. Throws InputError if another
/// process runs them.
int run_assistant(const std::filesystem::path& folder, bool json, std::chrono::steady_clock::time_point start);

}  // namespace dikkat
