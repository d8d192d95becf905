#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/system/format_numbers.h"

// Numbers and texts, formatted for people.
namespace dikkat {

/// 124.4 M, 0.80 M, 12,345
std::string short_count(index number);
/// 1 thread, 4 threads
std::string counted(index number, std::string_view noun);
/// 1:02:03, 4:05
std::string clock_time(double seconds);

/// Parses "90s", "30m" or "1.5h" into seconds, up to a thousand hours; nullopt for other text.
std::optional<double> duration_in_seconds(std::string_view text);

/// Makes foreign text safe to print on a terminal: writes control characters, except line breaks and tabs, as \u001B.
std::string for_terminal(std::string_view text);

/// Splits a text into lines, without their line breaks.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace dikkat
