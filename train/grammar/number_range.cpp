#include "train/grammar/number_range.h"

#include <algorithm>
#include <string>

namespace dikkat {
namespace {

constexpr index kMostFraction = 6;                        // after the point
constexpr std::int64_t kLargest = 9'999'999'999'999'999;  // of 16 digits

Grammar digit(char first, char last) { return one_character({{static_cast<char32_t>(first), static_cast<char32_t>(last)}}); }
Grammar decimal_digits(index least, index most) { return repeat(digit('0', '9'), least, most); }

/// Numerals from `low` to `high`, which have the same number of digits, leading zeros included.
Grammar numerals(std::string_view low, std::string_view high) {
  if (low.empty()) {
    return literal("");
  }
  const std::string_view low_rest = low.substr(1), high_rest = high.substr(1);
  if (low[0] == high[0]) {
    return sequence({digit(low[0], low[0]), numerals(low_rest, high_rest)});
  }
  const std::string zeros(low_rest.size(), '0'), nines(low_rest.size(), '9');
  const index count = std::ssize(low_rest);
  std::vector<Grammar> ways;
  const bool from_zeros = low_rest == zeros, to_nines = high_rest == nines;
  const char first = from_zeros ? low[0] : static_cast<char>(low[0] + 1);
  const char last = to_nines ? high[0] : static_cast<char>(high[0] - 1);
  if (!from_zeros) {
    ways.push_back(sequence({digit(low[0], low[0]), numerals(low_rest, nines)}));
  }
  if (first <= last) {
    ways.push_back(sequence({digit(first, last), decimal_digits(count, count)}));
  }
  if (!to_nines) {
    ways.push_back(sequence({digit(high[0], high[0]), numerals(zeros, high_rest)}));
  }
  return any_of(std::move(ways));
}

/// Integers from `low` to `high`, 0 <= low <= high <= kLargest, without leading zeros.
Grammar natural_numbers(std::int64_t low, std::int64_t high) {
  std::vector<Grammar> ways;
  for (std::int64_t power = 1; low <= high; power *= 10) {
    const std::int64_t last = std::min(high, power * 10 - 1);  // the largest with as many digits
    if (low <= last) {
      ways.push_back(numerals(concat(low), concat(last)));
      low = last + 1;
    }
  }
  return any_of(std::move(ways));
}

/// A point and digits, of which one at least is not 0 if `above_zero`.
Grammar fraction(bool above_zero) {
  if (!above_zero) {
    return sequence({literal("."), decimal_digits(1, kMostFraction)});
  }
  return sequence({literal("."), decimal_digits(0, kMostFraction / 2), digit('1', '9'), decimal_digits(0, kMostFraction / 2 - 1)});
}

/// Numbers from `low` to `high`, 0 <= low <= high <= kLargest, with their fractions.
Grammar positive_numbers(NumberBound low, NumberBound high) {
  std::vector<Grammar> ways;
  if (!low.is_exclusive || !high.is_exclusive || low.value < high.value) {
    const Grammar zeros = optional(sequence({literal("."), repeat(digit('0', '0'), 1, kMostFraction)}));
    if (low.value < high.value) {
      // The lower bound's own integer.
      const Grammar whole = natural_numbers(low.value, low.value);
      ways.push_back(sequence({whole, low.is_exclusive ? fraction(true) : optional(fraction(false))}));
      if (low.value + 1 < high.value) {
        ways.push_back(sequence({natural_numbers(low.value + 1, high.value - 1), optional(fraction(false))}));
      }
    }
    if (!high.is_exclusive && (low.value < high.value || !low.is_exclusive)) {
      ways.push_back(sequence({natural_numbers(high.value, high.value), zeros}));
    }
  }
  return any_of(std::move(ways));
}

NumberBound opposite(NumberBound bound) { return {-bound.value, bound.is_exclusive}; }

bool is_empty(NumberBound low, NumberBound high) {
  return low.value > high.value || (low.value == high.value && (low.is_exclusive || high.is_exclusive));
}

}  // namespace

Grammar integers_within(std::optional<NumberBound> low, std::optional<NumberBound> high) {
  const std::int64_t first = low ? low->value + (low->is_exclusive ? 1 : 0) : -kLargest;
  const std::int64_t last = high ? high->value - (high->is_exclusive ? 1 : 0) : kLargest;
  require_input(first <= last, "no integer lies between the bounds");
  std::vector<Grammar> ways;
  if (first < 0) {
    ways.push_back(sequence({literal("-"), natural_numbers(std::max<std::int64_t>(-last, 1), -first)}));
  }
  if (last >= 0) {
    ways.push_back(natural_numbers(std::max<std::int64_t>(first, 0), last));
  }
  return any_of(std::move(ways));
}

Grammar numbers_within(std::optional<NumberBound> low, std::optional<NumberBound> high) {
  const NumberBound first = low.value_or(NumberBound{-kLargest}), last = high.value_or(NumberBound{kLargest});
  require_input(!is_empty(first, last), "no number lies between the bounds");
  std::vector<Grammar> ways;
  if (first.value < 0) {
    // Zero is not written with a sign.
    const NumberBound to = last.value < 0 ? last : NumberBound{0, true};
    ways.push_back(sequence({literal("-"), positive_numbers(opposite(to), opposite(first))}));
  }
  const NumberBound from = first.value < 0 ? NumberBound{0} : first;
  if (!is_empty(from, last)) {
    ways.push_back(positive_numbers(from, last));
  }
  return any_of(std::move(ways));
}

}  // namespace dikkat
