#include "layers/positions.h"

#include <algorithm>
#include <cmath>

namespace dikkat {

SinusoidalPositions::SinusoidalPositions(index places, index width) : places_(places), width_(width) {}

void SinusoidalPositions::make_rows(index end) const {
  const index made = std::ssize(table_) / width_;
  if (end <= made) {
    return;
  }
  table_.resize(static_cast<std::size_t>(end * width_));
  for (index t = made; t < end; ++t) {
    for (index c = 0; c < width_; ++c) {
      const index even = c / 2 * 2;
      const double frequency = std::pow(10000.0, -static_cast<double>(even) / static_cast<double>(width_));
      const double angle = static_cast<double>(t) * frequency;
      table_[static_cast<std::size_t>(t * width_ + c)] = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
}

Tensor SinusoidalPositions::operator()(Pass& pass, index first, index time, DType dtype) const {
  require(0 <= first && 0 <= time && first <= places_ - time, "positions: ", time, " from ", first, " on, expected some of the ", places_);
  pass.tape.begin("positions");
  make_rows(first + time);
  const Tensor rows = pass.tape.make({time, width_}, dtype);
  for_float(dtype, "positions", [&](auto zero) {
    using T = decltype(zero);
    std::transform(table_.begin() + first * width_, table_.begin() + (first + time) * width_, rows.mutable_data<T>(),
                   [](double value) { return static_cast<T>(value); });
  });
  return rows;
}

}  // namespace dikkat
