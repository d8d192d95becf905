#pragma once

#include <vector>

#include "layers/pass.h"

namespace dikkat {

/// Positions as waves: PE(t, 2i) = sin(t / 10000^(2i / C)), PE(t, 2i + 1) = cos of the same (Vaswani et al. 2017, 3.5).
class SinusoidalPositions {
 public:
  /// For positions 0 to places - 1 of vectors of `width` numbers.
  SinusoidalPositions(index places, index width);

  /// Rows first to first + time - 1: (time, width), without gradient. Throws Error when they are not all among the places.
  /// Computed anew in each call, so several threads may share a model.
  Tensor operator()(Pass& pass, index first, index time, DType dtype) const;

 private:
  index places_;
  std::vector<double> frequencies_;  // (width): 10000^(-2i / C) twice for each i
};

}  // namespace dikkat
