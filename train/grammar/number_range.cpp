#include "train/grammar/number_range.h"

#include <algorithm>
#include <string>

namespace dikkat {
namespace {

constexpr std::size_t kUsualFraction = 6, kMostFraction = 17;  // digits after the point

Grammar digit(char first, char last) { return one_character({{static_cast<char32_t>(first), static_cast<char32_t>(last)}}); }
Grammar decimal_digits(std::size_t least, std::size_t most) {
  return repeat(digit('0', '9'), static_cast<index>(least), static_cast<index>(most));
}

bool is_all(std::string_view digits, char one) { return digits.find_first_not_of(one) == std::string_view::npos; }

/// Returns a grammar of the digits after some digits of a number.
using Tail = Grammar (*)(std::string_view low, std::string_view high);

/// Matches digits from `low` to `high`, which have equally many. `rest` makes the grammar after the first digit, and `any` the one if any
/// digits may come.
Grammar digits_between(std::string_view low, std::string_view high, Tail rest, Grammar (*any)(std::size_t digits)) {
  const std::string_view low_rest = low.substr(1), high_rest = high.substr(1);
  if (low[0] == high[0]) {
    return sequence({digit(low[0], low[0]), rest(low_rest, high_rest)});
  }
  const bool from_zeros = is_all(low_rest, '0'), to_nines = is_all(high_rest, '9');
  const char first = from_zeros ? low[0] : static_cast<char>(low[0] + 1);
  const char last = to_nines ? high[0] : static_cast<char>(high[0] - 1);
  std::vector<Grammar> ways;
  if (!from_zeros) {
    ways.push_back(sequence({digit(low[0], low[0]), rest(low_rest, std::string(low_rest.size(), '9'))}));
  }
  if (first <= last) {
    ways.push_back(sequence({digit(first, last), any(low_rest.size())}));
  }
  if (!to_nines) {
    ways.push_back(sequence({digit(high[0], high[0]), rest(std::string(low_rest.size(), '0'), high_rest)}));
  }
  return any_of(std::move(ways));
}

/// Matches numerals from `low` to `high`, which have equally many digits, leading zeros included.
Grammar numerals(std::string_view low, std::string_view high) {
  return low.empty() ? literal("") : digits_between(low, high, numerals, [](std::size_t digits) { return decimal_digits(digits, digits); });
}

/// Matches digits after the point that continue others, if any: missing digits count as 0.
Grammar more_fraction(std::string_view low, std::string_view high);

/// Matches one digit after the point or more, from `low` to `high`, which have equally many.
Grammar fraction_digits(std::string_view low, std::string_view high) {
  return digits_between(low, high, more_fraction, [](std::size_t digits) { return decimal_digits(0, digits); });
}

Grammar more_fraction(std::string_view low, std::string_view high) {
  if (low.empty()) {
    return literal("");
  }
  const Grammar digits = fraction_digits(low, high);
  return is_all(low, '0') ? optional(digits) : digits;
}

/// Matches a point and digits whose value is from `low` to `high`; if `low` is 0, also nothing.
Grammar fraction(std::string_view low, std::string_view high) {
  if (low.empty()) {
    return literal("");
  }
  const Grammar digits = sequence({literal("."), fraction_digits(low, high)});
  return is_all(low, '0') ? optional(digits) : digits;
}

std::string shown(const std::string& whole) { return whole.empty() ? "0" : whole; }

/// Matches integers from `low` to `high`, which are not negative and have no leading zeros.
Grammar natural_numbers(const Decimal& low, const Decimal& high) {
  const std::string first = shown(low.whole()), last = shown(high.whole());
  if (first.size() == last.size()) {
    return numerals(first, last);
  }
  std::vector<Grammar> ways = {numerals(first, std::string(first.size(), '9')), numerals('1' + std::string(last.size() - 1, '0'), last)};
  if (first.size() + 1 < last.size()) {
    ways.push_back(sequence({digit('1', '9'), decimal_digits(first.size(), last.size() - 2)}));
  }
  return any_of(std::move(ways));
}

/// Matches numbers from `low` to `high`, which are not negative, with up to `places` digits after the point.
Grammar positive_numbers(const Decimal& low, const Decimal& high, std::size_t places) {
  const auto padded = [&](const Decimal& number) {
    std::string digits = number.fraction();
    digits.resize(places, '0');
    return digits;
  };
  const std::string zeros(places, '0'), nines(places, '9');
  if (low.whole() == high.whole()) {
    return sequence({literal(shown(low.whole())), fraction(padded(low), padded(high))});
  }
  std::vector<Grammar> ways = {sequence({literal(shown(low.whole())), fraction(padded(low), nines)}),
                               sequence({literal(shown(high.whole())), fraction(zeros, padded(high))})};
  // Add the integers between the bounds, with any fraction.
  const Decimal first = low.next(0), last = high.rounded_down(0).previous(0);
  if (first <= last) {
    ways.push_back(sequence({natural_numbers(first, last), fraction(zeros, nines)}));
  }
  return any_of(std::move(ways));
}

/// Returns the tighter one of a bound and the largest number with `places` digits after the point, with the bound itself inside.
Decimal last_of(const std::optional<NumberBound>& bound, std::size_t places) {
  const Decimal largest = Decimal::of_json(std::string(kMostWholeDigits, '9') + '.' + std::string(places, '9'));
  if (!bound) {
    return largest;
  }
  const Decimal last = bound->value.rounded_down(places);
  return std::min(largest, bound->is_exclusive && last == bound->value ? last.previous(places) : last);
}

std::optional<NumberBound> opposite(const std::optional<NumberBound>& bound) {
  return bound ? std::optional(NumberBound{bound->value.negated(), bound->is_exclusive}) : std::nullopt;
}

Grammar within(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high, std::size_t places) {
  const Decimal first = last_of(opposite(low), places).negated(), last = last_of(high, places);
  require_input(first <= last, "no number lies between the bounds");
  std::vector<Grammar> ways;
  if (first.is_negative()) {
    // Zero is not written with a sign.
    const Decimal to = std::min(last, Decimal().previous(places));
    ways.push_back(sequence({literal("-"), positive_numbers(to.negated(), first.negated(), places)}));
  }
  if (!last.is_negative()) {
    ways.push_back(positive_numbers(std::max(first, Decimal()), last, places));
  }
  return any_of(std::move(ways));
}

}  // namespace

Grammar integers_within(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high) { return within(low, high, 0); }

Grammar numbers_within(const std::optional<NumberBound>& low, const std::optional<NumberBound>& high) {
  std::size_t places = kUsualFraction;
  for (const auto& bound : {low, high}) {
    places = bound ? std::max(places, std::min(bound->value.fraction().size(), kMostFraction)) : places;
  }
  for (const auto& bound : {low, high}) {
    require_input(!bound || !bound->is_exclusive || bound->value.whole().size() + places <= static_cast<std::size_t>(kDigitsOfDouble),
                  "the exclusive bound ", bound ? bound->value.text() : "", " has too many digits, expected at most ", kDigitsOfDouble,
                  " with those after the point");
  }
  return within(low, high, places);
}

}  // namespace dikkat
