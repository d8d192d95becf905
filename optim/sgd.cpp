#include "optim/sgd.h"

#include "autograd/kernels/optimizer/sgd.h"

namespace dikkat {

Sgd::Sgd(ParameterStore& store, const Options& options, std::span<const ParameterSettings> parameters)
    : Optimizer(store),
      options_(options),
      momentum_(slab_of(parameters, "momentum", "momentum")),
      ranges_(element_ranges(parameters, momentum_)) {
  units_ = units_of(ranges_);
}

Cost Sgd::cost() const {
  return {.bytes = 5 * static_cast<double>(momentum_.bytes())};  // weights and momentum read and written, gradients read
}

bool Sgd::update(const Update& u, std::span<const Unit> units) {
  bool finite = true;
  for_float(store_.dtype(), "sgd", [&](auto zero) {
    using T = decltype(zero);
    for_ranges(units, ranges_, [&](const ElementRange& range, index begin, index count, index state) {
      const bool are_finite = kernels::sgd<T>({.n = count,
                                               .weight = store_.weights<T>() + begin,
                                               .gradient = store_.gradients<T>() + begin,
                                               .momentum = momentum_.at<T>(state),
                                               .learning_rate = u.learning_rate * range.rate_factor,
                                               .beta = options_.momentum,
                                               .weight_decay = range.weight_decay * u.weight_decay_factor,
                                               .gradient_scale = u.gradient_scale,
                                               .nesterov = options_.nesterov});
      finite = finite && are_finite;
    });
  });
  return finite;
}

}  // namespace dikkat
