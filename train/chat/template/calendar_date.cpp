#include "train/chat/template/calendar_date.h"

#include <array>
#include <charconv>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "train/chat/template/template_error.h"

namespace dikkat::jinja {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"January", "February", "March",     "April",   "May",      "June",
                                                      "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

std::chrono::year_month_day civil(const CalendarDate& date) {
  return {std::chrono::year(date.year), std::chrono::month(static_cast<unsigned>(date.month)),
          std::chrono::day(static_cast<unsigned>(date.day))};
}

/// Reads digits of a fixed number, then a separator, which is '\0' at the end.
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

std::string CalendarDate::format(std::string_view format) const {
  const std::chrono::sys_days days = civil(*this);
  const std::string_view weekday = kDays[std::chrono::weekday(days).c_encoding()];
  const std::string_view month_name = kMonths[static_cast<std::size_t>(month - 1)];
  const auto day_of_year = (days - std::chrono::sys_days(civil({.year = year}))).count() + 1;
  const int hour12 = hour % 12 == 0 ? 12 : hour % 12;
  std::string text;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      text += format[i];
      continue;
    }
    const bool bare = format[i + 1] == '-' && i + 2 < format.size();  // %-d has no leading zero
    i += bare ? 2 : 1;
    const auto number = [&](auto value, int width) { text += fmt::format("{:0{}}", value, bare ? 1 : width); };
    switch (format[i]) {
      case 'Y': number(year, 1); break;
      case 'y': number(year % 100, 2); break;
      case 'm': number(month, 2); break;
      case 'd': number(day, 2); break;
      case 'e': text += fmt::format("{:2}", day); break;
      case 'H': number(hour, 2); break;
      case 'I': number(hour12, 2); break;
      case 'M': number(minute, 2); break;
      case 'S': number(second, 2); break;
      case 'f': text += "000000"; break;
      case 'j': number(day_of_year, 3); break;
      case 'B': text += month_name; break;
      case 'b': text += month_name.substr(0, 3); break;
      case 'A': text += weekday; break;
      case 'a': text += weekday.substr(0, 3); break;
      case 'p': text += hour < 12 ? "AM" : "PM"; break;
      case 'F': text += fmt::format("{}-{:02}-{:02}", year, month, day); break;
      case 'T': text += fmt::format("{:02}:{:02}:{:02}", hour, minute, second); break;
      case 'Z':
      case 'z': break;  // a date without a time zone prints nothing
      case '%': text += '%'; break;
      default:
        fail_template("gives strftime_now the directive %", format[i],
                      ", expected one of %Y %y %m %d %e %H %I %M %S %f %j %B %b %A %a %p %F %T %%");
    }
  }
  return text;
}

}  // namespace dikkat::jinja
