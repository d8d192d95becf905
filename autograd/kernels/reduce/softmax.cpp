#include "autograd/kernels/reduce/softmax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/kernels/attention/row_exp.h"
#include "autograd/simd/number.h"

namespace dikkat::kernels {
namespace {

using simd::Vec;

constexpr index kRows = 16;
constexpr index kTile = 1 << 14;                       // elements of a tile of columns, which stay in L2
constexpr index kFewColumns = 64, kColumns = 1 << 10;  // columns of a tile, whose sums stay in L1

template <class T, class Lanes>
void put(GradOut<T> out, index at, Vec<Computed<T>> value, Lanes lanes) {
  using C = Computed<T>;
  if (out.add) {
    value += simd::load_as<C>(out.data + at, lanes);
  }
  simd::store_as<C>(out.data + at, value, lanes);
}

/// Returns an element's term of the sum that backward needs. y is a probability, or its logarithm if kLog.
template <bool kLog, class C>
Vec<C> term(Vec<C> y, Vec<C> dy) {
  return kLog ? dy : simd::chained<C>(y, dy);
}
/// Returns its gradient, which follows from the sum. A probability of 0, or a row whose dy is 0, has gradient 0 even if other numbers are
/// infinite or NaN.
template <bool kLog, class C>
Vec<C> gradient(Vec<C> y, Vec<C> dy, Vec<C> sum) {
  if constexpr (kLog) {
    return dy - simd::chained<C>(simd::exp(y), sum);
  } else {
    return simd::chained<C>(y, dy - sum);
  }
}

template <class T>
void forward_rows(const Softmax<T>& p) {
  using C = Computed<T>;
  parallel_blocks(p.rows, kRows, Work::elements(p.rows * p.cols), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      const T* x = p.x + row * p.cols;
      T* y = p.y + row * p.cols;
      if (p.log) {
        const auto [top, sum] = row_exp(x, p.cols);
        simd::for_vectors<C>(0, p.cols, [=, top = top, log_sum = std::log(sum)](index at, auto lanes) {
          simd::store_as<C>(y + at, simd::load_as<C>(x + at, lanes) - top - log_sum, lanes);
        });
      } else if constexpr (std::is_same_v<T, C>) {
        const auto keep = [=](index at, Vec<C> e, auto lanes) { simd::store(y + at, e, lanes); };
        const C sum = row_exp(x, p.cols, keep).sum;
        simd::for_vectors<C>(0, p.cols, [=](index at, auto lanes) { simd::store(y + at, simd::load(y + at, lanes) / sum, lanes); });
      } else {  // y cannot hold the powers
        const auto [top, sum] = row_exp(x, p.cols);
        simd::for_vectors<C>(0, p.cols, [=, top = top, sum = sum](index at, auto lanes) {
          simd::store_as<C>(y + at, simd::exp(simd::load_as<C>(x + at, lanes) - top) / sum, lanes);
        });
      }
    }
  });
}

template <bool kLog, class T>
void backward_rows(const Softmax<T>& p) {
  using C = Computed<T>;
  parallel_blocks(p.rows, kRows, Work::elements(p.rows * p.cols), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      const T* y = p.y + row * p.cols;
      const T* dy = p.dy + row * p.cols;
      const GradOut<T> dx{p.dx.data + row * p.cols, p.dx.add};
      Vec<C> total{};
      simd::for_vectors<C>(0, p.cols, [&](index at, auto lanes) {
        total += term<kLog, C>(simd::load_as<C>(y + at, lanes), simd::load_as<C>(dy + at, lanes));
      });
      const Vec<C> sum = simd::broadcast(simd::sum<C>(total));
      simd::for_vectors<C>(0, p.cols, [&](index at, auto lanes) {
        put(dx, at, gradient<kLog, C>(simd::load_as<C>(y + at, lanes), simd::load_as<C>(dy + at, lanes), sum), lanes);
      });
    }
  });
}

/// Calls f(first element, columns) for tiles of columns, whose numbers are `inner` elements apart.
template <class T, class F>
void for_columns(const Softmax<T>& p, F&& f) {
  const index most = std::clamp(kTile / std::max<index>(p.cols, 1) / kFewColumns * kFewColumns, kFewColumns, kColumns);
  const index parts = ceil_div(p.inner, most);
  const index in_tile = std::max<index>(1, kTile / std::max<index>(p.cols * std::min(most, p.inner), 1));
  parallel_blocks(p.rows * parts, in_tile, Work::elements(p.rows * p.cols * p.inner), [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      const index first = i % parts * most;
      f(i / parts * p.cols * p.inner + first, std::min(most, p.inner - first));
    }
  });
}

template <class T>
void forward_columns(const Softmax<T>& p) {
  using C = Computed<T>;
  for_columns(p, [&](index place, index count) {
    std::array<C, kColumns> tops, sums;
    // Find each column's largest number.
    std::fill_n(tops.data(), count, -std::numeric_limits<C>::infinity());
    std::fill_n(sums.data(), count, C(0));
    for (index i = 0; i < p.cols; ++i) {
      simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
        const Vec<C> x = simd::load_as<C>(p.x + place + i * p.inner + at, lanes);
        simd::store(tops.data() + at, simd::max<C>(x, simd::load(tops.data() + at, lanes)), lanes);
      });
    }
    // Add the powers.
    for (index i = 0; i < p.cols; ++i) {
      simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
        const Vec<C> x = simd::load_as<C>(p.x + place + i * p.inner + at, lanes);
        const Vec<C> e = simd::exp(x - simd::load(tops.data() + at, lanes));
        simd::store(sums.data() + at, simd::load(sums.data() + at, lanes) + e, lanes);
      });
    }
    // Divide by the sums, or subtract their logarithms.
    if (p.log) {
      simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
        simd::store(sums.data() + at, log(simd::Number<C>(simd::load(sums.data() + at, lanes))).lanes, lanes);
      });
    }
    for (index i = 0; i < p.cols; ++i) {
      simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
        const index from = place + i * p.inner + at;
        const Vec<C> x = simd::load_as<C>(p.x + from, lanes) - simd::load(tops.data() + at, lanes);
        const Vec<C> sum = simd::load(sums.data() + at, lanes, C(1));
        simd::store_as<C>(p.y + from, p.log ? x - sum : simd::exp(x) / sum, lanes);
      });
    }
  });
}

template <bool kLog, class T>
void backward_columns(const Softmax<T>& p) {
  using C = Computed<T>;
  for_columns(p, [&](index place, index count) {
    std::array<C, kColumns> sums;
    std::fill_n(sums.data(), count, C(0));
    for (index i = 0; i < p.cols; ++i) {
      simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
        const index from = place + i * p.inner + at;
        const Vec<C> more = term<kLog, C>(simd::load_as<C>(p.y + from, lanes), simd::load_as<C>(p.dy + from, lanes));
        simd::store(sums.data() + at, simd::load(sums.data() + at, lanes) + more, lanes);
      });
    }
    for (index i = 0; i < p.cols; ++i) {
      simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
        const index from = place + i * p.inner + at;
        const Vec<C> y = simd::load_as<C>(p.y + from, lanes), dy = simd::load_as<C>(p.dy + from, lanes);
        put(p.dx, from, gradient<kLog, C>(y, dy, simd::load(sums.data() + at, lanes)), lanes);
      });
    }
  });
}

}  // namespace

template <class T>
void softmax_forward(const Softmax<T>& p) {
  p.inner == 1 ? forward_rows(p) : forward_columns(p);
}

template <class T>
void softmax_backward(const Softmax<T>& p) {
  if (!p.dx) {
    return;
  }
  if (p.log) {
    p.inner == 1 ? backward_rows<true>(p) : backward_columns<true>(p);
  } else {
    p.inner == 1 ? backward_rows<false>(p) : backward_columns<false>(p);
  }
}

#define DIKKAT_INSTANTIATE(T)                          \
  template void softmax_forward<T>(const Softmax<T>&); \
  template void softmax_backward<T>(const Softmax<T>&);
DIKKAT_INSTANTIATE(float)
DIKKAT_INSTANTIATE(double)
DIKKAT_INSTANTIATE(bf16)
#undef DIKKAT_INSTANTIATE

}  // namespace dikkat::kernels
