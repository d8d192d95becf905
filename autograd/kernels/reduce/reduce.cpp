#include "autograd/kernels/reduce/reduce.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/reduce/reduce_tiles.h"
#include "autograd/simd/number.h"

namespace dikkat::kernels {
namespace {

using simd::IntVec;
using simd::Vec;

template <class C>
constexpr C kInfinity = std::numeric_limits<C>::infinity();

/// Adds f(x) of each row to the sums of columns.
template <class C, class T, class F>
void add_columns(const ColumnRows<T>& rows, index count, C* sums, F&& f) {
  for_row_groups(rows, [&](index, const auto& x) {
    simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
      const Vec<C> some = sum_of(x, [&](const T* row) { return f(simd::load_as<C>(row + at, lanes), at, lanes); });
      simd::store(sums + at, simd::load(sums + at, lanes) + some, lanes);
    });
  });
}

/// Returns the sum of f(x) of a result's pieces. The lanes past the end are `rest`.
template <class C, class T, class F>
C add_pieces(const Pieces<T>& pieces, C rest, F&& f) {
  std::array<Vec<C>, 4> sums{};
  pieces.for_each([&](const T* x, index count) { for_four<C>(x, count, rest, sums, [&](Vec<C>& sum, Vec<C> v, index) { sum += f(v); }); });
  return simd::sum<C>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// A sum.
template <class T>
struct Sum {
  using C = Computed<T>;
  static constexpr bool kIsPair = false;
  const SumAlong<T>& p;

  void fold_row(const Pieces<T>& pieces, C& a, C&) const {
    a = add_pieces<C>(pieces, C(0), [](Vec<C> v) { return v; });
  }
  void fold_columns(const ColumnRows<T>& rows, index count, C* a, C*) const {
    std::fill_n(a, count, C(0));
    add_columns<C>(rows, count, a, [](Vec<C> v, index, auto) { return v; });
  }
  void join(PairOfAll& whole, const PairOfSome& part) const { whole.a += part.a; }
  template <class A>
  void finish(index first, index count, const A* a, const A*) const {
    for (index i = 0; i < count; ++i) {
      p.y[first + i] = to_stored<T>(static_cast<C>(static_cast<A>(p.factor) * a[i]));
    }
  }
};

/// The largest or smallest number, and the index of the first element that attains it. Indices are of type C: they are less than 2^24
/// within a tile.
template <class T, bool kMax, bool kPlaces>
struct Extreme {
  using C = Computed<T>;
  static constexpr bool kIsPair = kPlaces;
  const ExtremeAlong<T>& p;

  struct Best {
    Vec<C> value, place;

    /// Takes an element that comes after all others where it is better, or NaN.
    void take(Vec<C> x, Vec<C> its_place) {
      const IntVec<C> better = ~(kMax ? x <= value : x >= value) & (value == value);  // NOLINT(misc-redundant-expression): not NaN
      value = better ? x : value;
      if constexpr (kPlaces) {
        place = better ? its_place : place;
      }
    }
  };
  /// Returns whether one (value, place) comes before another.
  template <class A>
  static bool is_better(A value, A place, A than, A its_place) {
    if (std::isnan(value) || std::isnan(than)) {
      return std::isnan(value) && (!std::isnan(than) || place < its_place);
    }
    return value == than ? place < its_place : (value > than) == kMax;
  }

  void fold_row(const Pieces<T>& pieces, C& a, C& b) const {
    // Each lane begins with the first element, which is as good as any lane's place in it.
    Vec<C> lanes;
    for (index i = 0; i < simd::kLanes<C>; ++i) {
      lanes[i] = static_cast<C>(i);
    }
    std::array<Best, 4> best{};
    index before = 0;
    pieces.for_each([&](const T* x, index count) {
      if (before == 0) {
        best.fill({simd::broadcast<C>(to_computed(x[0])), Vec<C>{}});
      }
      for_four<C>(x, count, kMax ? -kInfinity<C> : kInfinity<C>, best,
                  [&](Best& own, Vec<C> v, index at) { own.take(v, lanes + static_cast<C>(before + at)); });
      before += count;
    });
    // Find the best of all lanes.
    a = best[0].value[0];
    b = best[0].place[0];
    for (const Best& own : best) {
      C values[simd::kLanes<C>], places[simd::kLanes<C>];
      simd::store(values, own.value);
      simd::store(places, own.place);
      for (index i = 0; i < simd::kLanes<C>; ++i) {
        if (is_better(values[i], places[i], a, b)) {
          a = values[i];
          b = places[i];
        }
      }
      if (before < 4 * simd::kLanes<C>) {
        break;  // only the first state has seen elements
      }
    }
  }
  void fold_columns(const ColumnRows<T>& rows, index count, C* a, C* b) const {
    simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
      simd::store(a + at, simd::load_as<C>(rows[0] + at, lanes), lanes);
      if constexpr (kPlaces) {
        simd::store(b + at, Vec<C>{}, lanes);
      }
    });
    for_row_groups(rows, [&](index row, const auto& x) {
      simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
        Best best{simd::load(a + at, lanes), {}};
        if constexpr (kPlaces) {
          best.place = simd::load(b + at, lanes);
        }
        for (std::size_t i = 0; i < x.size(); ++i) {
          best.take(simd::load_as<C>(x[i] + at, lanes), simd::broadcast(static_cast<C>(row + static_cast<index>(i))));
        }
        simd::store(a + at, best.value, lanes);
        if constexpr (kPlaces) {
          simd::store(b + at, best.place, lanes);
        }
      });
    });
  }
  void join(PairOfAll& whole, const PairOfSome& part) const {
    const double place = static_cast<double>(part.first) + part.b * static_cast<double>(part.step);
    if (whole.count == 0 || is_better(part.a, place, whole.a, whole.b)) {
      whole.a = part.a;
      whole.b = place;
    }
  }
  template <class A>
  void finish(index first, index count, const A* a, const A* b) const {
    for (index i = 0; p.y != nullptr && i < count; ++i) {
      p.y[first + i] = to_stored<T>(static_cast<C>(a[i]));
    }
    for (index i = 0; kPlaces && i < count; ++i) {
      p.places[first + i] = static_cast<std::int32_t>(b[i]);
    }
  }
};

/// log sum e^x = a + log b, where a is the largest x, or 0 if that is infinite, and b the sum of e^(x - a).
template <class T>
struct LogSumExp {
  using C = Computed<T>;
  static constexpr bool kIsPair = true;
  const LogSumExpAlong<T>& p;

  /// Returns x, or 0 where it is infinite: the difference of two infinities would be NaN.
  static Vec<C> finite(Vec<C> x) { return x - x == C(0) ? x : Vec<C>{}; }

  void fold_row(const Pieces<T>& pieces, C& a, C& b) const {
    std::array<Vec<C>, 4> tops;
    tops.fill(simd::broadcast(-kInfinity<C>));
    pieces.for_each([&](const T* x, index count) {
      for_four<C>(x, count, -kInfinity<C>, tops, [](Vec<C>& top, Vec<C> v, index) { top = simd::max<C>(v, top); });
    });
    a = simd::max<C>(simd::max<C>(simd::max<C>(tops[0], tops[1]), simd::max<C>(tops[2], tops[3])));
    a = std::isinf(a) ? C(0) : a;
    b = add_pieces<C>(pieces, -kInfinity<C>, [top = a](Vec<C> v) { return simd::exp(v - top); });
  }
  void fold_columns(const ColumnRows<T>& rows, index count, C* a, C* b) const {
    std::fill_n(a, count, -kInfinity<C>);
    for_row_groups(rows, [&](index, const auto& x) {
      simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
        Vec<C> top = simd::load(a + at, lanes);
        for (const T* row : x) {
          top = simd::max<C>(simd::load_as<C>(row + at, lanes), top);
        }
        simd::store(a + at, top, lanes);
      });
    });
    simd::for_vectors<C>(0, count, [&](index at, auto lanes) { simd::store(a + at, finite(simd::load(a + at, lanes)), lanes); });
    std::fill_n(b, count, C(0));
    add_columns<C>(rows, count, b, [&](Vec<C> v, index at, auto lanes) { return simd::exp(v - simd::load(a + at, lanes)); });
  }
  void join(PairOfAll& whole, const PairOfSome& part) const {
    if (part.b == 0) {
      return;
    }
    if (!std::isfinite(whole.b) || !std::isfinite(part.b)) {
      whole.b += part.b;
    } else if (whole.b == 0 || part.a > whole.a) {
      whole.b = part.b + (whole.b == 0 ? 0 : whole.b * std::exp(whole.a - part.a));
      whole.a = part.a;
    } else {
      whole.b += part.b * std::exp(part.a - whole.a);
    }
  }
  template <class A>
  void finish(index first, index count, const A* a, const A* b) const {
    const auto put = [&](index at, Vec<C> value, auto lanes) {
      simd::store_as<C>(p.y + first + at, value, lanes);
      simd::store(p.logs + first + at, value, lanes);
    };
    if constexpr (std::is_same_v<A, C>) {
      simd::for_vectors<C>(0, count, [&](index at, auto lanes) {
        put(at, simd::load(a + at, lanes) + log(simd::Number<C>(simd::load(b + at, lanes))).lanes, lanes);
      });
    } else {
      for (index i = 0; i < count; ++i) {
        put(i, simd::broadcast(static_cast<C>(a[i] + std::log(b[i]))), simd::Part{1});
      }
    }
  }
};

/// The mean, and the sum of squared differences from it.
template <class T>
struct Moments {
  using C = Computed<T>;
  static constexpr bool kIsPair = true;
  const VarianceAlong<T>& p;

  void fold_row(const Pieces<T>& pieces, C& a, C& b) const {
    index count = 0;
    pieces.for_each([&](const T*, index more) { count += more; });
    a = add_pieces<C>(pieces, C(0), [](Vec<C> v) { return v; }) / static_cast<C>(count);
    b = add_pieces<C>(pieces, a, [mean = a](Vec<C> v) { return (v - mean) * (v - mean); });
  }
  void fold_columns(const ColumnRows<T>& rows, index count, C* a, C* b) const {
    std::fill_n(a, count, C(0));
    add_columns<C>(rows, count, a, [](Vec<C> v, index, auto) { return v; });
    simd::for_vectors<C>(0, count,
                         [&](index at, auto lanes) { simd::store(a + at, simd::load(a + at, lanes) / static_cast<C>(rows.count), lanes); });
    std::fill_n(b, count, C(0));
    add_columns<C>(rows, count, b, [&](Vec<C> v, index at, auto lanes) {
      const Vec<C> difference = v - simd::load(a + at, lanes);
      return difference * difference;
    });
  }
  /// Computes the mean and the sum of the whole from those of two parts (Chan, Golub and LeVeque, "Updating formulae", 1979).
  void join(PairOfAll& whole, const PairOfSome& part) const {
    const double n = static_cast<double>(whole.count), m = static_cast<double>(part.count);
    const double difference = part.a - whole.a;
    whole.a += difference * (m / (n + m));
    whole.b += part.b + difference * difference * (n * (m / (n + m)));
  }
  template <class A>
  void finish(index first, index count, const A* a, const A* b) const {
    for (index i = 0; i < count; ++i) {
      p.means[first + i] = static_cast<C>(a[i]);
      p.y[first + i] = to_stored<T>(static_cast<C>(b[i] / static_cast<A>(p.divisor)));
    }
  }
};

}  // namespace

template <class T>
void sum_along_forward(const SumAlong<T>& p) {
  reduce<Computed<T>>(p.array, p.x, Sum<T>{p});
}

template <class T>
void sum_along_backward(const SumAlong<T>& p) {
  if (p.dx) {
    const auto factor = static_cast<Computed<T>>(p.factor);
    spread(p.array, p.dx, [factor](index, auto, Vec<Computed<T>> dy) { return factor * dy; }, p.dy);
  }
}

template <class T>
void extreme_along_forward(const ExtremeAlong<T>& p) {
  using C = Computed<T>;
  const auto with = [&]<bool kMax>() {
    if (p.places == nullptr) {
      reduce<C>(p.array, p.x, Extreme<T, kMax, false>{p});
    } else {
      reduce<C>(p.array, p.x, Extreme<T, kMax, true>{p});
    }
  };
  p.is_max ? with.template operator()<true>() : with.template operator()<false>();
}

template <class T>
void extreme_along_backward(const ExtremeAlong<T>& p) {
  if (!p.dx) {
    return;
  }
  if (!p.dx.add) {
    fill<T>(p.array.size(), Computed<T>(0), p.dx);
  }
  const ReducedArray& a = p.array;
  parallel_blocks(a.results(), kReduceTile, [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      const index place = p.places[i];
      const index row = a.rows_are_reduced ? place / a.width : place, k = a.rows_are_reduced ? i : i / a.width;
      const index column = a.rows_are_reduced ? place % a.width : i % a.width;
      const GradOut<T> sum{p.dx.data, true};
      sum.put(a.kept.at(k) + a.reduced.at(row) + column, to_computed(p.dy[i]));
    }
  });
}

template <class T>
void log_sum_exp_along_forward(const LogSumExpAlong<T>& p) {
  reduce<Computed<T>>(p.array, p.x, LogSumExp<T>{p});
}

template <class T>
void log_sum_exp_along_backward(const LogSumExpAlong<T>& p) {
  if (p.dx) {
    const auto gradient = [x = p.x](index at, auto lanes, Vec<Computed<T>> dy, Vec<Computed<T>> log) {
      return simd::chained<Computed<T>>(dy, simd::exp(simd::load_as<Computed<T>>(x + at, lanes) - log));
    };
    spread(p.array, p.dx, gradient, p.dy, p.logs);
  }
}

template <class T>
void variance_along_forward(const VarianceAlong<T>& p) {
  reduce<Computed<T>>(p.array, p.x, Moments<T>{p});
}

template <class T>
void variance_along_backward(const VarianceAlong<T>& p) {
  if (p.dx) {
    const auto factor = static_cast<Computed<T>>(2 / p.divisor);
    const auto gradient = [x = p.x, factor](index at, auto lanes, Vec<Computed<T>> dy, Vec<Computed<T>> mean) {
      return simd::chained<Computed<T>>(factor * dy, simd::load_as<Computed<T>>(x + at, lanes) - mean);
    };
    spread(p.array, p.dx, gradient, p.dy, p.means);
  }
}

#define DIKKAT_INSTANTIATE(T)                                         \
  template void sum_along_forward(const SumAlong<T>&);                \
  template void sum_along_backward(const SumAlong<T>&);               \
  template void extreme_along_forward(const ExtremeAlong<T>&);        \
  template void extreme_along_backward(const ExtremeAlong<T>&);       \
  template void log_sum_exp_along_forward(const LogSumExpAlong<T>&);  \
  template void log_sum_exp_along_backward(const LogSumExpAlong<T>&); \
  template void variance_along_forward(const VarianceAlong<T>&);      \
  template void variance_along_backward(const VarianceAlong<T>&);
DIKKAT_INSTANTIATE(float)
DIKKAT_INSTANTIATE(double)
DIKKAT_INSTANTIATE(bf16)
#undef DIKKAT_INSTANTIATE
template void extreme_along_forward(const ExtremeAlong<std::int32_t>&);

}  // namespace dikkat::kernels
