#pragma once

#include <string>
#include <string_view>

namespace dikkat::jinja {

/// A day and a time of the day, as strftime_now() prints them.
struct CalendarDate {
  int year = 1970, month = 1, day = 1;  // month and day count from 1
  int hour = 0, minute = 0, second = 0;

  bool operator==(const CalendarDate&) const = default;

  /// Reads "2026-03-09" or "2026-03-09 14:05". Throws InputError for another form, and for a day that does not exist.
  static CalendarDate parse(std::string_view text);
  /// Returns the text that Python's strftime() makes of a format, with English names. Throws TemplateError for an unknown directive.
  std::string format(std::string_view format) const;
};

}  // namespace dikkat::jinja
