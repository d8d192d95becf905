#include "optim/adamw.h"

#include <algorithm>

#include "autograd/kernels/adamw.h"

namespace dikkat {

AdamW::AdamW(ParameterStore& store, const Options& options, std::span<const ParameterSettings> parameters)
    : Optimizer(store), options_(options), m_(slab_of(parameters, "m", "first moment")), v_(slab_of(parameters, "v", "second moment")) {
  const auto unit = static_cast<index>(64 / size_of(store.dtype()));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [parameter, rate_factor, weight_decay] = parameters[i];
    const index end = parameter->offset + round_up(parameter->size(), unit);
    if (!ranges_.empty() && ranges_.back().end == parameter->offset && ranges_.back().rate_factor == rate_factor &&
        ranges_.back().weight_decay == weight_decay) {
      ranges_.back().end = end;
    } else {
      ranges_.push_back({parameter->offset, end, m_.parts[i].offset, rate_factor, weight_decay});
    }
  }
  for (const Range& range : ranges_) {
    units_.push_back({.begin = range.begin, .end = range.end});
  }
}

Cost AdamW::cost() const {
  return {.bytes = 7 * static_cast<double>(m_.bytes())};  // weights and both moments read and written, gradients read
}

bool AdamW::update(const Update& u, std::span<const Unit> units) {
  bool finite = true;
  for_float(store_.dtype(), "adamw", [&](auto zero) {
    using T = decltype(zero);
    for (const Unit& unit : units) {
      for (const Range& range : ranges_) {
        const index begin = std::max(unit.begin, range.begin);
        const index end = std::min(unit.end, range.end);
        if (begin >= end) {
          continue;
        }
        const index state = range.state_offset + (begin - range.begin);
        const bool are_finite = kernels::adamw<T>({.n = end - begin,
                                                   .weight = store_.weights<T>() + begin,
                                                   .gradient = store_.gradients<T>() + begin,
                                                   .m = m_.at<T>(state),
                                                   .v = v_.at<T>(state),
                                                   .learning_rate = u.learning_rate * range.rate_factor,
                                                   .beta1 = options_.beta1,
                                                   .beta2 = options_.beta2,
                                                   .eps = options_.eps,
                                                   .weight_decay = range.weight_decay,
                                                   .gradient_scale = u.gradient_scale,
                                                   .step = u.step});
        finite = finite && are_finite;
      }
    }
  });
  return finite;
}

}  // namespace dikkat
