#include "train/grammar/decimal.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace dikkat {
namespace {

constexpr std::int64_t kMostPlaces = 1000;

/// Adds 1 to the last of some digits. A carry becomes a further digit.
std::string plus_one(std::string digits) {
  std::size_t at = digits.size();
  while (at > 0 && digits[at - 1] == '9') {
    digits[--at] = '0';
  }
  if (at == 0) {
    return '1' + digits;
  }
  ++digits[at - 1];
  return digits;
}

/// Subtracts 1 from the last of some digits, which are not all 0.
std::string minus_one(std::string digits) {
  std::size_t at = digits.size();
  while (digits[at - 1] == '0') {
    digits[--at] = '9';
  }
  --digits[at - 1];
  return digits;
}

}  // namespace

Decimal::Decimal(std::int64_t number) : is_negative_(number < 0), whole_(std::to_string(number)) {
  whole_.erase(0, is_negative_ ? 1 : 0);
  normalize();
}

void Decimal::normalize() {
  whole_.erase(0, std::min(whole_.find_first_not_of('0'), whole_.size()));
  fraction_.erase(fraction_.find_last_not_of('0') + 1);
  is_negative_ = is_negative_ && !(whole_.empty() && fraction_.empty());
}

Decimal Decimal::of_json(std::string_view number) {
  Decimal made;
  made.is_negative_ = number.starts_with('-');
  number.remove_prefix(made.is_negative_ ? 1 : 0);
  // Read the exponent, limited to twice kMostPlaces.
  const std::string_view mantissa = number.substr(0, number.find_first_of("eE"));
  std::int64_t exponent = 0;
  if (mantissa.size() < number.size()) {
    std::string_view digits = number.substr(mantissa.size() + 1);
    digits.remove_prefix(digits.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    exponent = error == std::errc::result_out_of_range ? (digits.starts_with('-') ? -kMostPlaces : kMostPlaces) : exponent;
    exponent = std::clamp(exponent, -2 * kMostPlaces, 2 * kMostPlaces);
  }
  // Read the digits before and after the point.
  const std::size_t point = mantissa.find('.');
  made.whole_ = mantissa.substr(0, point);
  made.fraction_ = point == std::string_view::npos ? "" : mantissa.substr(point + 1);
  made.normalize();
  if (made.whole_.empty() && made.fraction_.empty()) {
    return {};
  }
  // Move the point.
  for (; exponent > 0; --exponent) {
    made.whole_ += made.fraction_.empty() ? '0' : made.fraction_.front();
    made.fraction_.erase(0, 1);
  }
  if (exponent < 0) {
    const std::string digits = std::string(static_cast<std::size_t>(-exponent), '0') + made.whole_;
    const std::size_t cut = digits.size() - static_cast<std::size_t>(-exponent);
    made.fraction_ = digits.substr(cut) + made.fraction_;
    made.whole_ = digits.substr(0, cut);
  }
  made.normalize();
  // Limit the digits before and after the point.
  if (std::ssize(made.whole_) > kMostPlaces) {
    made.whole_ = '1' + std::string(kMostPlaces, '0');
    made.fraction_ = "";
  }
  made.fraction_.resize(std::min<std::size_t>(made.fraction_.size(), kMostPlaces));
  made.normalize();
  return made;
}

Decimal Decimal::negated() const {
  Decimal made = *this;
  made.is_negative_ = !is_negative_;
  made.normalize();
  return made;
}

Decimal Decimal::rounded_up(std::size_t digits) const {
  if (fraction_.size() <= digits) {
    return *this;
  }
  Decimal made = *this;
  made.fraction_.resize(digits);
  made.normalize();
  return is_negative_ ? made : made.next(digits);
}

Decimal Decimal::next(std::size_t digits) const {
  std::string all = whole_ + fraction_.substr(0, digits);
  all.append(digits - std::min(digits, fraction_.size()), '0');
  Decimal made;
  const bool is_zero = all.find_first_not_of('0') == std::string::npos;
  made.is_negative_ = is_negative_ && !is_zero;
  all = made.is_negative_ ? minus_one(std::move(all)) : plus_one(std::move(all));
  made.whole_ = all.substr(0, all.size() - digits);
  made.fraction_ = all.substr(all.size() - digits);
  made.normalize();
  return made;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (is_negative_ != other.is_negative_) {
    return is_negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  std::strong_ordering order = whole_.size() <=> other.whole_.size();
  order = order == 0 ? whole_ <=> other.whole_ : order;
  order = order == 0 ? fraction_ <=> other.fraction_ : order;
  return is_negative_ ? 0 <=> order : order;
}

std::string Decimal::text() const {
  std::string text = is_negative_ ? "-" : "";
  text += whole_.empty() ? "0" : whole_;
  return fraction_.empty() ? text : text + '.' + fraction_;
}

}  // namespace dikkat
