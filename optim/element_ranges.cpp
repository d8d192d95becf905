#include "optim/element_ranges.h"

namespace dikkat {

std::vector<ElementRange> element_ranges(std::span<const ParameterSettings> parameters, const StateSlab& state) {
  const auto unit = static_cast<index>(64 / size_of(state.dtype));
  std::vector<ElementRange> ranges;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [parameter, rate_factor, weight_decay] = parameters[i];
    const index end = parameter->offset + round_up(parameter->size(), unit);
    if (!ranges.empty() && ranges.back().end == parameter->offset && ranges.back().rate_factor == rate_factor &&
        ranges.back().weight_decay == weight_decay) {
      ranges.back().end = end;
    } else {
      ranges.push_back({parameter->offset, end, state.parts[i].offset, rate_factor, weight_decay});
    }
  }
  return ranges;
}

}  // namespace dikkat
