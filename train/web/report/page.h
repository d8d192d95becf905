#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/web/report/page_data.h"
#include "train/web/report/run_view.h"

namespace dikkat {

/// The kinds of pages. Each has its own script in page/.
enum class PageKind : std::uint8_t { report, text, corpus };

/// Makes a page that needs no other file and no network: page/page.html with the scripts of its kind and `data`, a JSON object. No string
/// in the data can end it or become markup.
std::string page_of(PageKind kind, std::string_view data);

/// Makes the report of runs, with further tables. If `live`, the page asks its server for new data.
std::string report_page(const std::vector<RunView>& runs, bool live = false, const std::vector<ReportTable>& tables = {});

/// The first bytes of every page. A file that begins with them is recognized as a page.
inline constexpr std::string_view kPageBegin = "<!doctype html>\n<!-- a page of dikkat -->\n";

}  // namespace dikkat
