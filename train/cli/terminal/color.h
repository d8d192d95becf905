#pragma once

#include <string>
#include <string_view>

namespace dikkat {

/// A color, named by its meaning.
enum class Color { none, good, active, attention, bad };

/// Returns the text in a color for standard output. Returns it unchanged unless that is a terminal with colors (TERM is not "dumb") and
/// NO_COLOR is unset or empty (https://no-color.org).
std::string colored(std::string_view text, Color color);

}  // namespace dikkat
