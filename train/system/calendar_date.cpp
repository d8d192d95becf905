#include "train/system/calendar_date.h"

#include <charconv>
#include <chrono>
#include <optional>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

/// Reads exactly `digits` digits, then the separator; '\0' means the end.
std::optional<int> read(std::string_view& text, std::size_t digits, char separator) {
  int value = 0;
  if (text.size() < digits || text.front() == '-') {
    return std::nullopt;
  }
  const auto [stop, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || stop != text.data() + digits) {
    return std::nullopt;
  }
  text.remove_prefix(digits);
  if (separator != '\0') {
    if (text.empty() || text.front() != separator) {
      return std::nullopt;
    }
    text.remove_prefix(1);
  }
  return value;
}

}  // namespace

std::chrono::year_month_day civil(const CalendarDate& date) {
  return {std::chrono::year(date.year), std::chrono::month(static_cast<unsigned>(date.month)),
          std::chrono::day(static_cast<unsigned>(date.day))};
}

CalendarDate CalendarDate::parse(std::string_view text) {
  std::string_view rest = text;
  CalendarDate date;
  bool ok = true;
  const auto take = [&](int& field, std::size_t digits, char separator) {
    const std::optional<int> value = ok ? read(rest, digits, separator) : std::nullopt;
    ok = value.has_value();
    field = value.value_or(0);
  };
  const bool has_time = text.size() > 10;
  take(date.year, 4, '-');
  take(date.month, 2, '-');
  take(date.day, 2, has_time ? ' ' : '\0');
  if (has_time) {
    take(date.hour, 2, ':');
    take(date.minute, 2, '\0');
  }
  if (!ok || !rest.empty() || date.year == 0 || !civil(date).ok() || date.hour > 23 || date.minute > 59) {
    fail_input("is '", text, "', expected a day such as 2026-03-09, or a day and a time, 2026-03-09 14:05");
  }
  return date;
}

}  // namespace dikkat
