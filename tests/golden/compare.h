#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/dtype.h"

namespace dikkat {

/// The element types of TYPED_TEST_SUITE(Suite, FloatTypes, FloatTypeName), and their names in the tests'.
using FloatTypes = testing::Types<double, float>;
struct FloatTypeName {
  template <class T>
  static std::string GetName(int) {
    return name_of(kDType<T>);
  }
};

/// The largest difference, relative to the largest expected magnitude: 0 for equal, infinite for NaN or another number of elements.
inline double error_of(const std::vector<double>& actual, const std::vector<double>& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (actual.size() != expected.size()) {
    return kInfinity;
  }
  double difference = 0;
  double magnitude = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double d = std::abs(actual[i] - expected[i]);
    if (!std::isfinite(d)) {
      return kInfinity;
    }
    difference = std::max(difference, d);
    magnitude = std::max(magnitude, std::abs(expected[i]));
  }
  return difference == 0 ? 0 : difference / magnitude;
}

}  // namespace dikkat
