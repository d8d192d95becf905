#include "optim/clip.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/kernels/optimizer/adamw.h"

namespace dikkat {

double gradient_norm(ParameterStore& store) {
  store.complete_gradients();
  return for_float(store.dtype(), "gradient norm", [&](auto zero) {
    using T = decltype(zero);
    return std::sqrt(kernels::sum_of_squares<T>(store.trainable_size(), store.gradients<T>()));
  });
}

double clip_factor(double norm, double max_norm) {
  if (!std::isfinite(norm)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return max_norm == 0 ? 1 : std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace dikkat
