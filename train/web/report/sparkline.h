#pragma once

#include <span>
#include <string>

namespace dikkat {

/// Draws a curve in one line of `width` characters. Each character is the mean of a piece, from ▁ (the lowest) to █; the pieces have equal
/// lengths. A piece without a finite value is blank. If there are fewer values than `width`, each gets a character. Empty if no value is
/// finite.
std::string sparkline(std::span<const double> values, int width);

}  // namespace dikkat
