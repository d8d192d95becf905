#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "train/assistant/events.h"
#include "train/assistant/planner.h"
#include "train/cli/terminal/progress.h"

// The sentences and tables of `dikkat assistant`.
namespace dikkat {

/// Returns the table of a plan: a row for each part, with its time and what happens.
std::string plan_table(const assistant::PlanOutline& outline);

/// Returns a warning of a text that will be read very often; empty if it will not.
std::string remark_on_small_text(const assistant::PlanFigures& figures);

/// Returns tables for people: each stage with its time, and the share of held-out questions that the model answered after it.
std::string report_text(const assistant::Plan& plan);

/// Writes report.md and the page report.html into an assistant's folder, with all stages that have begun. Returns the page's path. Throws
/// InputError if no stage has begun.
std::filesystem::path write_assistant_report(const std::filesystem::path& folder, const assistant::Plan& plan);

/// Prints what an assistant does.
class AssistantMessages : public assistant::Events {
 public:
  void reading(const LoadingReport& report) override;
  void tried() override { line_.reset(); }
  void begins(const assistant::Plan& plan) override;
  void stage_begins(const assistant::Plan& plan, std::size_t stage) override;

 private:
  std::optional<LoadingLine> line_;
};

}  // namespace dikkat
