#include "autograd/kernels/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "autograd/base/exp.h"
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/base/simd.h"

namespace dikkat::kernels {
namespace {

using simd::Vec;

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

// GELU by the logistic function: 0.5 (1 + tanh u) = 1 / (1 + e^-2u), which loses no digits for very negative x. e^-2u is 2^(x (a + b x^2)).
template <class T>
struct Gelu {
  static constexpr T kA = T(2 * 0.7978845608028653558798921);  // 2 sqrt(2 / pi)
  static constexpr T kB = T(2 * 0.7978845608028653558798921 * 0.044715);
  static constexpr T kLog2E = T(1.4426950408889634073599247);
  // x is clamped to these bounds, so that an infinite x does not give 0 times infinity. Below kLowest, e^-2u is infinite; above kHighest,
  // it vanishes beside 1. In f32 they also keep the argument of exp2_within() in its range: 2^128.3 and 2^-119.4.
  static constexpr T kLowest = T(sizeof(T) == sizeof(float) ? -10.07 : -22);
  static constexpr T kHighest = T(sizeof(T) == sizeof(float) ? 9.8 : 22);

  static Vec<T> not_below(Vec<T> x) { return simd::max<T>(simd::broadcast(kLowest), x); }  // NaN stays NaN
  static Vec<T> not_above(Vec<T> x) { return simd::min<T>(simd::broadcast(kHighest), x); }
  static Vec<T> falling(Vec<T> x) { return simd::exp2_within(x * (-kA * kLog2E - kB * kLog2E * (x * x))); }  // e^-2u
  static Vec<T> value(Vec<T> x, T) {
    const Vec<T> above = not_below(x);
    return above / (T(1) + falling(not_above(above)));
  }
  static Vec<T> slope(Vec<T> x, T) {
    const Vec<T> near = not_above(not_below(x));
    const Vec<T> s = T(1) / (T(1) + falling(near));
    return s + s * ((T(1) - s) * (near * (kA + 3 * kB * (near * near))));
  }
};

template <class T>
struct Relu {
  static Vec<T> value(Vec<T> x, T) { return x < T(0) ? simd::broadcast(T(0)) : x; }  // NaN stays NaN
  static Vec<T> slope(Vec<T> x, T) { return x > T(0) ? simd::broadcast(T(1)) : simd::broadcast(T(0)); }
};

/// max(x, 0)^2 (So et al., arXiv 2109.08668).
template <class T>
struct Relu2 {
  static Vec<T> value(Vec<T> x, T) {
    const Vec<T> r = Relu<T>::value(x, T(0));
    return r * r;  // r * x would be NaN for -infinity
  }
  static Vec<T> slope(Vec<T> x, T) { return T(2) * Relu<T>::value(x, T(0)); }
};

/// x / (1 + e^-x).
template <class T>
struct Silu {
  // x is clamped, so that infinities do not meet: for the value at the lowest finite number, for the slope where e^-x is still finite.
  static Vec<T> not_below(Vec<T> x, T low) { return simd::max<T>(simd::broadcast(low), x); }  // NaN stays NaN
  static Vec<T> value(Vec<T> x, T) {
    const Vec<T> above = not_below(x, std::numeric_limits<T>::lowest());
    return above / (T(1) + simd::exp(-above));
  }
  /// With e = e^-x and s = 1 / (1 + e), it is s (1 + x (1 - s)), and 1 - s = e s keeps its digits.
  static Vec<T> slope(Vec<T> x, T) {
    constexpr T kHigh = std::numeric_limits<T>::max();
    const Vec<T> near = simd::min<T>(simd::broadcast(kHigh), not_below(x, sizeof(T) == sizeof(float) ? T(-87) : T(-700)));
    const Vec<T> e = simd::exp(-near);
    const Vec<T> s = T(1) / (T(1) + e);
    return s * (T(1) + near * (e * s));
  }
};

template <class T>
struct Sigmoid {
  static Vec<T> value(Vec<T> x, T) { return T(1) / (T(1) + simd::exp(-x)); }  // e^-x may be infinite: 0
  /// s (1 - s), even in x: with e = e^-|x| it is e / (1 + e)^2, where 1 - s would lose its digits for large x.
  static Vec<T> slope(Vec<T> x, T) {
    const Vec<T> e = simd::exp(x > T(0) ? -x : x);
    return e / ((T(1) + e) * (T(1) + e));
  }
};

template <class T>
struct Tanh {
  static Vec<T> value(Vec<T> x, T) { return simd::tanh(x); }
  static Vec<T> slope(Vec<T> x, T) { return T(4) * Sigmoid<T>::slope(x + x, T(0)); }  // where 1 - tanh^2 would lose its digits
};

/// Functions of the C library, lane by lane: for small tensors, where speed does not matter.
template <class T, class F>
Vec<T> lane_by_lane(Vec<T> x, F&& f) {
  for (int i = 0; i < simd::kLanes<T>; ++i) {
    x[i] = f(x[i]);
  }
  return x;
}
template <class T>
struct Exp {
  static Vec<T> value(Vec<T> x, T) { return simd::exp(x); }
  static Vec<T> slope(Vec<T> x, T) { return simd::exp(x); }
};
template <class T>
struct Log {
  static Vec<T> value(Vec<T> x, T) {
    return lane_by_lane<T>(x, [](T v) { return std::log(v); });
  }
  static Vec<T> slope(Vec<T> x, T) { return T(1) / x; }
};
template <class T>
struct Power {
  static Vec<T> value(Vec<T> x, T e) {
    return lane_by_lane<T>(x, [e](T v) { return std::pow(v, e); });
  }
  static Vec<T> slope(Vec<T> x, T e) {
    return lane_by_lane<T>(x, [e](T v) { return e * std::pow(v, e - 1); });
  }
};

template <class T, class F>
void with_function(Function function, F&& f) {
  switch (function) {
    case Function::gelu: return f(Gelu<T>{});
    case Function::relu: return f(Relu<T>{});
    case Function::relu2: return f(Relu2<T>{});
    case Function::silu: return f(Silu<T>{});
    case Function::sigmoid: return f(Sigmoid<T>{});
    case Function::tanh: return f(Tanh<T>{});
    case Function::exp: return f(Exp<T>{});
    case Function::log: return f(Log<T>{});
    case Function::power: return f(Power<T>{});
  }
}

/// Calls f(index in a, index in b, lanes) for all vectors. With repeat_b, b starts again in each row.
template <class T, class F>
void for_pairs(const Binary<T>& p, F&& f) {
  if (!p.repeat_b) {
    for_all<T>(p.rows * p.cols, [&](index at, auto lanes) { f(at, at, lanes); });
    return;
  }
  const index rows_in_block = std::max<index>(1, kBlock / std::max<index>(p.cols, 1));
  parallel_blocks(p.rows, rows_in_block, Work::elements(p.rows * p.cols), [&](index begin, index end) {
    for (index row = begin; row < end; ++row) {
      simd::for_vectors<T>(0, p.cols, [&](index at, auto lanes) { f(row * p.cols + at, at, lanes); });
    }
  });
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

template <class T>
void map_forward(const Map<T>& p) {
  using C = Computed<T>;
  with_function<C>(p.function, [&](auto f) {
    for_all<C>(p.n, [&](index at, auto lanes) {
      simd::store_as<C>(p.y + at, f.value(simd::load_as<C>(p.x + at, lanes, C(1)), p.exponent), lanes);
    });
  });
}

template <class T>
void map_backward(const Map<T>& p) {
  if (!p.dx) {
    return;
  }
  using C = Computed<T>;
  with_function<C>(p.function, [&](auto f) {
    for_all<C>(p.n, [&](index at, auto lanes) {
      put(p.dx, at, simd::load_as<C>(p.dy + at, lanes) * f.slope(simd::load_as<C>(p.x + at, lanes, C(1)), p.exponent), lanes);
    });
  });
}

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
  with_function<C>(p.function, [&](auto f) {
    for_gates<C>(p, [&](index gate, index at, auto lanes) {
      const Vec<C> open = f.value(simd::load_as<C>(p.x + gate, lanes), C(0));
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
  with_function<C>(p.function, [&](auto f) {
    for_gates<C>(p, [&](index gate, index at, auto lanes) {
      const Vec<C> x = simd::load_as<C>(p.x + gate, lanes);
      const Vec<C> dy = simd::load_as<C>(p.dy + at, lanes);
      const Vec<C> dgate = dy * simd::load_as<C>(p.x + gate + p.cols, lanes) * f.slope(x, C(0));
      put(p.dx, gate + p.cols, dy * f.value(x, C(0)), lanes);
      put(p.dx, gate, dgate, lanes);
    });
  });
}

template <class T>
void add_forward(const Binary<T>& p) {
  for_pairs(p, [&](index at, index b_at, auto lanes) {
    simd::store(p.y + at, simd::load(p.a + at, lanes) + simd::load(p.b + b_at, lanes), lanes);
  });
}

template <class T>
void multiply_forward(const Binary<T>& p) {
  for_pairs(p, [&](index at, index b_at, auto lanes) {
    simd::store(p.y + at, simd::load(p.a + at, lanes) * simd::load(p.b + b_at, lanes), lanes);
  });
}

template <class T>
void multiply_backward(const Binary<T>& p) {
  if (p.da) {
    for_pairs(
        p, [&](index at, index b_at, auto lanes) { put(p.da, at, simd::load(p.dy + at, lanes) * simd::load(p.b + b_at, lanes), lanes); });
  }
  if (p.db && p.repeat_b) {
    reduce_rows<T>(p.rows, p.cols, p.db, [&](index row, index at, auto lanes) {
      return simd::load(p.dy + row * p.cols + at, lanes) * simd::load(p.a + row * p.cols + at, lanes);
    });
  } else if (p.db) {
    for_pairs(p, [&](index at, index, auto lanes) { put(p.db, at, simd::load(p.dy + at, lanes) * simd::load(p.a + at, lanes), lanes); });
  }
}

template <class T>
void weighted_sum_forward(const WeightedSum<T>& p) {
  for_all<T>(p.n, [&](index at, auto lanes) {
    simd::store(p.y + at, *p.a * simd::load(p.x + at, lanes) + *p.b * simd::load(p.z + at, lanes), lanes);
  });
}

template <class T>
void weighted_sum_backward(const WeightedSum<T>& p) {
  const index blocks = ceil_div(p.n, kBlock);
  const Scratch<T> partial(2 * blocks);  // per block: its <dy, x> and <dy, z>
  // Write dx and dz, and sum each block's part of da and db.
  parallel_blocks(p.n, kBlock, [&](index begin, index end) {
    Vec<T> of_x{}, of_z{};
    simd::for_vectors<T>(begin, end, [&](index at, auto lanes) {
      const Vec<T> dy = simd::load(p.dy + at, lanes);
      of_x += dy * simd::load(p.x + at, lanes);
      of_z += dy * simd::load(p.z + at, lanes);
      if (p.dx) {
        put(p.dx, at, *p.a * dy, lanes);
      }
      if (p.dz) {
        put(p.dz, at, *p.b * dy, lanes);
      }
    });
    partial[2 * (begin / kBlock)] = simd::sum<T>(of_x);
    partial[2 * (begin / kBlock) + 1] = simd::sum<T>(of_z);
  });
  // The blocks' parts are added in the order of the blocks.
  const auto gather = [&](GradOut<T> out, index offset) {
    T total = 0;
    for (index block = 0; block < blocks; ++block) {
      total += partial[2 * block + offset];
    }
    if (out) {
      out.put(0, total);
    }
  };
  parallel_for(1, Work::elements(2 * blocks), [&](index) {  // a loop, so that a dry run leaves it out
    gather(p.da, 0);
    gather(p.db, 1);
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

/// Some numbers in f64, as many as a vector has.
template <class T, class Lanes>
Vec<double> load_wide(const T* x, Lanes lanes) {
  if constexpr (std::is_same_v<T, double>) {
    return simd::load(x, lanes);
  } else {
    typedef float Half __attribute__((vector_size(simd::kBytes / 2)));
    Half half{};
    index count = simd::kLanes<double>;
    if constexpr (std::is_same_v<Lanes, simd::Part>) {
      count = lanes.count;
    }
    std::memcpy(&half, x, static_cast<std::size_t>(count) * sizeof(float));
    return __builtin_convertvector(half, Vec<double>);
  }
}

template <class T>
T sum(index n, const T* x) {
  const index blocks = ceil_div(n, kBlock);
  const Scratch<double> partial(blocks);
  parallel_for(blocks, Work::elements(n), [&](index block) {
    Vec<double> total{};
    simd::for_vectors<double>(block * kBlock, std::min(n, (block + 1) * kBlock),
                              [&](index at, auto lanes) { total += load_wide(x + at, lanes); });
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
    if constexpr (std::is_same_v<X, double> != std::is_same_v<Y, double>) {  // vectors of both have different lengths
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
void copy_blocks(const CopyBlocks<T>& p) {
  using C = Computed<T>;
  const index in_tile = std::max<index>(1, kBlock / std::max<index>(p.width, 1));
  parallel_blocks(p.count, in_tile, Work::elements(p.count * p.width), [&](index begin, index end) {
    for (index block = begin; block < end; ++block) {
      const GradOut<T> to{p.to.data + block * p.to_stride, p.to.add};
      simd::for_vectors<C>(0, p.width,
                           [&](index at, auto lanes) { put(to, at, simd::load_as<C>(p.from + block * p.from_stride + at, lanes), lanes); });
    }
  });
}

template <class X, class Y>
void dropout(const Dropout<X, Y>& p) {
  parallel_blocks(p.n, kBlock, [&](index begin, index end) { drop(p.dropping, begin, end, p.x, p.y); });
}

#define DIKKAT_INSTANTIATE(T)                                    \
  template void map_forward<T>(const Map<T>&);                   \
  template void map_backward<T>(const Map<T>&);                  \
  template void gated_forward<T>(const Gated<T>&);               \
  template void gated_backward<T>(const Gated<T>&);              \
  template void add_forward<T>(const Binary<T>&);                \
  template void multiply_forward<T>(const Binary<T>&);           \
  template void multiply_backward<T>(const Binary<T>&);          \
  template void weighted_sum_forward<T>(const WeightedSum<T>&);  \
  template void weighted_sum_backward<T>(const WeightedSum<T>&); \
  template void scaled_copy<T>(index, T, const T*, GradOut<T>);  \
  template void fill<T>(index, T, GradOut<T>);                   \
  template T sum<T>(index, const T*);                            \
  template void sum_rows<T>(index, index, const T*, GradOut<T>); \
  template void copy_blocks<T>(const CopyBlocks<T>&);            \
  template void dropout<T>(const Dropout<T>&);
DIKKAT_INSTANTIATE(float)
DIKKAT_INSTANTIATE(double)
#undef DIKKAT_INSTANTIATE
template void map_forward<bf16>(const Map<bf16>&);
template void map_backward<bf16>(const Map<bf16>&);
template void gated_forward<bf16>(const Gated<bf16>&);
template void gated_backward<bf16>(const Gated<bf16>&);
template void sum_rows<bf16>(index, index, const bf16*, GradOut<float>);
template void dropout(const Dropout<bf16>&);
template void dropout(const Dropout<float, bf16>&);
template void copy_blocks(const CopyBlocks<bf16>&);
template void fill<bf16>(index, float, GradOut<bf16>);
template void scaled_copy<bf16>(index, float, const bf16*, GradOut<bf16>);
#define DIKKAT_INSTANTIATE(X)                              \
  template void convert(index, const X*, GradOut<float>);  \
  template void convert(index, const X*, GradOut<double>); \
  template void convert(index, const X*, GradOut<bf16>);
DIKKAT_INSTANTIATE(float)
DIKKAT_INSTANTIATE(double)
DIKKAT_INSTANTIATE(bf16)
#undef DIKKAT_INSTANTIATE

}  // namespace dikkat::kernels
