#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "train/metrics/read_metrics.h"

// Functions that read a line of metrics.jsonl. Anybody may have edited it, so a field that is missing or of another type has no value.
namespace dikkat::metrics_line {

using Json = nlohmann::json;

/// The beginning of every line that this program writes.
inline constexpr std::string_view kStart = "{\"event\":";

/// The step of a line; nullopt if it has none.
std::optional<index> step_of(const Json& object);
/// The number with this name; NaN if it is missing, or null, which stands for NaN and infinity.
double number_in(const Json& object, const char* name);
/// The integer with this name; 0 unless it is from 0 to 2^53.
index count_in(const Json& object, const char* name);
/// The text with this name; empty if there is none.
std::string text_in(const Json& object, const char* name);
/// Whether the line is about this event.
bool is_event(const Json& object, std::string_view name);

/// The scored set of a line; unknown in lines of an earlier version, which did not record it.
ScoredSet scored_in(const Json& object);
/// The metrics of an objective: the numbers, or null, whose names are not in `own`, in the order of their names.
Metrics metrics_in(const Json& object, std::span<const std::string_view> own);
/// Those of a line about a step.
Metrics step_metrics_in(const Json& object);
Provenance provenance_in(const Json& object);
RunHeader header_in(const Json& object, index step);
EvaluationReport evaluation_in(const Json& object, index step);

}  // namespace dikkat::metrics_line
