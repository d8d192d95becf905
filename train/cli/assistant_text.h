#pragma once

#include <filesystem>
#include <string>

#include "train/assistant/plan.h"

namespace dikkat {

/// Returns tables for people: each stage with its time, and the share of held-out questions that the model answered after it.
std::string report_text(const AssistantPlan& plan);

/// Writes report.md and the page report.html into an assistant's folder, with all stages that have begun. Returns the page's path. Throws
/// InputError if no stage has begun.
std::filesystem::path write_assistant_report(const std::filesystem::path& folder, const AssistantPlan& plan);

}  // namespace dikkat
