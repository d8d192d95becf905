#include "autograd/kernels/optimizer/adamw.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/optimizer/magnitude.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

constexpr index kBlock = 1 << 14;

template <class T>
struct Constants {
  T scale, beta1, beta2, rest1, rest2, decay, rate, root, eps;
};

/// Returns whether all weights and second moments are finite afterwards. (A first moment that is not finite makes its weight not finite.)
/// It is a separate function with restricted pointers and constants as arguments, because gcc vectorizes the loop only then.
template <bool cautious, class T>
bool update(index n, const Constants<T> c, T* __restrict weight, const T* __restrict gradient, T* __restrict m, T* __restrict v) {
  Bits<T> highest = 0;
  for (index i = 0; i < n; ++i) {
    const T g = c.scale * gradient[i];
    m[i] = c.beta1 * m[i] + c.rest1 * g;
    v[i] = c.beta2 * v[i] + c.rest2 * g * g;
    const T decay = !cautious || m[i] * weight[i] >= 0 ? c.decay : T{1};
    weight[i] = weight[i] * decay - c.rate * m[i] / (std::sqrt(v[i]) * c.root + c.eps);
    highest = std::max({highest, magnitude(weight[i]), magnitude(v[i])});
  }
  return highest < kInfiniteMagnitude<T>;
}

}  // namespace

template <class T>
bool adamw(const AdamW<T>& p) {
  const double correction1 = 1 - std::pow(p.beta1, static_cast<double>(p.step));
  const double correction2 = 1 - std::pow(p.beta2, static_cast<double>(p.step));
  const Constants<T> c{.scale = static_cast<T>(p.gradient_scale),
                       .beta1 = static_cast<T>(p.beta1),
                       .beta2 = static_cast<T>(p.beta2),
                       .rest1 = static_cast<T>(1 - p.beta1),
                       .rest2 = static_cast<T>(1 - p.beta2),
                       .decay = static_cast<T>(1 - p.learning_rate * p.weight_decay),
                       .rate = static_cast<T>(p.learning_rate / correction1),
                       .root = static_cast<T>(1 / std::sqrt(correction2)),
                       .eps = static_cast<T>(p.eps)};
  const auto update_block = p.cautious ? update<true, T> : update<false, T>;
  std::atomic<bool> finite = true;
  parallel_blocks(p.n, kBlock, [&](index begin, index end) {
    if (!update_block(end - begin, c, p.weight + begin, p.gradient + begin, p.m + begin, p.v + begin)) {
      finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite;
}

template <class T>
double sum_of_squares_here(index n, const T* x) {
  constexpr index kSums = 16;  // independent sums, so that the compiler can use vectors
  double sums[kSums] = {};
  index at = 0;
  for (; at + kSums <= n; at += kSums) {
    for (index i = 0; i < kSums; ++i) {
      sums[i] += static_cast<double>(x[at + i]) * static_cast<double>(x[at + i]);
    }
  }
  for (; at < n; ++at) {
    sums[at % kSums] += static_cast<double>(x[at]) * static_cast<double>(x[at]);
  }
  double total = 0;
  for (const double s : sums) {
    total += s;
  }
  return total;
}

template <class T>
double sum_of_squares(index n, const T* x) {
  const index blocks = ceil_div(n, kBlock);
  const Scratch<double> partial(blocks);
  parallel_for(blocks, Work::elements(n), [&](index block) {
    const index begin = block * kBlock;
    partial[block] = sum_of_squares_here(std::min(n, begin + kBlock) - begin, x + begin);
  });
  double total = 0;
  for (index block = 0; block < blocks; ++block) {
    total += partial[block];
  }
  return total;
}

template bool adamw<float>(const AdamW<float>&);
template bool adamw<double>(const AdamW<double>&);
template double sum_of_squares<float>(index, const float*);
template double sum_of_squares<double>(index, const double*);
template double sum_of_squares_here<float>(index, const float*);
template double sum_of_squares_here<double>(index, const double*);

}  // namespace dikkat::kernels
