#pragma once

#include <string>

#include "train/metrics/run_history.h"

namespace dikkat {

/// The steps and evaluations of a run as a table (RFC 4180) with a row for each step that has either, and a heading. Cells without a value
/// are empty; numbers read back to the same bits.
std::string to_csv(const RunHistory& history);

}  // namespace dikkat
