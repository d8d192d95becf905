#include "autograd/kernels/formulas.h"

#include "autograd/kernels/activations.h"

namespace dikkat::kernels {
namespace {

using simd::Dual;
using simd::Number;

/// Returns an activation's value, and its own derivative in place of the one by dual numbers.
template <class F, class T>
Number<T> activated(Number<T> x) {
  return Number<T>(F::value(x.lanes));
}
template <class F, class T, std::size_t n>
[[gnu::always_inline]] inline Dual<T, n> activated(const Dual<T, n>& x) {
  return {x, Number<T>(F::value(x.value.lanes)), Number<T>(F::slope(x.value.lanes))};
}
template <class T>
T type_of(Number<T>);
template <class T, std::size_t n>
T type_of(const Dual<T, n>&);
template <class X>
using TypeOf = decltype(type_of(std::declval<X>()));

// The value of each function. X is Number or Dual.
// clang-format off
template <class X> X value(const Same&, X x) { return x; }
template <class X> X value(const Negate&, X x) { return -x; }
template <class X> X value(const Abs&, X x) { return abs(x); }
template <class X> X value(const Square&, X x) { return x * x; }
template <class X> X value(const Sqrt&, X x) { return sqrt(x); }
template <class X> X value(const Rsqrt&, X x) { return rsqrt(x); }
template <class X> X value(const Exp&, X x) { return exp(x); }
template <class X> X value(const Log&, X x) { return log(x); }
template <class X> X value(const Sin&, X x) { return sin(x); }
template <class X> X value(const Cos&, X x) { return cos(x); }
template <class X> X value(const Erf&, X x) { return erf(x); }
template <class X> X value(const Tanh&, X x) { return tanh(x); }
template <class X> X value(const Sigmoid&, X x) { return sigmoid(x); }
template <class X> X value(const Softplus&, X x) { return softplus(x); }
template <class X> [[gnu::always_inline]] inline X value(const Gelu&, X x) { return activated<GeluOf<TypeOf<X>>>(x); }
template <class X> X value(const Relu&, X x) { return activated<ReluOf<TypeOf<X>>>(x); }
template <class X> X value(const Relu2&, X x) { return activated<Relu2Of<TypeOf<X>>>(x); }
template <class X> [[gnu::always_inline]] inline X value(const Silu&, X x) { return activated<SiluOf<TypeOf<X>>>(x); }
template <class X> X value(const Clamp& f, X x) { return clamp(x, f.low, f.high); }
template <class X> X value(const PowerOf& f, X x) { return pow(x, f.exponent); }
template <class X> X value(const AddNumber& f, X x) { return x + f.number; }
template <class X> X value(const SubtractFrom& f, X x) { return f.number - x; }
template <class X> X value(const DivideNumber& f, X x) { return f.number / x; }
template <class X> X value(const MaximumWith& f, X x) { return max(x, f.number); }
template <class X> X value(const MinimumWith& f, X x) { return min(x, f.number); }
template <class X> X value(const Add&, X a, X b) { return a + b; }
template <class X> X value(const Subtract&, X a, X b) { return a - b; }
template <class X> X value(const Multiply&, X a, X b) { return a * b; }
template <class X> X value(const Divide&, X a, X b) { return a / b; }
template <class X> X value(const Maximum&, X a, X b) { return max(a, b); }
template <class X> X value(const Minimum&, X a, X b) { return min(a, b); }
template <class X> X value(const Power&, X a, X b) { return pow(a, b); }
template <class X> X value(const Where&, X condition, X a, X b) { return where(condition != 0, a, b); }
template <class X> X value(const WeightedSum&, X x, X z, X a, X b) { return a * x + b * z; }
// clang-format on

/// The function as a function object. It is the same memory.
template <class F>
struct Callable {
  F function;

  template <class... X>
  [[gnu::always_inline]] auto operator()(const X&... x) const {  // in loops that need no values, none are computed
    return value(function, x...);
  }
};

}  // namespace

template <class F>
detail::Formula formula(const F& function) {
  detail::Formula loops = detail::formula_of<F::operands, typename F::OfIds>(Callable<F>{function});
  loops.object = &function;
  return loops;
}

#define DIKKAT_INSTANTIATE(F) template detail::Formula formula(const F&);
DIKKAT_INSTANTIATE(Same)
DIKKAT_INSTANTIATE(Negate)
DIKKAT_INSTANTIATE(Abs)
DIKKAT_INSTANTIATE(Square)
DIKKAT_INSTANTIATE(Sqrt)
DIKKAT_INSTANTIATE(Rsqrt)
DIKKAT_INSTANTIATE(Exp)
DIKKAT_INSTANTIATE(Log)
DIKKAT_INSTANTIATE(Sin)
DIKKAT_INSTANTIATE(Cos)
DIKKAT_INSTANTIATE(Erf)
DIKKAT_INSTANTIATE(Tanh)
DIKKAT_INSTANTIATE(Sigmoid)
DIKKAT_INSTANTIATE(Softplus)
DIKKAT_INSTANTIATE(Gelu)
DIKKAT_INSTANTIATE(Relu)
DIKKAT_INSTANTIATE(Relu2)
DIKKAT_INSTANTIATE(Silu)
DIKKAT_INSTANTIATE(Clamp)
DIKKAT_INSTANTIATE(PowerOf)
DIKKAT_INSTANTIATE(AddNumber)
DIKKAT_INSTANTIATE(SubtractFrom)
DIKKAT_INSTANTIATE(DivideNumber)
DIKKAT_INSTANTIATE(MaximumWith)
DIKKAT_INSTANTIATE(MinimumWith)
DIKKAT_INSTANTIATE(Add)
DIKKAT_INSTANTIATE(Subtract)
DIKKAT_INSTANTIATE(Multiply)
DIKKAT_INSTANTIATE(Divide)
DIKKAT_INSTANTIATE(Maximum)
DIKKAT_INSTANTIATE(Minimum)
DIKKAT_INSTANTIATE(Power)
DIKKAT_INSTANTIATE(Where)
DIKKAT_INSTANTIATE(WeightedSum)
#undef DIKKAT_INSTANTIATE

}  // namespace dikkat::kernels
