#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace dikkat::testing {

/// Returns the data in a page that dikkat wrote.
inline nlohmann::json data_of_page(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

}  // namespace dikkat::testing
