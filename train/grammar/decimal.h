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

  /// Reads a number of JSON. Numbers from 10^1000 on, which no double has, become 10^1000, and digits beyond the 1000th after the point are
  /// left out.
  static Decimal of_json(std::string_view number);

  bool is_negative() const { return is_negative_; }
  const std::string& whole() const { return whole_; }        // without leading zeros: empty for numbers below 1
  const std::string& fraction() const { return fraction_; }  // without zeros at its end
  bool is_integer() const { return fraction_.empty(); }

  Decimal negated() const;
  /// Returns the next larger (or smaller) number with up to `digits` digits after the point; the number itself if it has no more.
  Decimal rounded_up(std::size_t digits) const;
  Decimal rounded_down(std::size_t digits) const { return negated().rounded_up(digits).negated(); }
  /// Returns the number plus (or minus) 1 in the place of the last of `digits` digits after the point. It has no more digits than these.
  Decimal next(std::size_t digits) const;
  Decimal previous(std::size_t digits) const { return negated().next(digits).negated(); }

  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal&) const = default;
  /// The number as JSON has it, without an exponent.
  std::string text() const;

 private:
  void normalize();

  bool is_negative_ = false;
  std::string whole_, fraction_;
};

}  // namespace dikkat
