#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace dikkat {

/// A number with all its decimal digits. This header is only for the sources of this project.
class Decimal {
 public:
  Decimal() = default;
  Decimal(std::int64_t number);  // NOLINT(google-explicit-constructor): a number is one

  /// Reads a number of JSON. Numbers above 10^1000, which no double has, become 10^1000. Digits beyond the 1000th after the point are
  /// dropped.
  static Decimal of_json(std::string_view number);

  bool is_negative() const { return is_negative_; }
  const std::string& whole() const { return whole_; }        // without leading zeros: empty for numbers below 1
  const std::string& fraction() const { return fraction_; }  // without zeros at its end
  bool is_integer() const { return fraction_.empty(); }

  Decimal negated() const;
  /// Rounds up (or down) to `digits` digits after the point.
  Decimal rounded_up(std::size_t digits) const;
  Decimal rounded_down(std::size_t digits) const { return negated().rounded_up(digits).negated(); }
  /// Cuts the number after `digits` digits after the point, and adds (or subtracts) 1 in the last place.
  Decimal next(std::size_t digits) const;
  Decimal previous(std::size_t digits) const { return negated().next(digits).negated(); }

  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal&) const = default;
  /// Returns the number as JSON has it, without an exponent.
  std::string text() const;

 private:
  void normalize();

  bool is_negative_ = false;
  std::string whole_, fraction_;
};

}  // namespace dikkat
