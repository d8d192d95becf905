#include "train/web/report/rows_to_draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dikkat {
namespace {

/// Adds the rows from `begin` to `end` that have a column's lowest value, its highest value and its first NaN.
void add_extremes(const std::vector<double>& column, std::size_t begin, std::size_t end, std::vector<std::size_t>& rows) {
  std::size_t low = end, high = end, gap = end;
  for (std::size_t row = begin; row < end; ++row) {
    const double value = column[row];
    if (std::isnan(value)) {
      gap = std::min(gap, row);
      continue;
    }
    low = low == end || value < column[low] ? row : low;
    high = high == end || value > column[high] ? row : high;
  }
  for (const std::size_t row : {low, high, gap}) {
    if (row < end) {
      rows.push_back(row);
    }
  }
}

}  // namespace

std::vector<std::size_t> rows_to_draw(std::span<const std::vector<double>> columns, std::size_t buckets) {
  const std::size_t count = columns.empty() ? 0 : columns.front().size();
  const std::size_t most_of_bucket = 1 + 3 * columns.size();
  std::vector<std::size_t> rows;
  if (count <= buckets * most_of_bucket) {
    rows.resize(count);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    return rows;
  }
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    const std::size_t begin = bucket * count / buckets;
    const std::size_t end = (bucket + 1) * count / buckets;
    rows.push_back(begin);
    for (const std::vector<double>& column : columns) {
      add_extremes(column, begin, end, rows);
    }
  }
  rows.push_back(count - 1);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace dikkat
