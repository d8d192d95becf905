#pragma once

namespace dikkat::gradcheck {

constexpr double kNumeric = 1e-6;      // relative error of a gradient against central differences
constexpr double kDefinition = 1e-12;  // of f64 against f64 that is summed in another order

}  // namespace dikkat::gradcheck
