#include "train/web/report/page.h"

#include "autograd/base/error.h"
#include "train/web/report/embedded_file.h"

namespace dikkat {
namespace {

/// Escapes every < of a JSON text, so that no </script> ends the data. In JSON, < occurs only in strings.
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

/// Returns the text that replaces {{name}} in page.html.
std::string part(PageKind kind, std::string_view name, std::string_view data) {
  const bool curves = kind == PageKind::report;
  const auto script = [](std::string_view file) { return concat("<script>", embedded_file(file), "</script>\n"); };
  if (name == "data") {
    return without_markup(data);
  }
  if (name == "styles") {
    return concat(curves ? embedded_file("uPlot.min.css") : "", embedded_file("page.css"));
  }
  if (name == "scripts") {
    constexpr std::string_view kOwn[] = {"report.js", "text.js", "corpus.js"};
    return concat(curves ? script("uPlot.iife.min.js") : "", script("common.js"), script(kOwn[static_cast<std::size_t>(kind)]));
  }
  return curves ? concat(" The curves are drawn by uPlot. This is its license:\n<pre>", embedded_file("uPlot.LICENSE"), "</pre>")
                : "";  // licenses
}

}  // namespace

std::string page_of(PageKind kind, std::string_view data) {
  const std::string_view frame = embedded_file("page.html");
  std::string page;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = frame.find("{{", from)) != std::string_view::npos;) {  // inserted text is not searched again
    const std::size_t end = frame.find("}}", at);
    page += frame.substr(from, at - from);
    page += part(kind, frame.substr(at + 2, end - at - 2), data);
    from = end + 2;
  }
  return page += frame.substr(from);
}

std::string report_page(const std::vector<RunView>& runs, bool live, const std::vector<ReportTable>& tables) {
  return page_of(PageKind::report, report_data(runs, live, tables));
}

}  // namespace dikkat
