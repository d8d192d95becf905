#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "optim/optimizer.h"

namespace dikkat {

/// Elements that an optimizer updates one by one: parameters, or rows of one, that are adjacent in the slab and have equal settings.
struct ElementRange {
  index begin, end;    // in the store's slab
  index state_offset;  // offset of its first element in a state slab
  double rate_factor, weight_decay;
};

/// Returns the ranges of parameters that are in the order of the slab. `state` has a tensor of the parameter's shape for each of them.
std::vector<ElementRange> element_ranges(std::span<const ParameterSettings> parameters, const StateSlab& state);

/// Returns the units of these ranges. Ranges that meet between two places where a unit may be cut (Unit::kCut) share one.
std::vector<Unit> units_of(std::span<const ElementRange> ranges);

/// Calls f(range, begin, count, state_offset) for the elements that are in both a unit and a range.
template <class F>
void for_ranges(std::span<const Unit> units, std::span<const ElementRange> ranges, F&& f) {
  for (const Unit& unit : units) {
    for (const ElementRange& range : ranges) {
      const index begin = std::max(unit.begin, range.begin);
      const index end = std::min(unit.end, range.end);
      if (begin < end) {
        f(range, begin, end - begin, range.state_offset + (begin - range.begin));
      }
    }
  }
}

}  // namespace dikkat
