#include "train/cli/terminal/text.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "train/checkpoint/stored_name.h"
#include "train/text/utf8.h"

namespace dikkat {

std::string short_count(index number) {
  const auto n = static_cast<double>(number);
  return number < 100'000 ? grouped_digits(number)
         : n < 1e7        ? fmt::format("{:.2f} M", n / 1e6)
         : n < 1e9        ? fmt::format("{:.1f} M", n / 1e6)
                          : fmt::format("{:.2f} G", n / 1e9);
}

std::string counted(index number, std::string_view noun) { return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s"); }

std::optional<double> duration_in_seconds(std::string_view text) {
  constexpr double kMost = 3600e3;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const double seconds = number * (unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0);
  return error == std::errc() && seconds > 0 && seconds <= kMost ? std::optional(seconds) : std::nullopt;
}

std::string for_terminal(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (is_control(text[i]) && text[i] != '\n' && text[i] != '\t') {
      shown += fmt::format("\\u{:04X}", byte);
    } else if (byte == 0xC2 && 0x80 <= next && next < 0xA0) {  // U+0080 to U+009F
      shown += fmt::format("\\u{:04X}", next);
      ++i;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string_view first_bytes(std::string_view text, index bytes) {
  return text.substr(0, static_cast<std::size_t>(utf8::snap(text, std::min(bytes, std::ssize(text)))));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace dikkat
