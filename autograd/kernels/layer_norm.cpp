#include "autograd/kernels/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/base/simd.h"

namespace dikkat::kernels {
namespace {

using simd::Vec;

constexpr index kRows = 32;  // of a tile

}  // namespace

template <class T>
void layer_norm_forward(const LayerNormForward<T>& p) noexcept {
  parallel_blocks(p.rows, kRows, [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      const T* x = p.x + row * p.cols;
      T* y = p.y + row * p.cols;

      Vec<T> total{};
      simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) { total += simd::load(x + at, lanes); });
      const T mean = simd::sum<T>(total) / static_cast<T>(p.cols);

      Vec<T> squares{};
      simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) {
        const Vec<T> d = simd::load(x + at, lanes, mean) - mean;  // the lanes past the end count nothing
        squares += d * d;
      });
      const T variance = simd::sum<T>(squares) / static_cast<T>(p.cols);
      const T rstd = T(1) / std::sqrt(variance + static_cast<T>(p.eps));

      simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) {
        Vec<T> v = (simd::load(x + at, lanes) - mean) * rstd * simd::load(p.gamma + at, lanes);
        if (p.beta != nullptr) {
          v += simd::load(p.beta + at, lanes);
        }
        simd::store(y + at, v, lanes);
      });
      p.mean[row] = mean;
      p.rstd[row] = rstd;
    }
  });
}

// With n = (x - mean) rstd and g = dy gamma:  dx = rstd (g - mean(g) - n mean(g n)),  dgamma = sum dy n,  dbeta = sum dy.
template <class T>
void layer_norm_backward(const LayerNormBackward<T>& p) noexcept {
  const index tiles = ceil_div(p.rows, kRows);
  const index width = round_up(p.cols, simd::kLanes<T>);
  T* partial = scratch<T>(Scratch::a, std::max<index>(tiles, 1) * 2 * width);  // per tile: its dgamma, its dbeta

  parallel_for(tiles, [&](index tile) {
    T* dgamma = partial + tile * 2 * width;
    T* dbeta = dgamma + width;
    std::fill(dgamma, dgamma + 2 * width, T(0));
    const index end = std::min(p.rows, (tile + 1) * kRows);
    for (index row = tile * kRows; row < end; ++row) {
      const T* x = p.x + row * p.cols;
      const T* dy = p.dy + row * p.cols;
      const T mean = p.mean[row];
      const T rstd = p.rstd[row];

      Vec<T> g_total{};
      Vec<T> gn_total{};
      simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) {
        const Vec<T> d = simd::load(dy + at, lanes);
        const Vec<T> n = (simd::load(x + at, lanes, mean) - mean) * rstd;
        const Vec<T> g = d * simd::load(p.gamma + at, lanes);
        g_total += g;
        gn_total += g * n;
        simd::store(dgamma + at, simd::load(dgamma + at) + d * n);
        simd::store(dbeta + at, simd::load(dbeta + at) + d);
      });
      if (!p.dx) {
        continue;
      }
      const T g_mean = simd::sum<T>(g_total) / static_cast<T>(p.cols);
      const T gn_mean = simd::sum<T>(gn_total) / static_cast<T>(p.cols);
      T* dx = p.dx.data + row * p.cols;
      simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) {
        const Vec<T> n = (simd::load(x + at, lanes) - mean) * rstd;
        Vec<T> v = rstd * (simd::load(dy + at, lanes) * simd::load(p.gamma + at, lanes) - g_mean - n * gn_mean);
        if (p.dx.add) {
          v += simd::load(dx + at, lanes);
        }
        simd::store(dx + at, v, lanes);
      });
    }
  });

  const auto gather = [&](GradOut<T> out, index offset) {
    simd::for_vectors<T>(0, out ? p.cols : 0, [&](index at, auto lanes) {
      Vec<T> total = out.add ? simd::load(out.data + at, lanes) : Vec<T>{};
      for (index tile = 0; tile < tiles; ++tile) {
        total += simd::load(partial + tile * 2 * width + offset + at);
      }
      simd::store(out.data + at, total, lanes);
    });
  };
  gather(p.dgamma, 0);
  gather(p.dbeta, width);
}

template void layer_norm_forward<float>(const LayerNormForward<float>&) noexcept;
template void layer_norm_forward<double>(const LayerNormForward<double>&) noexcept;
template void layer_norm_backward<float>(const LayerNormBackward<float>&) noexcept;
template void layer_norm_backward<double>(const LayerNormBackward<double>&) noexcept;

}  // namespace dikkat::kernels
