#include "optim/element_ranges.h"

namespace dikkat {
namespace {

/// Adds a range, or makes the last one longer.
void append(std::vector<ElementRange>& ranges, const ElementRange& range) {
  if (range.begin == range.end) {
    return;
  }
  if (!ranges.empty() && ranges.back().end == range.begin && ranges.back().rate_factor == range.rate_factor &&
      ranges.back().weight_decay == range.weight_decay) {
    ranges.back().end = range.end;
  } else {
    ranges.push_back(range);
  }
}

}  // namespace

std::vector<ElementRange> element_ranges(std::span<const ParameterSettings> parameters, const StateSlab& state) {
  const auto unit = static_cast<index>(64 / size_of(state.dtype));
  std::vector<ElementRange> ranges;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterSettings& settings = parameters[i];
    const index offset = settings.parameter->offset, size = round_up(settings.parameter->size(), unit);
    const auto add = [&](index begin, index end, double factor) {
      append(ranges, {.begin = offset + begin,
                      .end = offset + end,
                      .state_offset = state.parts[i].offset + begin,
                      .rate_factor = settings.rate_factor * factor,
                      .weight_decay = settings.weight_decay});
    };
    const RowRates& rows = settings.rows;
    const index width = rows.are_equal() ? 0 : settings.parameter->shape()[1];
    add(0, rows.first * width, rows.outside);
    add(rows.first * width, rows.last * width, rows.inside);
    add(rows.last * width, size, rows.outside);
  }
  return ranges;
}

std::vector<Unit> units_of(std::span<const ElementRange> ranges) {
  std::vector<Unit> units;
  for (const ElementRange& range : ranges) {
    if (range.begin % Unit::kCut == 0) {
      units.push_back({.begin = range.begin, .end = range.end});
    } else {
      units.back().end = range.end;
    }
  }
  return units;
}

}  // namespace dikkat
