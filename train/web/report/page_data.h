#pragma once

#include <string>
#include <vector>

#include "train/web/report/run_view.h"

namespace dikkat {

/// Makes the JSON object that page/report.js draws: each run with its curves, and the keys in which their configurations differ. Curves are
/// thinned so that a page of 100,000 steps stays small (rows_to_draw.h). Numbers have six significant digits.
std::string report_data(const std::vector<RunView>& runs, bool live);

}  // namespace dikkat
