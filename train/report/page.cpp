#include "train/report/page.h"

#include "train/report/embedded_file.h"
#include "train/report/page_data.h"

namespace dikkat {
namespace {

/// In JSON, < stands in strings alone, and there it can be written so that no </script> ends the data.
std::string without_markup(std::string_view json) {
  std::string safe;
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string page_of(std::string_view html, std::string_view data) {
  const std::string_view frame = embedded_file(html);
  std::string page;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = frame.find("{{", from)) != std::string_view::npos;) {  // what is put in is not looked at again
    const std::size_t end = frame.find("}}", at);
    const std::string_view name = frame.substr(at + 2, end - at - 2);
    page += frame.substr(from, at - from);
    page += name == "data" ? without_markup(data) : std::string(embedded_file(name));
    from = end + 2;
  }
  return page += frame.substr(from);
}

std::string report_page(const std::vector<RunView>& runs, bool live) { return page_of("report.html", report_data(runs, live)); }

}  // namespace dikkat
