#include "train/cli/terminal/color.h"

#include <cstdlib>

#include <unistd.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets variables
  return value == nullptr ? "" : value;
}

bool has_colors() {
  static const bool has =
      ::isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() && variable("TERM") != "dumb" && !variable("TERM").empty();
  return has;
}

}  // namespace

std::string colored(std::string_view text, Color color) {
  constexpr int kCodes[] = {0, 32, 36, 33, 31};  // green, cyan, yellow, red
  if (color == Color::none || !has_colors()) {
    return std::string(text);
  }
  return concat("\x1b[", kCodes[static_cast<std::size_t>(color)], 'm', text, "\x1b[0m");
}

}  // namespace dikkat
