#include "train/web/report/sparkline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace dikkat {

std::string sparkline(std::span<const double> values, int width) {
  constexpr const char* kHeights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr double kHighest = 7;
  const std::size_t pieces = std::min(values.size(), static_cast<std::size_t>(width));
  std::vector<double> means;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    double sum = 0, count = 0;
    for (std::size_t i = piece * values.size() / pieces; i < (piece + 1) * values.size() / pieces; ++i) {
      sum += std::isfinite(values[i]) ? values[i] : 0;
      count += std::isfinite(values[i]) ? 1 : 0;
    }
    means.push_back(sum / count);  // NaN if no value is finite
    low = count > 0 ? std::min(low, means.back()) : low;
    high = count > 0 ? std::max(high, means.back()) : high;
  }
  if (low > high) {
    return "";
  }
  std::string line;
  for (const double mean : means) {
    const double height = high > low ? (mean - low) / (high - low) : 0;
    line += std::isnan(mean) ? " " : kHeights[static_cast<std::size_t>(std::lround(height * kHighest))];
  }
  return line;
}

}  // namespace dikkat
