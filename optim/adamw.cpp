#include "optim/adamw.h"

#include "autograd/kernels/adamw.h"

namespace dikkat {

AdamW::AdamW(ParameterStore& store, const Options& options)
    : store_(store),
      options_(options),
      m_(static_cast<std::size_t>(store.slab_size()) * size_of(store.dtype()), "first moments of AdamW"),
      v_(static_cast<std::size_t>(store.slab_size()) * size_of(store.dtype()), "second moments of AdamW") {
  for_float(store.dtype(), "adamw", [&](auto zero) { store.weights<decltype(zero)>(); });  // throws unless allocated
}

bool AdamW::step(index step, double learning_rate, double gradient_scale) {
  require(step >= 1, "adamw: step ", step, ", expected 1 or more");
  store_.complete_gradients();
  bool finite = true;
  for_float(store_.dtype(), "adamw", [&](auto zero) {
    using T = decltype(zero);
    const auto update = [&](index begin, index end, double weight_decay) {
      const bool are_finite = kernels::adamw<T>({.n = end - begin,
                                                 .weight = store_.weights<T>() + begin,
                                                 .gradient = store_.gradients<T>() + begin,
                                                 .m = m<T>() + begin,
                                                 .v = v<T>() + begin,
                                                 .learning_rate = learning_rate,
                                                 .beta1 = options_.beta1,
                                                 .beta2 = options_.beta2,
                                                 .eps = options_.eps,
                                                 .weight_decay = weight_decay,
                                                 .gradient_scale = gradient_scale,
                                                 .step = step});
      finite = finite && are_finite;
    };
    update(0, store_.decay_begin(), 0);
    update(store_.decay_begin(), store_.slab_size(), options_.weight_decay);
  });
  store_.clear_gradients();
  return finite;
}

void* AdamW::checked(const Pages& pages, DType asked) const {
  require(asked == store_.dtype(), "adamw: moments hold ", store_.dtype(), ", asked for as ", asked);
  return pages.data();
}

}  // namespace dikkat
