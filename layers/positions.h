#pragma once

#include <vector>

#include "layers/pass.h"

namespace dikkat {

/// Positions as waves: PE(t, 2i) = sin(t / 10000^(2i / C)), PE(t, 2i + 1) = cos of the same (Vaswani et al. 2017, 3.5).
class SinusoidalPositions {
 public:
  /// Of places 0 to places - 1.
  SinusoidalPositions(index places, index width);

  /// Rows first to first + time - 1: (time, C), without gradient. Throws Error when they are not all among the places.
  Tensor operator()(Pass& pass, index first, index time, DType dtype) const;

 private:
  void make_rows(index end) const;

  index places_, width_;
  mutable std::vector<double> table_;  // (places so far, width): made as far as it is used, since a configuration can ask for any number
};

}  // namespace dikkat
