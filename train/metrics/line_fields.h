#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "train/metrics/read_metrics.h"

// Functions that read a line of metrics.jsonl. Users may edit it, so a field that is missing or of another type has no value.
namespace dikkat::metrics_line {

using Json = nlohmann::json;

/// The beginning of every line that this program writes.
inline constexpr std::string_view kStart = "{\"event\":";

/// Returns the step of a line; nullopt if it has none.
std::optional<index> step_of(const Json& object);
/// Returns the number with this name; NaN if it is missing, or null, which stands for NaN and infinity.
double number_in(const Json& object, const char* name);
/// Returns the integer with this name; 0 unless it is from 0 to 2^53.
index count_in(const Json& object, const char* name);
/// Returns the text with this name; empty if there is none.
std::string text_in(const Json& object, const char* name);
/// Returns whether the line is about this event.
bool is_event(const Json& object, std::string_view name);

/// Returns the scored set of a line; unknown in lines of an earlier version, which did not record it.
LossFingerprint scored_in(const Json& object);
/// Returns the metrics of an objective, sorted by name: the numbers, or null, whose names are not in `own`.
Metrics metrics_in(const Json& object, std::span<const std::string_view> own);
/// Returns the metrics of a line about a step.
Metrics step_metrics_in(const Json& object);
Provenance provenance_in(const Json& object);
RunHeader header_in(const Json& object, index step);
EvaluationReport evaluation_in(const Json& object, index step);

}  // namespace dikkat::metrics_line
