#include "train/chat/template/strftime.h"

#include <array>
#include <chrono>

#include <fmt/format.h>

#include "train/chat/template/template_error.h"

namespace dikkat::jinja {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"January", "February", "March",     "April",   "May",      "June",
                                                      "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

}  // namespace

std::string strftime(const CalendarDate& date, std::string_view format) {
  // Prepare the parts that directives print.
  const auto& [year, month, day, hour, minute, second] = date;
  const std::chrono::sys_days days = civil(date);
  const std::string_view weekday = kDays[std::chrono::weekday(days).c_encoding()];
  const std::string_view month_name = kMonths[static_cast<std::size_t>(month - 1)];
  const auto day_of_year = (days - std::chrono::sys_days(civil({.year = year}))).count() + 1;
  const int hour12 = hour % 12 == 0 ? 12 : hour % 12;
  // Replace each directive, and copy the other characters.
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
