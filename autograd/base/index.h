#pragma once

#include <cstdint>

namespace dikkat {

/// The type of every count, extent and offset.
using index = std::int64_t;

/// Returns a / b, rounded up. a is not negative, and b is positive. It does not overflow.
constexpr index ceil_div(index a, index b) { return a / b + (a % b > 0 ? 1 : 0); }
constexpr index round_up(index a, index multiple) { return ceil_div(a, multiple) * multiple; }

}  // namespace dikkat
