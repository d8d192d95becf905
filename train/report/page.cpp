#include "train/report/embedded_file.h"
#include "train/report/page_data.h"

namespace dikkat {

std::string report_page(const std::vector<RunView>& runs, bool live) {
  const std::string_view frame = embedded_file("page.html");
  std::string page;
  std::size_t from = 0;
  // {{NAME}} stands for the file NAME, and {{data}} for the data. What is put in is not looked at again.
  for (std::size_t at = 0; (at = frame.find("{{", from)) != std::string_view::npos;) {
    const std::size_t end = frame.find("}}", at);
    const std::string_view name = frame.substr(at + 2, end - at - 2);
    page += frame.substr(from, at - from);
    page += name == "data" ? page_data(runs, live) : std::string(embedded_file(name));
    from = end + 2;
  }
  return page += frame.substr(from);
}

}  // namespace dikkat
