#pragma once

#include <string>

#include "train/metrics/run_history.h"

namespace dikkat {

/// Formats the steps and evaluations of a run as a table (RFC 4180) with a heading, and a row for each step that has either. Cells without
/// a value are empty. Numbers read back to the same bits.
std::string to_csv(const RunHistory& history);

}  // namespace dikkat
