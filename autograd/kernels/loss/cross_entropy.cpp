#include "autograd/kernels/loss/cross_entropy.h"

#include <cmath>

#include "autograd/base/parallel.h"
#include "autograd/kernels/attention/row_exp.h"

namespace dikkat::kernels {
namespace {

constexpr index kRows = 16;

template <class T>
T scale_of(const CrossEntropy<T>& p, index row) {
  return static_cast<T>((p.weights == nullptr ? 1.0 : static_cast<double>(p.weights[row])) / p.normalizer);
}

/// Returns the share of each class by label smoothing.
template <class T>
T share_of(const CrossEntropy<T>& p) {
  return static_cast<T>(p.label_smoothing / static_cast<double>(p.cols));
}

/// Returns the cost of a row before scaling.
template <class T>
T cost_of(const CrossEntropy<T>& p, index row) {
  const T* logits = p.logits + row * p.cols;
  const T top = p.tops[row];
  const T log_sum = std::log(p.sums[row]);
  const T target = log_sum + (top - logits[p.targets[row]]);
  if (p.label_smoothing == 0) {
    return target;  // without smoothing: 0 times an infinite mean would be NaN
  }
  simd::Vec<T> total{};
  simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) { total += top - simd::load(logits + at, lanes, top); });
  const T all = static_cast<T>(p.cols) * log_sum + simd::sum<T>(total);
  return static_cast<T>(1 - p.label_smoothing) * target + share_of(p) * all;
}

}  // namespace

template <class T>
void cross_entropy_forward(const CrossEntropy<T>& p) {
  parallel_blocks(p.rows, kRows, Work::elements(p.rows * p.cols), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      const T scale = scale_of(p, row);
      const RowExp<T> of = scale == T(0) ? RowExp<T>{0, 1} : row_exp(p.logits + row * p.cols, p.cols);
      p.tops[row] = of.top;
      p.sums[row] = of.sum;
      p.losses[row] = scale == T(0) ? T(0) : scale * cost_of(p, row);
    }
  });
}

template <class T>
void cross_entropy_backward(const CrossEntropy<T>& p) {
  if (!p.dlogits) {
    return;
  }
  const T share = share_of(p);
  const T rest = static_cast<T>(1 - p.label_smoothing);
  parallel_blocks(p.rows, kRows, Work::elements(p.rows * p.cols), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      const T own = scale_of(p, row);
      const T scale = own == T(0) ? T(0) : p.dloss * own;  // the target of a row of weight 0 may be out of range
      const T* logits = p.logits + row * p.cols;
      T* out = p.dlogits.data + row * p.cols;
      const bool add = p.dlogits.add;
      simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) {
        simd::Vec<T> v{};
        if (scale != T(0)) {
          v = scale * (simd::exp(simd::load(logits + at, lanes) - p.tops[row]) / p.sums[row] - share);
        }
        simd::store(out + at, add ? simd::load(out + at, lanes) + v : v, lanes);
      });
      if (scale != T(0)) {
        out[p.targets[row]] -= scale * rest;
      }
    }
  });
}

template void cross_entropy_forward<float>(const CrossEntropy<float>&);
template void cross_entropy_forward<double>(const CrossEntropy<double>&);
template void cross_entropy_backward<float>(const CrossEntropy<float>&);
template void cross_entropy_backward<double>(const CrossEntropy<double>&);

}  // namespace dikkat::kernels
