#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dikkat {

/// Returns the regular expression of a string format of JSON Schema; nullopt for an unknown format. Each text that it matches is valid; not
/// each valid text matches. This header is only for the sources of this project.
std::optional<std::string> format_pattern(std::string_view format);
/// Returns whether JSON Schema defines the format and this program does not know it. It cannot be ignored next to a pattern, as formats
/// that a library has invented can: these only describe the pattern.
bool is_unknown_standard_format(std::string_view format);
/// Returns the known formats: "date, time or uuid".
std::string format_names();

}  // namespace dikkat
