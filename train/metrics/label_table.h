#pragma once

#include <nlohmann/json_fwd.hpp>

#include "train/metrics/reports.h"

namespace dikkat {

/// Returns {"labels": [...], "confusion": [[...], ...]} with a row for each label, or with several labels {"labels": [...], "several":
/// [[...], ...]}, where a row is [right, missed, wrong] (LabelTable::counts).
nlohmann::ordered_json to_json(const LabelTable& table);
/// Reads to_json()'s object; returns an empty table for any other value, since users may edit metrics.jsonl.
LabelTable label_table_of(const nlohmann::json& object);

}  // namespace dikkat
