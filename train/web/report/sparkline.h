#pragma once

#include <span>
#include <string>

namespace dikkat {

/// A curve in one line of `width` characters: the mean of each piece of equal length, from ▁ (the lowest) to █. A piece without a finite
/// value is a blank. Fewer values than `width` have a character each. Empty if no value is finite.
std::string sparkline(std::span<const double> values, int width);

}  // namespace dikkat
