#pragma once

#include <string>
#include <string_view>

namespace dikkat {

/// What a colour says.
enum class Color { none, good, active, attention, bad };

/// The text in a colour, for standard output, if that is a terminal that has colours (TERM is not "dumb") and NO_COLOR is unset or empty
/// (https://no-color.org); else as it is.
std::string colored(std::string_view text, Color color);

}  // namespace dikkat
