#include "autograd/ops/linear.h"

#include "autograd/base/scratch.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/ops/activation_function.h"
#include "autograd/ops/broadcast_loops.h"
#include "autograd/ops/op.h"

namespace dikkat {
namespace {

/// Returns the cost of a product of a and b. Each of the two gradients is a product too.
OpCost product_cost(std::initializer_list<Tensor> inputs, Tensor y, double flops) {
  const Tensor a = inputs.begin()[0], b = inputs.begin()[1];
  const Tensor outputs[] = {y};
  return cost_of(std::span(inputs.begin(), inputs.size()), outputs, flops, flops * (int{a.needs_gradient()} + int{b.needs_gradient()}));
}

/// x (rows, in), weight (out, in).
struct LinearShape {
  index rows, in, out;
  double flops() const { return 2 * static_cast<double>(rows) * static_cast<double>(in * out); }
};

/// Checks the shapes. `in` is the number of columns that the product reads.
LinearShape checked(Op op, Tensor x, index in, Tensor weight, Tensor bias) {
  require(weight.shape().rank() == 2 && weight.shape()[1] == in, op, ": weight is ", weight.shape(), ", expected [out, ", in, "] for x ",
          x.shape());
  const index out = weight.shape()[0];
  require(!bias || bias.shape() == Shape{out}, op, ": bias is ", bias ? bias.shape() : Shape{}, ", expected [", out, "]");
  return {x.shape().with_cols(1).rows(), in, out};  // x may have no columns
}

// Products of x (X) and a weight in the type that X is computed in. y may have either type.

/// y = x weight^T + bias, plus the previous y if `add`.
template <class X, class Y>
kernels::GemmOn<X> product(const LinearShape& s, const X* x, Tensor weight, Tensor bias, Y* y, bool add = false) {
  using T = Computed<X>;
  return {.m = s.rows,
          .n = s.out,
          .k = s.in,
          .a = x,
          .lda = s.in,
          .b = weight.is_packed() ? nullptr : weight.data<T>(),
          .ldb = s.in,
          .transpose_b = true,
          .c = y,
          .ldc = s.out,
          .add = add,
          .bias = bias ? bias.data<T>() : nullptr};
}

/// dx = dy weight.
template <class X, class Y, class D>
kernels::GemmOn<X> input_product(const LinearShape& s, const Y* dy, Tensor weight, GradOut<D> dx) {
  return {.m = s.rows,
          .n = s.in,
          .k = s.out,
          .a = dy,
          .lda = s.out,
          .b = weight.is_packed() ? nullptr : weight.data<Computed<X>>(),
          .ldb = s.in,
          .c = dx.data,
          .ldc = s.in,
          .add = dx.add};
}

/// Computes a product with a weight that may be packed, and the product that is added to it.
template <class Problem>
void multiply(Problem product, Tensor weight, const Problem* plus = nullptr) {
  const PackedMatrix packed = weight.packed();
  product.packed_b = weight.is_packed() ? &packed : nullptr;
  product.plus = plus;
  kernels::gemm(product);
}

template <class X, class Y, class D>
void input_gradient(const LinearShape& s, const Y* dy, Tensor weight, GradOut<D> dx) {
  if (dx) {
    multiply(input_product<X>(s, dy, weight, dx), weight);
  }
}

/// dw = dy^T x.
template <class X, class Y>
void weight_gradient(const LinearShape& s, const Y* dy, const X* x, GradOut<Computed<X>> dw) {
  if (dw) {
    kernels::gemm(kernels::GemmOn<X>{.m = s.out,
                                     .n = s.in,
                                     .k = s.rows,
                                     .a = dy,
                                     .lda = s.out,
                                     .transpose_a = true,
                                     .b = x,
                                     .ldb = s.in,
                                     .c = dw.data,
                                     .ldc = s.in,
                                     .add = dw.add,
                                     .depth = kernels::kDepthOfGradients});
  }
}

template <class Y>
void bias_gradient(const LinearShape& s, const Y* dy, Tensor bias, Gradients& g) {
  if (!bias) {
    return;
  }
  if (auto db = g.into<Computed<Y>>(bias)) {
    kernels::sum_rows<Y>(s.rows, s.out, dy, db);
  }
}

template <class X, class Y>
Tensor linear_of(Tensor x, Tensor weight, Tensor bias, Lifetime lifetime) {
  Tape& tape = begin_product(Op::linear, x, {weight, bias});
  const LinearShape s = checked(Op::linear, x, x.shape().cols(), weight, bias);
  const Tensor y = tape.make(x.shape().with_cols(s.out), kDType<Y>, lifetime);
  multiply(product(s, x.data<X>(), weight, bias, y.mutable_data<Y>()), weight);
  tape.record({x, weight, bias}, {y}, product_cost({x, weight, bias}, y, s.flops()), [=](Gradients& g) {
    const Y* dy = g.of<Y>(y);
    input_gradient<X>(s, dy, weight, g.into<X>(x));
    weight_gradient<X, Y>(s, dy, x.data<X>(), g.into<Computed<X>>(weight));
    bias_gradient<Y>(s, dy, bias, g);
  });
  return y;
}

}  // namespace

Tensor linear(Tensor x, Tensor weight, Tensor bias, const LinearOptions& options) {
  const DType out = options.dtype.value_or(x.dtype());
  return for_stored(x.dtype(), "linear", [&](auto zero) {
    using X = decltype(zero);
    if (out == kDType<X>) {
      return linear_of<X, X>(x, weight, bias, options.lifetime);
    }
    require(out == kDType<Computed<X>>, "linear: ", out, " from x of ", x.dtype(), ", expected ", kDType<Computed<X>>);
    return linear_of<X, Computed<X>>(x, weight, bias, options.lifetime);
  });
}

Tensor activated_linear(const Nonlinearity& nonlinearity, Tensor x, Tensor weight, Tensor bias, Lifetime lifetime) {
  return for_stored(x.dtype(), "activated_linear", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_product(Op::activated_linear, x, {weight, bias});
    const bool is_gated = nonlinearity.gated;
    // Describe the product and the activation.
    require(!is_gated || x.shape().cols() % 2 == 0, "activated_linear: x is ", x.shape(), ", expected an even number of columns");
    const LinearShape s = checked(Op::activated_linear, x, nonlinearity.columns_of(x.shape().cols()), weight, bias);
    const Activation activation = nonlinearity.activation;
    const kernels::Gated<T> gate{.activation = gate_activation(activation), .rows = s.rows, .cols = s.in, .x = x.data<T>()};
    const auto activate = [=](T* a) {
      if (is_gated) {
        auto p = gate;
        p.y = a;
        kernels::gated_forward(p);
      } else {
        with_formula(activation, [&](const detail::Formula& f) { detail::map_forward<T>(f, x.size(), x.data<T>(), a); });
      }
    };
    // The activation is only in scratch memory.
    const Tensor y = tape.make(x.shape().with_cols(s.out), x.dtype(), lifetime);
    {
      const Scratch<T> a(s.rows * s.in);
      activate(a);
      multiply(product<T>(s, a.data(), weight, bias, y.mutable_data<T>()), weight);
    }
    // Backward computes the activation again.
    tape.record({x, weight, bias}, {y}, product_cost({x, weight, bias}, y, s.flops()), [=](Gradients& g) {
      const T* dy = g.of<T>(y);
      if (auto dw = g.into<Computed<T>>(weight)) {
        const Scratch<T> a(s.rows * s.in);
        activate(a);
        weight_gradient<T, T>(s, dy, a.data(), dw);
      }
      if (auto dx = g.into<T>(x)) {
        const Scratch<T> da(s.rows * s.in);
        input_gradient<T>(s, dy, weight, GradOut<T>{da, false});
        if (is_gated) {
          auto p = gate;
          p.dy = da;
          p.dx = dx;
          kernels::gated_backward(p);
        } else {
          with_formula(activation, [&](const detail::Formula& f) { detail::map_backward<T>(f, x.size(), x.data<T>(), da, dx); });
        }
      }
      bias_gradient<T>(s, dy, bias, g);
    });
    return y;
  });
}

namespace {

/// Writes scale times a product to `out`, of X. `multiply` writes the product to the memory that it is given, in the type that it is summed
/// in.
template <class X, class F>
void scaled_product(index count, double scale, X* out, F&& multiply) {
  using T = Computed<X>;
  const auto factor = static_cast<T>(scale);
  if constexpr (std::is_same_v<X, T>) {
    multiply(out);
    kernels::scaled_copy<T>(count, factor, out, {out});
  } else {
    const Scratch<T> sums(count);
    multiply(sums.data());
    kernels::scaled_copy<T>(count, factor, sums.data(), {sums.data()});
    kernels::convert<T, X>(count, sums.data(), {out});
  }
}

}  // namespace

Tensor adapted_linear(Tensor x, Tensor weight, const LowRankProduct& low, Tensor bias, Lifetime lifetime) {
  return for_stored(x.dtype(), "adapted_linear", [&](auto zero) {
    using T = decltype(zero);
    const Tensor read = low.read ? low.read : x, a = low.a, b = low.b;
    const double scale = low.scale;
    const Tensor activations[] = {x, read};
    Tape& tape = begin_product(Op::adapted_linear, activations, {weight, a, b, bias});
    // Check the shapes: `down` to few columns, and `up` again.
    require(read.shape() == x.shape(), "adapted_linear: a reads ", read.shape(), ", expected x's shape ", x.shape());
    const LinearShape s = checked(Op::adapted_linear, x, x.shape().cols(), weight, bias);
    const LinearShape down = checked(Op::adapted_linear, x, s.in, a, {});
    require(b.shape() == Shape{s.out, down.out}, "adapted_linear: b is ", b.shape(), ", expected [", s.out, ", ", down.out, "] for a of ",
            a.shape());
    const LinearShape up{s.rows, down.out, s.out};
    // Compute h = scale read a^T, then both products that make up y.
    const Tensor h = tape.make(x.shape().with_cols(down.out), x.dtype());
    const Tensor y = tape.make(x.shape().with_cols(s.out), x.dtype(), lifetime);
    scaled_product(h.size(), scale, h.mutable_data<T>(), [&](auto* to) { multiply(product(down, read.data<T>(), a, {}, to), a); });
    const auto through_b = product(up, h.data<T>(), b, {}, y.mutable_data<T>(), true);
    multiply(product(s, x.data<T>(), weight, bias, y.mutable_data<T>()), weight, &through_b);

    // The number of products in backward depends on which operands need gradients.
    const auto products = [](const LinearShape& of, bool first, bool second) { return of.flops() * (int{first} + int{second}); };
    const bool goes_on = read.needs_gradient() || a.needs_gradient();
    const Tensor inputs[] = {x, weight, read, a, b, bias};
    const Tensor outputs[] = {y};
    const OpCost cost = cost_of(std::span(inputs), outputs, s.flops() + down.flops() + up.flops(),
                                products(s, x.needs_gradient(), weight.needs_gradient()) + products(up, goes_on, b.needs_gradient()) +
                                    products(down, read.needs_gradient(), a.needs_gradient()));
    tape.record({x, weight, read, a, b, bias}, {y}, cost, [=](Gradients& g) {
      const T* dy = g.of<T>(y);
      weight_gradient<T, T>(up, dy, h.data<T>(), g.into<Computed<T>>(b));
      weight_gradient<T, T>(s, dy, x.data<T>(), g.into<Computed<T>>(weight));
      bias_gradient<T>(s, dy, bias, g);
      // The gradient of h leads to those of a and of the operand that a reads.
      const Scratch<T> dh(goes_on ? h.size() : 0);
      if (goes_on) {
        scaled_product(h.size(), scale, dh.data(), [&](auto* to) { input_gradient<T>(up, dy, b, GradOut<Computed<T>>{to}); });
        weight_gradient<T, T>(down, dh.data(), read.data<T>(), g.into<Computed<T>>(a));
      }
      const bool is_shared = read == x;
      if (const auto dx = g.into<T>(x)) {
        const auto through_a = input_product<T>(down, dh.data(), a, GradOut<T>{dx.data, true});
        multiply(input_product<T>(s, dy, weight, dx), weight, is_shared ? &through_a : nullptr);
      }
      if (!is_shared) {
        input_gradient<T>(down, dh.data(), a, g.into<T>(read));
      }
    });
    return y;
  });
}

}  // namespace dikkat
