#include "autograd/kernels/head_norm.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

using simd::Vec;

constexpr index kNormRows = 8;         // rows of a tile, forward
constexpr index kNormSummedRows = 16;  // rows of a tile, backward: each tile has its own sums

template <class T>
index width_of(const HeadNorm<T>& p) {
  return p.heads * p.size + p.key_heads * p.key_size + p.rest;
}

/// Head h of a row: where it begins, and its size. Heads of queries come first.
struct Head {
  index first, size;
  template <class T>
  Head(const HeadNorm<T>& p, index h)
      : first(h < p.heads ? h * p.size : p.heads * p.size + (h - p.heads) * p.key_size), size(h < p.heads ? p.size : p.key_size) {}
};

/// Returns 1 / sqrt(mean(h^2) + eps).
template <class C, class T>
C scale_of_head(const HeadNorm<T>& p, index size, const T* head) {
  Vec<C> squares{};
  simd::for_vectors<C>(0, size, [&](index d, auto lanes) {
    const Vec<C> v = simd::load_as<C>(head + d, lanes);
    squares += v * v;
  });
  return C(1) / std::sqrt(simd::sum<C>(squares) / static_cast<C>(size) + static_cast<C>(p.eps));
}

}  // namespace

template <class T>
void head_norm_forward(const HeadNorm<T>& p) {
  using C = Computed<T>;
  const index width = width_of(p);
  parallel_blocks(p.rows, kNormRows, Work::elements(p.rows * width), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      const T* x = p.x + row * width;
      T* y = p.y + row * width;
      for (index h = 0; h < p.heads + p.key_heads; ++h) {
        const C* gamma = h < p.heads ? p.q_gamma : p.k_gamma;
        const Head head(p, h);
        const C scale = scale_of_head<C>(p, head.size, x + head.first);
        simd::for_vectors<C>(0, head.size, [&](index d, auto lanes) {
          simd::store_as<C>(y + head.first + d, simd::load_as<C>(x + head.first + d, lanes) * scale * simd::load(gamma + d, lanes), lanes);
        });
      }
      std::copy(x + width - p.rest, x + width, y + width - p.rest);
    }
  });
}

// With n = h scale and g = dy gamma:  dh = scale (g - n mean(g n)),  dgamma = sum dy n.
template <class T>
void head_norm_backward(const HeadNorm<T>& p) {
  using C = Computed<T>;
  const index width = width_of(p);
  const index tiles = ceil_div(p.rows, kNormSummedRows);
  const index padded = round_up(std::max(p.size, p.key_size), simd::kLanes<C>);
  const Scratch<C> partial(tiles * 2 * padded);  // per tile: its dq_gamma, its dk_gamma
  // Each row replaces its dy by dx; each tile has its own sums for the gains.
  parallel_for(tiles, Work::elements(2 * p.rows * width), [&](index tile) {
    C* sums = partial + tile * 2 * padded;
    std::fill_n(sums, 2 * padded, C(0));
    const index end = std::min(p.rows, (tile + 1) * kNormSummedRows);
    for (index row = tile * kNormSummedRows; row < end; ++row) {
      for (index h = 0; h < p.heads + p.key_heads; ++h) {
        const Head head(p, h);
        const T* x = p.x + row * width + head.first;
        T* dy = p.y + row * width + head.first;
        const C* gamma = h < p.heads ? p.q_gamma : p.k_gamma;
        C* dgamma = sums + (h < p.heads ? 0 : padded);
        const C scale = scale_of_head<C>(p, head.size, x);
        // The first pass over the head computes the sum that dx needs, and the gain's gradient.
        Vec<C> products{};
        simd::for_vectors<C>(0, head.size, [&](index d, auto lanes) {
          const Vec<C> n = simd::load_as<C>(x + d, lanes) * scale;
          const Vec<C> g = simd::load_as<C>(dy + d, lanes);
          simd::store(dgamma + d, simd::load(dgamma + d) + g * n);
          products += g * simd::load(gamma + d, lanes) * n;
        });
        // The second pass replaces dy by dx.
        const C mean = simd::sum<C>(products) / static_cast<C>(head.size);
        simd::for_vectors<C>(0, head.size, [&](index d, auto lanes) {
          const Vec<C> n = simd::load_as<C>(x + d, lanes) * scale;
          const Vec<C> g = simd::load_as<C>(dy + d, lanes) * simd::load(gamma + d, lanes);
          simd::store_as<C>(dy + d, scale * (g - n * mean), lanes);
        });
      }
    }
  });
  // The tiles' sums are added in their order.
  const auto gather = [&](GradOut<C> out, index size, index offset) {
    simd::for_vectors<C>(0, out ? size : 0, [&](index d, auto lanes) {
      Vec<C> total = out.add ? simd::load(out.data + d, lanes) : Vec<C>{};
      for (index tile = 0; tile < tiles; ++tile) {
        total += simd::load(partial + tile * 2 * padded + offset + d, lanes);
      }
      simd::store(out.data + d, total, lanes);
    });
  };
  parallel_for(1, Work::elements(2 * tiles * padded), [&](index) {  // a loop, so that a dry run leaves it out
    gather(p.dq_gamma, p.size, 0);
    gather(p.dk_gamma, p.key_size, padded);
  });
}

template void head_norm_forward(const HeadNorm<float>&);
template void head_norm_forward(const HeadNorm<double>&);
template void head_norm_forward(const HeadNorm<bf16>&);
template void head_norm_backward(const HeadNorm<float>&);
template void head_norm_backward(const HeadNorm<double>&);
template void head_norm_backward(const HeadNorm<bf16>&);

}  // namespace dikkat::kernels
