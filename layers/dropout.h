#pragma once

#include "autograd/ops/basic.h"
#include "layers/pass.h"
#include "layers/scope.h"

namespace dikkat {

/// In training, zeroes elements of x (B, ...) with a probability and scales up the others. Which ones is a function of (seed, site,
/// step, place in the whole step's batch), so that accumulation over micro-batches changes nothing.
struct Dropout {
  std::uint64_t site;
  double probability;

  Dropout(const Scope& s, double p) : site(s.site()), probability(p) {}

  /// What is to be done to x, for ops that drop besides.
  DropoutOptions options(const Pass& pass, Tensor x) const {
    if (!pass.training || probability == 0 || x.size() == 0) {
      return {};
    }
    return {.probability = probability, .stream = pass.stream(site), .first = pass.first_sequence * (x.size() / x.shape()[0])};
  }

  Tensor operator()(Pass& pass, Tensor x) const { return dropout(x, options(pass, x)); }
};

}  // namespace dikkat
