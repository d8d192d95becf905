#pragma once

#include <string>
#include <vector>

#include "train/web/report/run_view.h"

namespace dikkat {

/// What page/report.js draws, as one JSON object: each run with its curves, thinned so that a page of 100,000 steps stays small
/// (rows_to_draw.h), and the keys in which their configurations differ. Numbers have six significant digits.
std::string report_data(const std::vector<RunView>& runs, bool live);

}  // namespace dikkat
