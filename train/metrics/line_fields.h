#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "train/metrics/read_metrics.h"

// Reading one line of metrics.jsonl, which anybody may have edited: what is missing or of another type reads as "nothing".
namespace dikkat::metrics_line {

using Json = nlohmann::json;

/// How a line of ours begins.
inline constexpr std::string_view kStart = "{\"event\":";

/// The step that a line is about.
std::optional<index> step_of(const Json& object);
/// The number of this name; NaN where it is null, as NaN and infinity are written, or is not there.
double number_in(const Json& object, const char* name);
/// The whole number of this name; 0 where there is none from 0 to 2^53.
index count_in(const Json& object, const char* name);
std::string text_in(const Json& object, const char* name);
bool is_event(const Json& object, std::string_view name);

/// Nothing is known of a line of an earlier version, which has none.
ScoredSet scored_in(const Json& object);
Provenance provenance_in(const Json& object);
RunHeader header_in(const Json& object, index step);
EvaluationReport evaluation_in(const Json& object, index step);

}  // namespace dikkat::metrics_line
