#include "train/system/byte_size.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "autograd/base/error.h"

namespace dikkat {

std::size_t parse_bytes(const std::string& text, const std::string& option) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},      {"b", 1},        {"kb", 1e3},        {"mb", 1e6},           {"gb", 1e9},
      {"tb", 1e12}, {"kib", 1024.0}, {"mib", 1048576.0}, {"gib", 1073741824.0}, {"tib", 1099511627776.0}};
  constexpr double kLargest = 1e18;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  std::string unit(end, text.data() + text.size());
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* const found = std::ranges::find(kUnits, std::string_view(unit), &std::pair<std::string_view, double>::first);
  const bool is_size = error == std::errc() && found != std::end(kUnits) && number >= 0;
  require_input(is_size && number * found->second <= kLargest, option, " is ", text, ", expected a size such as 512MB or 2GB, or 0");
  return static_cast<std::size_t>(std::floor(number * found->second));
}

}  // namespace dikkat
