#include "autograd/tape/no_gradient.h"

namespace dikkat {

Tensor detach(Tensor x) {
  require(x.tape() != nullptr, "detach: x is a parameter ", x.shape(), ", expected tape.use(parameter)");
  require(x.record()->storage == nullptr && !x.record()->released,
          "detach: x has Lifetime::until_consumed, expected a tensor that stays in memory until reset()");
  return x.needs_gradient() ? x.tape()->view(x, x.shape()) : x;
}

}  // namespace dikkat
