#include "layers/positions.h"

#include <cmath>

#include "autograd/base/parallel.h"

namespace dikkat {

SinusoidalPositions::SinusoidalPositions(index max_positions, index width) : max_positions_(max_positions) {
  frequencies_.reserve(static_cast<std::size_t>(width));
  for (index c = 0; c < width; ++c) {
    const index even = c / 2 * 2;
    frequencies_.push_back(std::pow(10000.0, -static_cast<double>(even) / static_cast<double>(width)));
  }
}

Tensor SinusoidalPositions::operator()(Pass& pass, index first, index time, DType dtype) const {
  require(0 <= first && 0 <= time && first <= max_positions_ - time, "positions: found ", first, " to ", first + time - 1,
          ", expected 0 to ", max_positions_ - 1);
  pass.tape.begin("positions");
  const index width = std::ssize(frequencies_);
  const Tensor rows = pass.tape.make({time, width}, dtype);
  for_float(dtype, "positions", [&](auto zero) {
    using T = decltype(zero);
    T* out = rows.mutable_data<T>();
    parallel_for(time, [&](index t) {
      for (index c = 0; c < width; ++c) {
        const double angle = static_cast<double>(first + t) * frequencies_[static_cast<std::size_t>(c)];
        out[t * width + c] = static_cast<T>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    });
  });
  return rows;
}

}  // namespace dikkat
