#include "train/cli/terminal/terminal.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace dikkat {
namespace {

/// Counts the characters of UTF-8: bytes that continue a character do not count.
index characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

std::string joined(const std::vector<LinePart>& parts) {
  std::string line;
  for (const LinePart& part : parts) {
    line += (line.empty() ? "" : "  ") + part.text;
  }
  return line;
}

constexpr index kNarrowest = 20;

}  // namespace

index wanted_columns() {
  constexpr index kWidest = 10'000;
  const char* text = std::getenv("COLUMNS");  // NOLINT(concurrency-mt-unsafe): nothing sets variables
  const std::string_view digits = text == nullptr ? "" : text;
  index columns = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  return error == std::errc() && end == digits.data() + digits.size() && columns >= kNarrowest && columns <= kWidest ? columns : 0;
}

index output_columns() {
  if (::isatty(STDOUT_FILENO) != 1) {
    return 0;
  }
  if (const index columns = wanted_columns(); columns > 0) {
    return columns;
  }
  winsize size{};
  const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  constexpr index kUsual = 80;
  return is_known ? std::max<index>(kNarrowest, size.ws_col) : kUsual;
}

index terminal_columns() {
  constexpr index kUsual = 80;
  if (::isatty(STDERR_FILENO) != 1) {
    return 0;
  }
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

std::string fitted(std::vector<LinePart> parts, index columns) {
  std::string line = joined(parts);
  while (columns > 0 && characters(line) >= columns && parts.size() > 1) {  // the last column stays free: some terminals wrap after it
    parts.erase(
        std::min_element(parts.begin(), parts.end(), [](const LinePart& a, const LinePart& b) { return a.importance < b.importance; }));
    line = joined(parts);
  }
  while (columns > 0 && characters(line) >= columns && !line.empty()) {
    while ((static_cast<unsigned char>(line.back()) & 0xC0U) == 0x80U) {
      line.pop_back();
    }
    line.pop_back();
  }
  return line;
}

std::string wrapped(std::string_view text, index columns, index indent, std::string_view between) {
  if (columns == 0) {
    return std::string(text);
  }
  const auto fits = [columns](index width) { return width < columns; };
  std::string lines;
  std::string line;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    const std::string_view piece = text.substr(at, end - at);
    if (at == 0) {
      line = piece;
    } else if (fits(characters(line) + characters(between) + characters(piece))) {
      line += between;
      line += piece;
    } else {
      lines += line + '\n';
      line = std::string(static_cast<std::size_t>(fits(indent + characters(piece)) ? indent : 0), ' ');
      line += piece;
    }
    at = end + between.size();
  }
  return lines + line;
}

}  // namespace dikkat
