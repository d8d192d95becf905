#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "autograd/base/dtype.h"
#include "autograd/simd/number.h"

// Formulas: functions of numbers, as loops over rows of elements. elementwise() (autograd/ops/elementwise.h) makes ops of them.
namespace dikkat::detail {

/// A row of elements for a formula to compute. A step is 1, or 0 for an operand that repeats one element.
struct ForwardRow {
  const void* const* x;
  const index* steps;
  void* y;
  index count;
  bool add;  // whether to add to y
};

/// The place of a row's part of an operand's gradient.
enum class RowGradient : std::uint8_t {
  none,
  overwrite,       // one element each, of the operand's type
  add,             // one element each, added
  sum_in_columns,  // added to one number for each element of the row, of the type of computing
  sum_in_lanes     // added to the lanes of one vector, of the type of computing
};

struct BackwardRow {
  const void* const* x;
  const index* steps;
  const void* dy;
  void* const* dx;
  const RowGradient* kinds;
  index count;
};

/// A formula's loops over rows, for one type of elements.
struct FormulaLoops {
  void (*forward)(const void* formula, const ForwardRow&);
  void (*backward)(const void* formula, const BackwardRow&);
};

struct Formula {
  const FormulaLoops *of_f32, *of_f64, *of_bf16;
  const FormulaLoops* of_i32;  // without a backward loop; null for a formula that does not take ids
  DType result_of_ids;
  const void* object;  // the function object
  std::size_t bytes;

  template <class T>
  const FormulaLoops& loops() const {
    return *(std::is_same_v<T, float> ? of_f32 : std::is_same_v<T, double> ? of_f64 : std::is_same_v<T, bf16> ? of_bf16 : of_i32);
  }
  /// Returns the element type of the result.
  DType result(DType operands) const { return operands == DType::i32 ? result_of_ids : operands; }
};

inline namespace DIKKAT_INSTRUCTION_SET {

/// The operands of a row as pointers that advance: those that repeat are copied into a vector.
template <class T, std::size_t n>
class RowOperands {
 public:
  RowOperands(const void* const* x, const index* steps) {
    for (std::size_t i = 0; i < n; ++i) {
      steps_[i] = steps[i];
      x_[i] = static_cast<const T*>(x[i]);
      if (steps[i] == 0) {
        for (T& copy : repeated_[i]) {
          copy = *x_[i];
        }
        x_[i] = repeated_[i].data();
      }
    }
  }
  RowOperands(const RowOperands&) = delete;
  RowOperands& operator=(const RowOperands&) = delete;

  template <class Lanes>
  simd::Number<Computed<T>> load(std::size_t i, index at, Lanes lanes) const {
    return simd::Number<Computed<T>>(simd::load_as<Computed<T>>(x_[i] + at * steps_[i], lanes, Computed<T>(1)));
  }

 private:
  std::array<const T*, n> x_;
  std::array<index, n> steps_;
  std::array<std::array<T, static_cast<std::size_t>(simd::kLanes<Computed<T>>)>, n> repeated_;
};

template <class T, std::size_t n, class F, class Result = T>
void forward_row(const void* formula, const ForwardRow& row) {
  using C = Computed<T>;
  const F& f = *static_cast<const F*>(formula);
  const RowOperands<T, n> x(row.x, row.steps);
  auto* const y = static_cast<Result*>(row.y);
  simd::for_vectors<C>(0, row.count, [&](index at, auto lanes) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      const simd::Number<C> value(f(x.load(i, at, lanes)...));
      simd::store_as<C>(y + at, row.add ? value.lanes + simd::load_as<C>(y + at, lanes) : value.lanes, lanes);
    }(std::make_index_sequence<n>{});
  });
}

/// Adds or writes one vector of a gradient. Sums in lanes go to `sum`, which stays in a register, except for the ragged last vector.
template <class T, class Lanes>
void put_gradient(RowGradient kind, void* to, index at, simd::Vec<Computed<T>> value, simd::Vec<Computed<T>>& sum, Lanes lanes) {
  using C = Computed<T>;
  T* const elements = static_cast<T*>(to);
  C* const sums = static_cast<C*>(to);
  switch (kind) {
    case RowGradient::none: break;
    case RowGradient::overwrite: simd::store_as<C>(elements + at, value, lanes); break;
    case RowGradient::add: simd::store_as<C>(elements + at, value + simd::load_as<C>(elements + at, lanes), lanes); break;
    case RowGradient::sum_in_columns: simd::store(sums + at, value + simd::load(sums + at, lanes), lanes); break;
    case RowGradient::sum_in_lanes:
      if constexpr (std::is_same_v<Lanes, simd::Whole>) {
        sum += value;
      } else {
        simd::store(sums, value + simd::load(sums), lanes);
      }
      break;
  }
}

template <class T, std::size_t n, class F>
void backward_row(const void* formula, const BackwardRow& row) {
  using C = Computed<T>;
  using Dual = simd::Dual<C, n>;
  const F& f = *static_cast<const F*>(formula);
  const RowOperands<T, n> x(row.x, row.steps);
  const T* const dy = static_cast<const T*>(row.dy);
  std::array<simd::Vec<C>, n> sums{};
  simd::for_vectors<C>(0, row.count, [&](index at, auto lanes) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      const Dual y(f(Dual::variable(x.load(i, at, lanes), i)...));
      const simd::Vec<C> slope = simd::load_as<C>(dy + at, lanes);
      (put_gradient<T>(row.kinds[i], row.dx[i], at, simd::chained<C>(slope, y.slopes[i].lanes), sums[i], lanes), ...);
    }(std::make_index_sequence<n>{});
  });
  for (std::size_t i = 0; i < n; ++i) {
    if (row.kinds[i] == RowGradient::sum_in_lanes) {
      C* const to = static_cast<C*>(row.dx[i]);
      simd::store(to, simd::load(to) + sums[i]);
    }
  }
}

template <class T, std::size_t n, class F>
inline constexpr FormulaLoops kFormulaLoops{&forward_row<T, n, F>, &backward_row<T, n, F>};
template <std::size_t n, class F, class Result>
inline constexpr FormulaLoops kFormulaLoopsOfIds{&forward_row<std::int32_t, n, F, Result>, nullptr};

/// Whether F can be called with n numbers.
template <class F, class Counted>
struct TakesNumbers;
template <class F, std::size_t... i>
struct TakesNumbers<F, std::index_sequence<i...>> : std::is_invocable<const F&, std::enable_if_t<(i >= 0), simd::Number<float>>...> {};
template <class F, std::size_t n>
inline constexpr bool kIsFormula = TakesNumbers<F, std::make_index_sequence<n>>::value;

/// Returns the formula of a function object, for n operands. Unless ResultOfIds is void, it takes ids too, which are computed in f64.
template <std::size_t n, class ResultOfIds = void, class F>
Formula formula_of(const F& f) {
  static_assert(std::is_trivially_copyable_v<F> && std::is_trivially_destructible_v<F>, "a formula captures numbers only");
  Formula formula{.of_f32 = &kFormulaLoops<float, n, F>,
                  .of_f64 = &kFormulaLoops<double, n, F>,
                  .of_bf16 = &kFormulaLoops<bf16, n, F>,
                  .of_i32 = nullptr,
                  .result_of_ids = DType::i32,
                  .object = &f,
                  .bytes = sizeof(F)};
  if constexpr (!std::is_void_v<ResultOfIds>) {
    formula.of_i32 = &kFormulaLoopsOfIds<n, F, ResultOfIds>;
    formula.result_of_ids = kDType<ResultOfIds>;
  }
  return formula;
}

}  // namespace DIKKAT_INSTRUCTION_SET
}  // namespace dikkat::detail
