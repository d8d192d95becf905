#pragma once

#include <string>
#include <vector>

#include "train/web/report/run_view.h"

namespace dikkat {

/// A table of texts that a report shows between its runs and their curves.
struct ReportTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< each has as many cells as columns
};

/// Makes the JSON object that page/report.js draws: each run with its curves, the tables, and the keys in which configurations differ.
/// Curves are thinned so that a page of 100,000 steps stays small (rows_to_draw.h). Numbers have six significant digits.
std::string report_data(const std::vector<RunView>& runs, bool live, const std::vector<ReportTable>& tables = {});

}  // namespace dikkat
