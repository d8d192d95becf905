#pragma once

#include <cstdint>
#include <optional>

#include "train/grammar/grammar.h"

namespace dikkat {

/// A bound of numbers.
struct NumberBound {
  std::int64_t value;
  bool is_exclusive = false;  // the number itself is outside
};

/// The most that the absolute value of a bound can be. With 6 digits after the point, a number has 15 digits, which a double tells apart.
inline constexpr std::int64_t kLargestIntegerBound = 1'000'000'000'000'000;
inline constexpr std::int64_t kLargestNumberBound = 999'999'999;

/// Integers of JSON between two bounds, of which either may be missing. Throws InputError if there is none.
Grammar integers_within(std::optional<NumberBound> low, std::optional<NumberBound> high);
/// Numbers of JSON between two bounds, without exponents, with up to 6 digits after the point.
Grammar numbers_within(std::optional<NumberBound> low, std::optional<NumberBound> high);

}  // namespace dikkat
