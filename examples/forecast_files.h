#pragma once

// The files of forecast.cpp: reads series from a CSV file, writes forecasts as CSV, and draws them as SVG.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "autograd/base/error.h"
#include "train/system/file.h"
#include "train/text/table_reader.h"

namespace dikkat {

struct Series {
  std::string name;
  std::vector<double> values{};

  index size() const { return std::ssize(values); }
  double operator[](index i) const { return values[static_cast<std::size_t>(i)]; }
};

/// The next steps of a series: all values of the quantiles 0.1, 0.5 and 0.9.
using Forecast = std::array<std::vector<double>, 3>;

template <class N>
inline bool is_number(std::string_view text, N& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Returns the value of a whole number, or the months of 2024-03; -1 if the text is neither.
inline index time_of(std::string_view text) {
  index number = -1, month = 0;
  if (text.size() == 7 && text[4] == '-' && is_number(text.substr(0, 4), number) && is_number(text.substr(5), month)) {
    return month >= 1 && month <= 12 ? 12 * number + month - 1 : -1;
  }
  return is_number(text, number) && number < index{1} << 40 ? number : -1;
}

/// A point of a file. `row` is its row as spreadsheets count them.
struct Point {
  index time, row;
  double value;
};

/// Returns the series of these points, sorted by time. Throws InputError if there are too few, a time occurs twice, or there is a gap.
inline Series series_of(const std::string& name, std::vector<Point> points, index shortest, const std::string& path) {
  const auto refuse = [&](index row, const auto&... parts) { fail_input(path, ": row ", row, ": the series \"", name, "\" ", parts...); };
  if (std::ssize(points) < shortest) {
    refuse(points[0].row, "has ", points.size(), " points, expected at least ", shortest,
           ": a context to read, and twice the horizon, to learn and to measure");
  }
  std::ranges::stable_sort(points, {}, &Point::time);
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].time == points[i - 1].time) {
      refuse(points[i].row, "has the time of row ", points[i - 1].row, " again, expected another time");
    }
    if (points[i].time - points[i - 1].time != points[1].time - points[0].time) {
      refuse(points[i].row, "has a gap before this time, expected times at equal distances");
    }
  }
  Series series{.name = name};
  for (const Point& point : points) {
    series.values.push_back(point.value);
  }
  return series;
}

/// Reads a CSV file with the columns series, time (or order) and value, and a row for each point. A time is a whole number, or a month:
/// 2024-03. Rows may have any order. Returns the series in the order in which the file names them. Throws InputError, with the row, for
/// anything that is not a point, and for a series with a gap or fewer than `shortest` points.
inline std::vector<Series> read_series(const std::string& path, index shortest) {
  std::vector<std::pair<std::string, std::vector<Point>>> found;
  std::unordered_map<std::string, std::size_t> places;
  index row = 1;
  try {
    bool is_read = false;
    TableReader table([&](std::string& text) { return !std::exchange(is_read, true) && (text += read_bytes(path), true); });
    const auto column_of = [&](std::string_view name, std::string_view other) {
      const auto column = std::ranges::find_if(table.columns(), [&](const std::string& one) { return one == name || one == other; });
      require_input(column != table.columns().end(), path, ": row 1: found no column ", name,
                    ", expected series, time (or order) and value");
      return static_cast<std::size_t>(column - table.columns().begin());
    };
    const std::size_t series = column_of("series", "series"), time = column_of("time", "order"), value = column_of("value", "value");
    while (row = table.row() + 1, table.next()) {
      const auto fields = table.fields();
      Point point{.time = time_of(fields[time]), .row = row = table.row(), .value = 0};
      require_input(point.time >= 0, path, ": row ", row, ": found the time \"", fields[time],
                    "\", expected a whole number, or a month: 2024-03");
      require_input(is_number(fields[value], point.value) && std::abs(point.value) < 1e30, path, ": row ", row, ": found the value \"",
                    fields[value], "\", expected a number between -1e30 and 1e30");
      const auto [place, is_new] = places.try_emplace(std::string(fields[series]), found.size());
      if (is_new) {
        found.emplace_back(place->first, std::vector<Point>{});
      }
      found[place->second].second.push_back(point);
    }
  } catch (const BadTable& error) {
    fail_input(path, ": row ", row, ": ", error.what());
  }
  require_input(!found.empty(), path, ": row 1: found no rows after the header, expected a row for each point");
  std::vector<Series> all;
  for (const auto& [name, points] : found) {
    all.push_back(series_of(name, points, shortest, path));
  }
  return all;
}

/// Returns the text with each `special` replaced by `with`.
inline std::string replaced(std::string text, char special, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(special, at)) != std::string::npos; at += with.size()) {
    text.replace(at, 1, with);
  }
  return text;
}

/// Returns the rows of OUT.csv for a series: its name, the step, and the quantiles.
inline std::string csv_rows(const std::string& name, const Forecast& q) {
  std::string out;
  for (std::size_t i = 0; i < q[0].size(); ++i) {
    out += fmt::format("\"{}\",{},{:.7g},{:.7g},{:.7g}\n", replaced(name, '"', "\"\""), i + 1, q[0][i], q[1][i], q[2][i]);
  }
  return out;
}

/// Draws the last `shown` points of a series in gray, its forecast in blue, and another one as a dashed line: a part of an SVG picture,
/// 660 wide and 150 high, that begins at `top`.
inline std::string drawing_of(const Series& series, index shown, const Forecast& q, const std::vector<double>& dashed, double top) {
  const std::vector<double> past(series.values.end() - std::min(shown, series.size()), series.values.end());
  const std::pair<const std::vector<double>*, const char*> lines[] = {
      {&past, "gray"}, {&q[0], "skyblue"}, {&q[2], "skyblue"}, {&q[1], "blue"}, {&dashed, "darkorange\" stroke-dasharray=\"4"}};
  double low = past[0], high = past[0];
  for (const auto& [values, color] : lines) {
    low = std::min(low, std::ranges::min(*values));
    high = std::max(high, std::ranges::max(*values));
  }
  std::string out =
      fmt::format("<text x=\"10\" y=\"{}\">{}</text>\n", top + 20, replaced(replaced(series.name, '&', "&amp;"), '<', "&lt;"));
  for (const auto& [values, color] : lines) {
    out += fmt::format("<polyline fill=\"none\" stroke=\"{}\" points=\"", color);
    for (std::size_t i = 0; i < values->size(); ++i) {
      const double x = static_cast<double>(i + (values == &past ? 0 : past.size())) / static_cast<double>(past.size() + q[0].size());
      out += fmt::format("{:.1f},{:.1f} ", 10 + 640 * x, top + 140 - 110 * ((*values)[i] - low) / std::max(high - low, 1e-30));
    }
    out += "\"/>\n";
  }
  return out;
}

}  // namespace dikkat
