#include "train/cli/terminal.h"

#include <algorithm>

#include <sys/ioctl.h>
#include <unistd.h>

namespace dikkat {
namespace {

/// Of UTF-8: bytes that continue a character do not count.
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

}  // namespace

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

std::string wrapped(std::string_view text, index columns, index indent) {
  if (columns == 0) {
    return std::string(text);
  }
  std::string lines;
  std::string line;
  bool has_word = false;  // the line, beside its indentation
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    const std::size_t end = std::min(text.find(' ', word), text.size());
    const std::string_view blanks = text.substr(at, word - at);
    const std::string_view letters = text.substr(word, end - word);
    if (has_word && characters(line) + characters(blanks) + characters(letters) >= columns) {
      lines += line + '\n';
      line = std::string(static_cast<std::size_t>(indent), ' ');
      line += letters;
    } else {
      line += blanks;
      line += letters;
    }
    has_word = true;
    at = end;
  }
  return lines + line;
}

}  // namespace dikkat
