#include "autograd/ops/arithmetic.h"

#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/formulas.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/broadcast_loops.h"
#include "autograd/ops/constants.h"
#include "autograd/ops/op.h"

namespace dikkat {
namespace {

template <class F>
Tensor one(Op op, Tensor x, const F& function) {
  return detail::elementwise(name_of(op), std::span(&x, 1), kernels::formula(function));
}
template <class F>
Tensor two(Op op, Tensor a, Tensor b, const F& function) {
  const Tensor operands[] = {a, b};
  return detail::elementwise(name_of(op), operands, kernels::formula(function));
}

/// Writes x's gradient when y is x or -x (`function`), repeated to y's shape: dy or -dy, summed where x repeats.
template <class T, class F>
void pass_through(Gradients& g, Tensor y, Tensor x, const F& function) {
  const auto dx = g.into<T>(x);
  if (!dx) {
    return;
  }
  if constexpr (!std::is_same_v<T, bf16>) {
    if (std::is_same_v<F, kernels::Same> && x.shape() == Shape{y.shape().cols()}) {
      return kernels::sum_rows<T>(y.shape().rows(), y.shape().cols(), g.of<T>(y), dx);
    }
  }
  detail::backward_of_one<T>(kernels::formula(function), x, y.shape(), g.of<T>(y), dx);
}

/// Returns a + b or a - b.
template <class F, class G>
Tensor sum_of(Op op, Tensor a, Tensor b, const F& function, const G& of_b) {
  return for_stored(a.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    const Tensor operands[] = {a, b};
    Tape& tape = begin_op(op, operands);
    const Tensor y = detail::elementwise_forward<T>(tape, name_of(op), operands, kernels::formula(function));
    const Cost mostly_passed_on{};
    tape.record({a, b}, {y}, {cost_of({a, b}, {y}).forward, mostly_passed_on}, [=](Gradients& g) {
      if (std::is_same_v<G, kernels::Same> && b.shape() == y.shape()) {
        g.pass(y, b);
      } else {
        pass_through<T>(g, y, b, of_b);
      }
      if (a.shape() == y.shape()) {
        g.pass(y, a);
      } else {
        pass_through<T>(g, y, a, kernels::Same{});
      }
    });
    return y;
  });
}

/// Computes the comparison `name`, which has no gradient.
template <std::size_t n, class F>
Tensor compared(const char* name, const std::array<Tensor, n>& operands, const F& f) {
  return for_element(operands[0].dtype(), name, [&](auto zero) {
    Tape& tape = begin_op(name, operands);
    const Tensor y = detail::elementwise_forward<decltype(zero)>(tape, name, operands, detail::formula_of<n, float>(f));
    end_without_gradient(tape, operands, y);
    return y;
  });
}

}  // namespace

Tensor add(Tensor a, Tensor b) { return sum_of(Op::add, a, b, kernels::Add{}, kernels::Same{}); }
Tensor subtract(Tensor a, Tensor b) { return sum_of(Op::subtract, a, b, kernels::Subtract{}, kernels::Negate{}); }
Tensor multiply(Tensor a, Tensor b) { return two(Op::multiply, a, b, kernels::Multiply{}); }
Tensor divide(Tensor a, Tensor b) { return two(Op::divide, a, b, kernels::Divide{}); }
Tensor maximum(Tensor a, Tensor b) { return two(Op::maximum, a, b, kernels::Maximum{}); }
Tensor minimum(Tensor a, Tensor b) { return two(Op::minimum, a, b, kernels::Minimum{}); }
Tensor power(Tensor a, Tensor b) { return two(Op::power, a, b, kernels::Power{}); }

Tensor add(Tensor x, double number) { return one(Op::add, x, kernels::AddNumber{{}, number}); }
Tensor subtract(double number, Tensor x) { return one(Op::subtract, x, kernels::SubtractFrom{{}, number}); }
Tensor divide(double number, Tensor x) { return one(Op::divide, x, kernels::DivideNumber{{}, number}); }
Tensor maximum(Tensor x, double number) { return one(Op::maximum, x, kernels::MaximumWith{{}, number}); }
Tensor minimum(Tensor x, double number) { return one(Op::minimum, x, kernels::MinimumWith{{}, number}); }
Tensor power(Tensor x, double exponent) {
  return exponent == 2 ? one(Op::power, x, kernels::Square{}) : one(Op::power, x, kernels::PowerOf{{}, exponent});
}
Tensor clamp(Tensor x, double low, double high) {
  require(low <= high, "clamp: from ", low, " to ", high, ", expected the lower bound first");
  return one(Op::clamp, x, kernels::Clamp{{}, low, high});
}

Tensor scale(Tensor x, double factor, Lifetime lifetime) {
  return for_stored(x.dtype(), "scale", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::scale, {x});
    const Tensor y = tape.make(x.shape(), x.dtype(), lifetime);
    const auto f = static_cast<Computed<T>>(factor);
    kernels::scaled_copy<T>(x.size(), f, x.data<T>(), {y.mutable_data<T>()});
    tape.record({x}, {y}, cost_without_inputs({x}, {y}), [=](Gradients& g) {
      if (auto dx = g.into<T>(x)) {
        if (f == 0) {  // even if dy is infinite or NaN
          kernels::fill<T>(x.size(), f, dx);
        } else {
          kernels::scaled_copy<T>(x.size(), f, g.of<T>(y), dx);
        }
      }
    });
    return y;
  });
}

Tensor negate(Tensor x) { return scale(x, -1); }
Tensor abs(Tensor x) { return one(Op::abs, x, kernels::Abs{}); }
Tensor square(Tensor x) { return one(Op::square, x, kernels::Square{}); }
Tensor sqrt(Tensor x) { return one(Op::sqrt, x, kernels::Sqrt{}); }
Tensor rsqrt(Tensor x) { return one(Op::rsqrt, x, kernels::Rsqrt{}); }
Tensor exp(Tensor x) { return one(Op::exp, x, kernels::Exp{}); }
Tensor log(Tensor x) { return one(Op::log, x, kernels::Log{}); }
Tensor sin(Tensor x) { return one(Op::sin, x, kernels::Sin{}); }
Tensor cos(Tensor x) { return one(Op::cos, x, kernels::Cos{}); }
Tensor erf(Tensor x) { return one(Op::erf, x, kernels::Erf{}); }

Tensor weighted_sum(Tensor x, Tensor z, Tensor a, Tensor b) {
  require(z.shape() == x.shape(), "weighted_sum: z is ", z.shape(), ", expected x's shape ", x.shape());
  require(a.size() == 1 && b.size() == 1, "weighted_sum: the factors are ", a.shape(), " and ", b.shape(), ", expected one number each");
  const Tensor operands[] = {x, z, a, b};
  return detail::elementwise(name_of(Op::weighted_sum), operands, kernels::formula(kernels::WeightedSum{}));
}

Tensor less(Tensor a, Tensor b) {
  return compared<2>("less", {a, b}, [](auto x, auto y) { return x < y; });
}
Tensor less_equal(Tensor a, Tensor b) {
  return compared<2>("less_equal", {a, b}, [](auto x, auto y) { return x <= y; });
}
Tensor greater(Tensor a, Tensor b) {
  return compared<2>("greater", {a, b}, [](auto x, auto y) { return x > y; });
}
Tensor greater_equal(Tensor a, Tensor b) {
  return compared<2>("greater_equal", {a, b}, [](auto x, auto y) { return x >= y; });
}
Tensor equal(Tensor a, Tensor b) {
  return compared<2>("equal", {a, b}, [](auto x, auto y) { return x == y; });
}
Tensor not_equal(Tensor a, Tensor b) {
  return compared<2>("not_equal", {a, b}, [](auto x, auto y) { return x != y; });
}
Tensor less(Tensor x, double number) {
  return compared<1>("less", {x}, [number](auto v) { return v < number; });
}
Tensor less_equal(Tensor x, double number) {
  return compared<1>("less_equal", {x}, [number](auto v) { return v <= number; });
}
Tensor greater(Tensor x, double number) {
  return compared<1>("greater", {x}, [number](auto v) { return v > number; });
}
Tensor greater_equal(Tensor x, double number) {
  return compared<1>("greater_equal", {x}, [number](auto v) { return v >= number; });
}
Tensor equal(Tensor x, double number) {
  return compared<1>("equal", {x}, [number](auto v) { return v == number; });
}
Tensor not_equal(Tensor x, double number) {
  return compared<1>("not_equal", {x}, [number](auto v) { return v != number; });
}

Tensor where(Tensor condition, Tensor a, Tensor b) {
  if (condition.dtype() != a.dtype()) {
    condition = cast(not_equal(condition, 0), a.dtype());
  }
  const Tensor operands[] = {condition, a, b};
  return detail::elementwise(name_of(Op::where), operands, kernels::formula(kernels::Where{}));
}

namespace {

/// Returns the number as a tensor that where() combines with `other`.
Tensor constant_beside(Tensor condition, Tensor other, double number) {
  Tape* const tape = other.tape() != nullptr ? other.tape() : condition.tape();
  require(tape != nullptr, "where: all operands are parameters, expected tape.use(parameter) for one of them");
  return full(*tape, {}, number, other.dtype());
}

}  // namespace

Tensor where(Tensor condition, Tensor a, double number) { return where(condition, a, constant_beside(condition, a, number)); }
Tensor where(Tensor condition, double number, Tensor b) { return where(condition, constant_beside(condition, b, number), b); }

}  // namespace dikkat
