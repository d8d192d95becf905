#include "autograd/kernels/optimizer/sgd.h"

#include <algorithm>
#include <atomic>

#include "autograd/base/parallel.h"
#include "autograd/kernels/optimizer/magnitude.h"

namespace dikkat::kernels {
namespace {

constexpr index kBlock = 1 << 14;  // elements

template <class T>
struct Constants {
  T scale, beta, decay, rate;
};

/// Returns whether all weights and momenta are finite afterwards. It is a separate function with restricted pointers, because gcc
/// vectorizes the loop only then.
template <bool nesterov, class T>
bool update(index n, const Constants<T> c, T* __restrict weight, const T* __restrict gradient, T* __restrict momentum) {
  Bits<T> highest = 0;
  for (index i = 0; i < n; ++i) {
    const T g = c.scale * gradient[i] + c.decay * weight[i];
    momentum[i] = c.beta * momentum[i] + g;
    weight[i] -= c.rate * (nesterov ? g + c.beta * momentum[i] : momentum[i]);
    highest = std::max({highest, magnitude(weight[i]), magnitude(momentum[i])});
  }
  return highest < kInfiniteMagnitude<T>;
}

}  // namespace

template <class T>
bool sgd(const Sgd<T>& p) {
  const Constants<T> c{.scale = static_cast<T>(p.gradient_scale),
                       .beta = static_cast<T>(p.beta),
                       .decay = static_cast<T>(p.weight_decay),
                       .rate = static_cast<T>(p.learning_rate)};
  const auto update_block = p.nesterov ? update<true, T> : update<false, T>;
  std::atomic<bool> finite = true;
  parallel_blocks(p.n, kBlock, [&](index begin, index end) {
    if (!update_block(end - begin, c, p.weight + begin, p.gradient + begin, p.momentum + begin)) {
      finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite;
}

template bool sgd<float>(const Sgd<float>&);
template bool sgd<double>(const Sgd<double>&);

}  // namespace dikkat::kernels
