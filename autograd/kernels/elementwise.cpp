#include "autograd/kernels/elementwise.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/activations.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {
namespace {

constexpr index kBlock = 1 << 14;  // elements of a tile: enough to be worth a task

/// Calls f(at, lanes) for all vectors of n elements, in parallel.
template <class T, class F>
void for_all(index n, F&& f) {
  parallel_blocks(n, kBlock, [&](index begin, index end) { simd::for_vectors<T>(begin, end, f); });
}

template <class T, class Lanes>
void put(GradOut<T> out, index at, Vec<Computed<T>> value, Lanes lanes) {
  using C = Computed<T>;
  simd::store_as<C>(out.data + at, out.add ? simd::load_as<C>(out.data + at, lanes) + value : value, lanes);
}

template <class T, class F>
void with_activation(GateActivation activation, F&& f) {
  switch (activation) {
    case GateActivation::gelu: return f(GeluOf<T>{});
    case GateActivation::relu: return f(ReluOf<T>{});
    case GateActivation::relu2: return f(Relu2Of<T>{});
    case GateActivation::silu: return f(SiluOf<T>{});
  }
}

/// out (cols) = sum over rows of g(row, at, lanes). Each block of rows has its own sums, which are then added in order. Rows are read along
/// memory, four at a time: going down the columns, each vector would be on another page.
template <class T, class G>
void reduce_rows(index rows, index cols, GradOut<T> out, G&& g) {
  constexpr index kRows = 64, kColumns = 64;
  const index blocks = ceil_div(rows, kRows);
  const Scratch<T> partial(blocks * cols);
  parallel_for(blocks, Work::elements(rows * cols), [&](index block) {
    T* own = partial + block * cols;
    const index end = std::min(rows, (block + 1) * kRows);
    std::fill(own, own + cols, T(0));
    index row = block * kRows;
    for (; row + 4 <= end; row += 4) {
      simd::for_vectors<T>(0, cols, [&](index at, auto lanes) {
        const Vec<T> four = (g(row, at, lanes) + g(row + 1, at, lanes)) + (g(row + 2, at, lanes) + g(row + 3, at, lanes));
        simd::store(own + at, simd::load(own + at, lanes) + four, lanes);
      });
    }
    for (; row < end; ++row) {
      simd::for_vectors<T>(0, cols,
                           [&](index at, auto lanes) { simd::store(own + at, simd::load(own + at, lanes) + g(row, at, lanes), lanes); });
    }
  });
  parallel_blocks(cols, kColumns, Work::elements(blocks * cols), [&](index begin, index end) {
    simd::for_vectors<T>(begin, end, [&](index at, auto lanes) {
      Vec<T> total{};
      for (index block = 0; block < blocks; ++block) {
        total += simd::load(partial + block * cols + at, lanes);
      }
      put(out, at, total, lanes);
    });
  });
}

}  // namespace

namespace {

/// Calls f(index of a gate in x, index of its result, lanes) for all vectors. The gate's partner is p.cols further.
template <class C, class T, class F>
void for_gates(const Gated<T>& p, F&& f) {
  const index rows_in_block = std::max<index>(1, kBlock / std::max<index>(p.cols, 1));
  parallel_blocks(p.rows, rows_in_block, Work::elements(p.rows * p.cols), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      simd::for_vectors<C>(0, p.cols, [&](index at, auto lanes) { f(2 * row * p.cols + at, row * p.cols + at, lanes); });
    }
  });
}

}  // namespace

template <class T>
void gated_forward(const Gated<T>& p) {
  using C = Computed<T>;
  with_activation<C>(p.activation, [&](auto f) {
    for_gates<C>(p, [&](index gate, index at, auto lanes) {
      const Vec<C> open = f.value(simd::load_as<C>(p.x + gate, lanes));
      simd::store_as<C>(p.y + at, open * simd::load_as<C>(p.x + gate + p.cols, lanes), lanes);
    });
  });
}

template <class T>
void gated_backward(const Gated<T>& p) {
  if (!p.dx) {
    return;
  }
  using C = Computed<T>;
  with_activation<C>(p.activation, [&](auto f) {
    for_gates<C>(p, [&](index gate, index at, auto lanes) {
      const Vec<C> x = simd::load_as<C>(p.x + gate, lanes);
      const Vec<C> dy = simd::load_as<C>(p.dy + at, lanes);
      const Vec<C> open = simd::chained<C>(dy, simd::load_as<C>(p.x + gate + p.cols, lanes));
      put(p.dx, gate + p.cols, simd::chained<C>(dy, f.value(x)), lanes);
      put(p.dx, gate, simd::chained<C>(open, f.slope(x)), lanes);
    });
  });
}

template <class T>
void scaled_copy(index n, Computed<T> factor, const T* x, GradOut<T> out) {
  using C = Computed<T>;
  for_all<C>(n, [&](index at, auto lanes) { put(out, at, factor * simd::load_as<C>(x + at, lanes), lanes); });
}

template <class T>
void fill(index n, Computed<T> value, GradOut<T> out) {
  for_all<Computed<T>>(n, [&](index at, auto lanes) { put(out, at, simd::broadcast(value), lanes); });
}

template <class T>
T sum(index n, const T* x) {
  const index blocks = ceil_div(n, kBlock);
  const Scratch<double> partial(blocks);
  parallel_for(blocks, Work::elements(n), [&](index block) {
    Vec<double> total{};
    simd::for_vectors<double>(block * kBlock, std::min(n, (block + 1) * kBlock),
                              [&](index at, auto lanes) { total += simd::load_as<double>(x + at, lanes); });
    partial[block] = simd::sum<double>(total);
  });
  double total = 0;
  for (index block = 0; block < blocks; ++block) {
    total += partial[block];
  }
  return static_cast<T>(total);
}

template <class T>
void sum_rows(index rows, index cols, const T* x, GradOut<Computed<T>> out) {
  using C = Computed<T>;
  reduce_rows<C>(rows, cols, out, [&](index row, index at, auto lanes) { return simd::load_as<C>(x + row * cols + at, lanes); });
}

template <class X, class Y>
void convert(index n, const X* x, GradOut<Y> out) {
  parallel_blocks(n, kBlock, [&](index begin, index end) {
    if constexpr (!std::is_same_v<Computed<X>, Computed<Y>>) {  // vectors of both have different lengths
      for (index at = begin; at < end; ++at) {
        out.put(at, static_cast<Computed<Y>>(to_computed(x[at])));
      }
    } else {
      using C = Computed<Y>;
      simd::for_vectors<C>(begin, end, [&](index at, auto lanes) { put(out, at, simd::load_as<C>(x + at, lanes), lanes); });
    }
  });
}

template <class T>
index first_not_i32(index n, const T* x) {
  const auto fits = [](T value) {
    const auto number = static_cast<double>(to_computed(value));
    return -0x1p31 - 1 < number && number < 0x1p31;  // both bounds are exact; false for NaN
  };
  std::atomic<bool> all = true;
  parallel_blocks(n, kBlock, [&](index begin, index end) {
    index outside = 0;
    for (index at = begin; at < end; ++at) {
      outside += fits(x[at]) ? 0 : 1;
    }
    if (outside > 0) {
      all.store(false, std::memory_order_relaxed);
    }
  });
  return all.load(std::memory_order_relaxed) ? n : std::find_if_not(x, x + n, fits) - x;
}

template <class X, class Y>
void dropout(const Dropout<X, Y>& p) {
  parallel_blocks(p.n, kBlock, [&](index begin, index end) { drop(p.dropping, begin, end, p.x, p.y); });
}

#define DIKKAT_INSTANTIATE(T)                                    \
  template void gated_forward<T>(const Gated<T>&);               \
  template void gated_backward<T>(const Gated<T>&);              \
  template void scaled_copy<T>(index, T, const T*, GradOut<T>);  \
  template void fill<T>(index, T, GradOut<T>);                   \
  template T sum<T>(index, const T*);                            \
  template void sum_rows<T>(index, index, const T*, GradOut<T>); \
  template void dropout<T>(const Dropout<T>&);
DIKKAT_INSTANTIATE(float)
DIKKAT_INSTANTIATE(double)
#undef DIKKAT_INSTANTIATE
template void gated_forward<bf16>(const Gated<bf16>&);
template void gated_backward<bf16>(const Gated<bf16>&);
template void sum_rows<bf16>(index, index, const bf16*, GradOut<float>);
template void dropout(const Dropout<bf16>&);
template void dropout(const Dropout<float, bf16>&);
template void fill<bf16>(index, float, GradOut<bf16>);
template void fill<std::int32_t>(index, double, GradOut<std::int32_t>);
template void scaled_copy<bf16>(index, float, const bf16*, GradOut<bf16>);
#define DIKKAT_INSTANTIATE(X)                                    \
  template void convert(index, const X*, GradOut<float>);        \
  template void convert(index, const X*, GradOut<double>);       \
  template void convert(index, const X*, GradOut<bf16>);         \
  template void convert(index, const X*, GradOut<std::int32_t>); \
  template index first_not_i32(index, const X*);
DIKKAT_INSTANTIATE(float)
DIKKAT_INSTANTIATE(double)
DIKKAT_INSTANTIATE(bf16)
DIKKAT_INSTANTIATE(std::int32_t)
#undef DIKKAT_INSTANTIATE

}  // namespace dikkat::kernels
