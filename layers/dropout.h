#pragma once

#include "autograd/ops/basic.h"
#include "layers/pass.h"
#include "layers/scope.h"

namespace dikkat {

/// In training, sets elements of x (B, ...) to zero with a probability and scales up the others. The choice of elements is a function of
/// (seed, site, step, index in the step's whole batch), so gradient accumulation over micro-batches changes nothing.
struct Dropout {
  std::uint64_t site;
  double probability;

  Dropout(const Scope& s, double p) : site(s.site()), probability(p) {}

  /// Returns the options for x, for ops that include dropout.
  DropoutOptions options(const Pass& pass, Tensor x) const {
    if (!pass.training || probability == 0 || x.size() == 0) {
      return {};
    }
    return {.probability = probability, .stream = pass.stream(site), .first = pass.first_sequence * (x.size() / x.shape()[0])};
  }

  Tensor operator()(Pass& pass, Tensor x) const { return dropout(x, options(pass, x)); }
};

}  // namespace dikkat
