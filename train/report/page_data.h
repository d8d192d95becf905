#pragma once

#include <string>
#include <vector>

#include "train/report/run_view.h"

namespace dikkat {

/// What page/page.js draws, as one JSON object: each run with its curves, thinned so that a page of 100,000 steps stays small
/// (rows_to_draw.h), and the keys in which their configurations differ. Numbers have six significant digits. Safe inside <script>.
std::string page_data(const std::vector<RunView>& runs, bool live);

/// A page that needs no other file and no network: the data, and what draws it. `live`: it asks its server for new data.
std::string report_page(const std::vector<RunView>& runs, bool live = false);

}  // namespace dikkat
