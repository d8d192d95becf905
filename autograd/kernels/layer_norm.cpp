#include "autograd/kernels/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

using simd::Vec;

constexpr index kRows = 8;         // rows of a tile, forward: few, so that many threads share a short batch
constexpr index kSummedRows = 16;  // rows of a tile, backward: each tile has its own sums
constexpr index kColumns = 64;     // columns that a thread gathers

/// Sums along a row use four independent accumulators, so that additions overlap.
constexpr int kChains = 4;
template <class T>
struct Chains {
  Vec<T> sums[kChains] = {};
  T total() const { return simd::sum<T>((sums[0] + sums[1]) + (sums[2] + sums[3])); }
};
/// Calls f(at, lanes, chain) for the vectors of a row.
template <class T, class F>
void for_chains(index cols, F&& f) {
  index at = 0;
  for (; at + kChains * simd::kLanes<T> <= cols; at += kChains * simd::kLanes<T>) {
    for (int chain = 0; chain < kChains; ++chain) {
      f(at + chain * simd::kLanes<T>, simd::Whole{}, chain);
    }
  }
  simd::for_vectors<T>(at, cols, [&](index last, auto lanes) { f(last, lanes, 0); });
}

/// Computes one row of x = residual + dropout(branch). Returns the sum of the row.
template <class T, class B, class Y>
T add_row(const LayerNormForward<T, B, Y>& p, index row, T* x) {
  const index cols = p.cols;
  const T* residual = p.residual + row * cols;
  const auto add = [&](const auto* branch) {
    Chains<T> total;
    for_chains<T>(cols, [&](index at, auto lanes, int chain) {
      const Vec<T> v = simd::load(residual + at, lanes) + simd::load_as<T>(branch + at, lanes);
      simd::store(x + at, v, lanes);
      total.sums[chain] += v;
    });
    return total.total();
  };
  if (p.dropping.probability > 0) {
    drop(p.dropping, row * cols, (row + 1) * cols, p.branch, GradOut<T>{p.sum});  // written to x, which is read next
    return add(x);
  }
  return add(p.branch + row * cols);
}

template <class T>
T sum_of_row(index cols, const T* x) {
  Chains<T> total;
  for_chains<T>(cols, [&](index at, auto lanes, int chain) { total.sums[chain] += simd::load(x + at, lanes); });
  return total.total();
}

}  // namespace

template <class T, class B, class Y>
void layer_norm_forward(const LayerNormForward<T, B, Y>& p) {
  parallel_blocks(p.rows, kRows, Work::elements(p.rows * p.cols), [&](index begin, index end) {
    const index cols = p.cols;
    const T* gamma = p.gamma;
    const T* beta = p.beta;
    for (index row = begin; row < end; ++row) {
      const T* x = (p.residual != nullptr ? p.sum : p.x) + row * cols;
      Y* y = p.y + row * cols;
      // Compute or read the row, and its mean.
      T total{};
      if (p.residual != nullptr) {
        total = add_row(p, row, p.sum + row * cols);
      } else if (p.center) {
        total = sum_of_row(cols, x);
      }
      const T mean = p.center ? total / static_cast<T>(cols) : T(0);

      // Compute the variance.
      Chains<T> squares;
      for_chains<T>(cols, [&](index at, auto lanes, int chain) {
        const Vec<T> d = simd::load(x + at, lanes, mean) - mean;  // lanes past the end are 0
        squares.sums[chain] += d * d;
      });
      const T variance = squares.total() / static_cast<T>(cols);
      const T rstd = T(1) / std::sqrt(variance + static_cast<T>(p.eps));

      // Write the normalized row.
      simd::for_vectors<T>(0, cols, [&](index at, auto lanes) {
        Vec<T> v = (simd::load(x + at, lanes) - mean) * rstd * simd::load(gamma + at, lanes);
        if (beta != nullptr) {
          v += simd::load(beta + at, lanes);
        }
        simd::store_as<T>(y + at, v, lanes);
      });
      if (p.center) {
        p.mean[row] = mean;
      }
      p.rstd[row] = rstd;
    }
  });
}

// With n = (x - mean) rstd and g = dy gamma:  dx = rstd (g - mean(g) - n mean(g n)),  dgamma = sum dy n,  dbeta = sum dy.
// RMSNorm has no mean, and so no term mean(g).
template <class T, class B, class Y>
void layer_norm_backward(const LayerNormBackward<T, B, Y>& p) {
  const index tiles = ceil_div(p.rows, kSummedRows);
  const index width = round_up(p.cols, simd::kLanes<T>);
  const Scratch<T> partial(tiles * 2 * width);  // per tile: its dgamma, its dbeta

  // Each tile has its own sums for gamma and beta.
  parallel_for(tiles, Work::elements(2 * p.rows * p.cols), [&](index tile) {
    const index cols = p.cols;
    const T* gamma = p.gamma;
    const bool add = p.dx.add;
    T* dgamma = partial + tile * 2 * width;
    T* dbeta = dgamma + width;
    std::fill(dgamma, dgamma + 2 * width, T(0));
    const index end = std::min(p.rows, (tile + 1) * kSummedRows);
    for (index row = tile * kSummedRows; row < end; ++row) {
      const T* x = p.x + row * cols;
      const Y* dy = p.dy + row * cols;
      const T mean = p.mean != nullptr ? p.mean[row] : T(0);
      const T rstd = p.rstd[row];

      // The first pass over the row computes the sums that dx needs, and adds to the tile's dgamma and dbeta.
      Chains<T> g_total, gn_total;
      for_chains<T>(cols, [&](index at, auto lanes, int chain) {
        const Vec<T> d = simd::load_as<T>(dy + at, lanes);
        const Vec<T> n = (simd::load(x + at, lanes, mean) - mean) * rstd;
        const Vec<T> g = d * simd::load(gamma + at, lanes);
        g_total.sums[chain] += g;
        gn_total.sums[chain] += g * n;
        simd::store(dgamma + at, simd::load(dgamma + at) + d * n);
        simd::store(dbeta + at, simd::load(dbeta + at) + d);
      });
      if (!p.dx) {
        continue;
      }
      // The second pass writes dx, and from it the branch's gradient.
      const T g_mean = p.mean != nullptr ? g_total.total() / static_cast<T>(cols) : T(0);
      const T gn_mean = gn_total.total() / static_cast<T>(cols);
      T* dx = p.dx.data + row * cols;
      simd::for_vectors<T>(0, cols, [&](index at, auto lanes) {
        const Vec<T> n = (simd::load(x + at, lanes) - mean) * rstd;
        Vec<T> v = rstd * (simd::load_as<T>(dy + at, lanes) * simd::load(gamma + at, lanes) - g_mean - n * gn_mean);
        if (add) {
          v += simd::load(dx + at, lanes);
        }
        simd::store(dx + at, v, lanes);
      });
      if (p.dbranch) {
        drop(p.dropping, row * cols, (row + 1) * cols, p.dx.data, p.dbranch);
      }
    }
  });

  // The tiles' sums are added in their order.
  parallel_blocks(p.cols, kColumns, Work::elements(2 * tiles * p.cols), [&](index begin, index end) {
    const auto gather = [&](GradOut<T> out, index offset) {
      simd::for_vectors<T>(begin, out ? end : begin, [&](index at, auto lanes) {
        Vec<T> total = out.add ? simd::load(out.data + at, lanes) : Vec<T>{};
        for (index tile = 0; tile < tiles; ++tile) {
          total += simd::load(partial + tile * 2 * width + offset + at);
        }
        simd::store(out.data + at, total, lanes);
      });
    };
    gather(p.dgamma, 0);
    gather(p.dbeta, width);
  });
}

#define DIKKAT_INSTANTIATE(T, B, Y)                                   \
  template void layer_norm_forward(const LayerNormForward<T, B, Y>&); \
  template void layer_norm_backward(const LayerNormBackward<T, B, Y>&);
DIKKAT_INSTANTIATE(float, float, float)
DIKKAT_INSTANTIATE(double, double, double)
DIKKAT_INSTANTIATE(float, float, bf16)
DIKKAT_INSTANTIATE(float, bf16, float)
DIKKAT_INSTANTIATE(float, bf16, bf16)
#undef DIKKAT_INSTANTIATE

}  // namespace dikkat::kernels
