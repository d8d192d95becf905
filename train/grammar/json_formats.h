#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dikkat {

/// Returns the regular expression of a string format of JSON Schema; nullopt for one that this program does not know. Each of its texts is
/// valid; not each valid text matches. This header is only for the sources of this project.
std::optional<std::string> format_pattern(std::string_view format);
/// Whether this program does not know a format of JSON Schema, so that it cannot be left out beside a pattern. Formats that a library has
/// invented describe a pattern.
bool is_unknown_standard_format(std::string_view format);
/// Returns the known formats: "date, time or uuid".
std::string format_names();

}  // namespace dikkat
