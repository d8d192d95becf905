#pragma once

#include <optional>

#include "train/grammar/decimal.h"
#include "train/grammar/grammar.h"

namespace dikkat {

/// A bound of numbers.
struct NumberBound {
  Decimal value{};
  bool is_exclusive = false;  // the number itself is outside
};

/// The most digits of a JSON number before its point.
inline constexpr index kMostWholeDigits = 39;  // those of an unsigned integer of 128 bits
/// The digits that a double tells apart.
inline constexpr index kDigitsOfDouble = 15;

/// Integers of JSON between two bounds, of which either may be missing. Throws InputError if there is none of kMostWholeDigits.
Grammar integers_within(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high);
/// Numbers of JSON between two bounds, without exponents. They have up to 6 digits after the point, or as many as the bounds, up to 17.
/// Throws InputError if there is none, or if an exclusive bound would have more than kDigitsOfDouble with that: a reader with doubles would
/// take the next number for the bound itself.
Grammar numbers_within(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high);

}  // namespace dikkat
