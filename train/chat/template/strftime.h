#pragma once

#include <string>
#include <string_view>

#include "train/system/calendar_date.h"

namespace dikkat::jinja {

/// Returns the string that Python's strftime() makes of a format, with English names. Throws TemplateError for an unknown directive.
std::string strftime(const CalendarDate& date, std::string_view format);

}  // namespace dikkat::jinja
