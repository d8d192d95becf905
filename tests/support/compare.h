#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace dikkat::testing {

template <class T>
double largest_magnitude(const std::vector<T>& values) {
  double largest = 0;
  for (const T value : values) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  return largest;
}

/// Returns the largest |found - expected|, divided by the largest |expected| or by `floor`, whichever is larger. Returns infinity if sizes
/// differ or a number is not finite.
template <class A, class B>
double relative_error(const std::vector<A>& found, const std::vector<B>& expected, double floor = 1e-2) {
  if (found.size() != expected.size()) {
    return std::numeric_limits<double>::infinity();
  }
  double error = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    error = std::max(error, std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity());
  }
  return error / std::max(floor, largest_magnitude(expected));
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace dikkat::testing
