#pragma once

#include <cstdint>

namespace dikkat {

/// Every count, extent and offset.
using index = std::int64_t;

constexpr index ceil_div(index a, index b) { return (a + b - 1) / b; }
constexpr index round_up(index a, index multiple) { return ceil_div(a, multiple) * multiple; }

}  // namespace dikkat
