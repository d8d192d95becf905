#pragma once

#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// The two factors of an adapter's product B A, which is added to a matrix (out, in).
struct LowRank {
  index out = 0, rank = 0, in = 0;
  std::vector<float> a{}, b{};  // (rank, in), (out, rank)
};

/// Adds scale B A to `weight` (out, in).
void add_product(const LowRank& factors, double scale, float* weight);

}  // namespace dikkat
