#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/report/run_view.h"

namespace dikkat {

/// A page that needs no other file and no network: one of page/*.html, with the files that it names as {{NAME}}, and `data`, a JSON object, as
/// {{data}}. No text in the data can end it or become markup.
std::string page_of(std::string_view html, std::string_view data);

/// The report of runs. `live`: the page asks its server for new data.
std::string report_page(const std::vector<RunView>& runs, bool live = false);

/// The first bytes of every page, by which a file is known to be one.
inline constexpr std::string_view kPageBegin = "<!doctype html>\n<!-- a page of dikkat -->\n";

}  // namespace dikkat
