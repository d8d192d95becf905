#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/system/clock_time.h"
#include "train/system/format_numbers.h"

// Numbers and texts, formatted for people.
namespace dikkat {

/// Formats a count as 124.4 M, 0.80 M or 12,345.
std::string short_count(index number);
/// Returns "1 thread" or "4 threads".
std::string counted(index number, std::string_view noun);

/// Parses "90s", "30m" or "1.5h" into seconds, up to a thousand hours; nullopt for another string.
std::optional<double> duration_in_seconds(std::string_view text);

/// Makes foreign text safe to print on a terminal: writes control characters, except line breaks and tabs, as \u001B.
std::string for_terminal(std::string_view text);

/// Returns at most `bytes` bytes of the beginning of a text, as whole characters.
std::string_view first_bytes(std::string_view text, index bytes);

/// Splits a text into lines, without their line breaks.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace dikkat
