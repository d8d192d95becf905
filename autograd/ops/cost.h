#pragma once

#include "autograd/tape/tape.h"

namespace dikkat {

/// What an op has to do at least, from its shapes.
struct Cost {
  double flops = 0;  // of matrix products, two for each multiply-add; 0 for an op that has none
  double bytes = 0;  // of its operands and results, each read or written once; 0 where that says nothing
};

/// Attention counts the pairs that see each other: two products forward and five backward, scores made anew being one.
Cost forward_cost(const OpRun& run);
/// For those inputs that need a gradient.
Cost backward_cost(const OpRun& run);

}  // namespace dikkat
