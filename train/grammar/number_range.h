#pragma once

#include <optional>

#include "train/grammar/decimal.h"
#include "train/grammar/grammar.h"

namespace dikkat {

/// A bound of numbers.
struct NumberBound {
  Decimal value{};
  bool is_exclusive = false;  // whether the bound itself is outside
};

/// The most digits of a JSON number before its point.
inline constexpr index kMostWholeDigits = 39;  // an unsigned integer of 128 bits has 39
/// The decimal digits that a double distinguishes.
inline constexpr index kDigitsOfDouble = 15;

/// Matches JSON integers between two bounds, of which either may be missing. Throws InputError if there is none of up to kMostWholeDigits
/// digits.
Grammar integers_within(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high);
/// Matches JSON numbers between two bounds, without exponents. They have up to 6 digits after the point, or as many as the bounds, up to
/// 17. Throws InputError if there is none, or if an exclusive bound with these digits has more than kDigitsOfDouble. Readers with doubles
/// would then take the next number for the bound itself.
Grammar numbers_within(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high);

}  // namespace dikkat
