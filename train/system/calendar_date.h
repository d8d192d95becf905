#pragma once

#include <chrono>
#include <string_view>

namespace dikkat {

/// A day and a time of the day, as chat templates print them.
struct CalendarDate {
  int year = 1970, month = 1, day = 1;  // month and day count from 1
  int hour = 0, minute = 0, second = 0;

  bool operator==(const CalendarDate&) const = default;

  /// Reads "2026-03-09" or "2026-03-09 14:05". Throws InputError for another form, and for a day that does not exist.
  static CalendarDate parse(std::string_view text);
};

/// Returns the day for calculations; not ok() if it does not exist.
std::chrono::year_month_day civil(const CalendarDate& date);

}  // namespace dikkat
