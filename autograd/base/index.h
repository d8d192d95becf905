#pragma once

#include <cstdint>

namespace dikkat {

/// Every count, extent and offset.
using index = std::int64_t;

/// a / b, rounded up, for a from 0 on and a positive b. It does not overflow.
constexpr index ceil_div(index a, index b) { return a / b + (a % b > 0 ? 1 : 0); }
constexpr index round_up(index a, index multiple) { return ceil_div(a, multiple) * multiple; }

}  // namespace dikkat
