#include "optim/adamw.h"

#include "autograd/kernels/optimizer/adamw.h"

namespace dikkat {

AdamW::AdamW(ParameterStore& store, const Options& options, std::span<const ParameterSettings> parameters)
    : Optimizer(store),
      options_(options),
      m_(slab_of(parameters, "m", "first moment")),
      v_(slab_of(parameters, "v", "second moment")),
      ranges_(element_ranges(parameters, m_)) {
  units_ = units_of(ranges_);
}

Cost AdamW::cost() const {
  return {.bytes = 7 * static_cast<double>(m_.bytes())};  // weights and both moments read and written, gradients read
}

bool AdamW::update(const Update& u, std::span<const Unit> units) {
  bool finite = true;
  for_float(store_.dtype(), "adamw", [&](auto zero) {
    using T = decltype(zero);
    for_ranges(units, ranges_, [&](const ElementRange& range, index begin, index count, index state) {
      const bool are_finite = kernels::adamw<T>({.n = count,
                                                 .weight = store_.weights<T>() + begin,
                                                 .gradient = store_.gradients<T>() + begin,
                                                 .m = m_.at<T>(state),
                                                 .v = v_.at<T>(state),
                                                 .learning_rate = u.learning_rate * range.rate_factor,
                                                 .beta1 = options_.beta1,
                                                 .beta2 = options_.beta2,
                                                 .eps = options_.eps,
                                                 .weight_decay = range.weight_decay * u.weight_decay_factor,
                                                 .gradient_scale = u.gradient_scale,
                                                 .step = u.step,
                                                 .cautious = options_.cautious_decay});
      finite = finite && are_finite;
    });
  });
  return finite;
}

}  // namespace dikkat
