#include "autograd/kernels/softmax.h"

#include "autograd/base/parallel.h"
#include "autograd/kernels/row_exp.h"

namespace dikkat::kernels {
namespace {
constexpr index kRows = 16;
}

template <class T>
void softmax_forward(const Softmax<T>& p) {
  parallel_blocks(p.rows, kRows, Work::elements(p.rows * p.cols), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      const T* x = p.x + row * p.cols;
      const auto [top, sum] = row_exp(x, p.cols);
      simd::for_vectors<T>(0, p.cols, [&, top = top, sum = sum](index at, auto lanes) {
        simd::store(p.y + row * p.cols + at, simd::exp(simd::load(x + at, lanes) - top) / sum, lanes);
      });
    }
  });
}

template <class T>
void softmax_backward(const Softmax<T>& p) {
  if (!p.dx) {
    return;
  }
  parallel_blocks(p.rows, kRows, Work::elements(p.rows * p.cols), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      const T* y = p.y + row * p.cols;
      const T* dy = p.dy + row * p.cols;
      T* dx = p.dx.data + row * p.cols;
      simd::Vec<T> total{};
      simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) { total += simd::load(y + at, lanes) * simd::load(dy + at, lanes); });
      const T dot = simd::sum<T>(total);
      simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) {
        simd::Vec<T> v = simd::load(y + at, lanes) * (simd::load(dy + at, lanes) - dot);
        if (p.dx.add) {
          v += simd::load(dx + at, lanes);
        }
        simd::store(dx + at, v, lanes);
      });
    }
  });
}

template void softmax_forward<float>(const Softmax<float>&);
template void softmax_forward<double>(const Softmax<double>&);
template void softmax_backward<float>(const Softmax<float>&);
template void softmax_backward<double>(const Softmax<double>&);

}  // namespace dikkat::kernels
