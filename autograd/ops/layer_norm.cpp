#include "autograd/ops/layer_norm.h"

#include <type_traits>

#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/layer_norm.h"
#include "autograd/ops/op.h"
#include "autograd/ops/widened.h"

namespace dikkat {
namespace {

void check_parameters(Op op, index cols, Tensor gamma, Tensor beta) {
  require(gamma.shape() == Shape{cols}, op, ": gamma is ", gamma.shape(), ", expected [", cols, "]");
  require(!beta || beta.shape() == Shape{cols}, op, ": beta is ", beta ? beta.shape() : Shape{}, ", expected [", cols, "]");
}

/// Calls f(float{}) or f(bf16{}) for a type that may differ from the op's f32, or f(double{}).
template <class T, class F>
auto for_other(DType dtype, const char* op, F&& f) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == DType::bf16) {
      return f(bf16{});
    }
  }
  require(dtype == kDType<T>, op, ": element type ", dtype, " with ", kDType<T>, ", expected the same, or bf16 with f32");
  return f(T{});
}

/// The part that forward and backward of both ops share. B and Y are the types of the branch and of y.
template <class T, class B, class Y>
struct Norm {
  Norm(Tape& tape, bool center, Tensor x_, Tensor gamma_, Tensor beta_, Lifetime lifetime = Lifetime::until_reset)
      : x(x_),
        gamma(gamma_),
        beta(beta_),
        y(tape.make(x.shape(), kDType<Y>, lifetime)),
        mean(center ? tape.save<T>(x.shape().rows()) : nullptr),
        rstd(tape.save<T>(x.shape().rows())) {}

  kernels::LayerNormForward<T, B, Y> forward(double eps) const {
    return {.rows = x.shape().rows(),
            .cols = x.shape().cols(),
            .eps = eps,
            .center = mean != nullptr,
            .x = x.data<T>(),
            .gamma = gamma.data<T>(),
            .beta = beta ? beta.data<T>() : nullptr,
            .y = y.mutable_data<Y>(),
            .mean = mean,
            .rstd = rstd};
  }
  kernels::LayerNormBackward<T, B, Y> backward(Gradients& g, GradOut<T> dx) const {
    return {.rows = x.shape().rows(),
            .cols = x.shape().cols(),
            .dy = g.of<Y>(y),
            .x = x.data<T>(),
            .gamma = gamma.data<T>(),
            .mean = mean,
            .rstd = rstd,
            .dx = dx,
            .dgamma = g.into<T>(gamma),
            .dbeta = beta ? g.into<T>(beta) : GradOut<T>{}};
  }

  Tensor x, gamma, beta, y;
  T* mean;  // null: RMSNorm
  T* rstd;
};

Tensor norm_of(Op op, Tensor x, Tensor gamma, Tensor beta, const NormOptions& o) {
  if (x.dtype() == DType::bf16) {
    NormOptions options = o;
    options.dtype = o.dtype.value_or(DType::bf16);
    return norm_of(op, widened(x), gamma, beta, options);
  }
  return for_float(x.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    return for_other<T>(o.dtype.value_or(x.dtype()), name_of(op), [&](auto y) {
      Tape& tape = begin_op(op, {x, gamma, beta});
      check_parameters(op, x.shape().cols(), gamma, beta);
      const Norm<T, T, decltype(y)> norm(tape, op == Op::layer_norm, x, gamma, beta, o.lifetime);
      kernels::layer_norm_forward(norm.forward(o.eps));
      tape.record({x, gamma, beta}, {norm.y}, cost_of({x, gamma, beta}, {norm.y}),
                  [=](Gradients& g) { kernels::layer_norm_backward(norm.backward(g, g.into<T>(x))); });
      return norm.y;
    });
  });
}

template <class T, class B, class Y>
SumAndNorm add_norm_of(Op op, Tensor residual, Tensor branch, Tensor gamma, Tensor beta, const DropoutOptions& o, double eps) {
  Tape& tape = begin_op(op, {residual, gamma, beta}, {branch});
  require(branch.shape() == residual.shape(), op, ": branch is ", branch.shape(), ", expected residual's shape ", residual.shape());
  require(0 <= o.probability && o.probability < 1, op, ": dropout ", o.probability, ", expected 0 <= p < 1");
  check_parameters(op, residual.shape().cols(), gamma, beta);
  // Compute the sum and the norm in one pass.
  const Tensor sum = tape.make(residual.shape(), residual.dtype());
  const Norm<T, B, Y> norm(tape, op == Op::add_layer_norm, sum, gamma, beta);
  const kernels::Dropping dropping{.probability = o.probability, .stream = o.stream, .first = o.first};
  auto forward = norm.forward(eps);
  forward.residual = residual.data<T>();
  forward.branch = branch.data<B>();
  forward.dropping = dropping;
  forward.sum = sum.mutable_data<T>();
  kernels::layer_norm_forward(forward);
  tape.release(branch);
  // The gradient through the norm is added, in place, to that of the sum. The result is the gradient of both operands.
  const OpCost cost = cost_of({residual, branch, gamma, beta}, {sum, norm.y});
  tape.record({residual, branch, gamma, beta}, {sum, norm.y}, cost, [=](Gradients& g) {
    const bool differs = dropping.probability > 0 || !std::is_same_v<B, T>;  // the branch's gradient from that of the sum
    const bool passes = residual.needs_gradient() || branch.needs_gradient();
    if (g.of<Y>(norm.y) != nullptr) {
      auto backward = norm.backward(g, passes ? g.into<T>(sum) : GradOut<T>{});
      backward.dropping = dropping;
      backward.dbranch = differs ? g.into<B>(branch) : GradOut<B>{};
      kernels::layer_norm_backward(backward);
    } else if (auto dbranch = differs ? g.into<B>(branch) : GradOut<B>{}) {
      kernels::dropout<T, B>({.n = sum.size(), .dropping = dropping, .x = g.of<T>(sum), .y = dbranch});
    }
    g.pass(sum, residual);
    if (!differs) {
      g.pass(sum, branch);
    }
  });
  return {sum, norm.y};
}

SumAndNorm add_norm(Op op, Tensor residual, Tensor branch, Tensor gamma, Tensor beta, const DropoutOptions& dropout, const NormOptions& o) {
  return for_float(residual.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    return for_other<T>(branch.dtype(), name_of(op), [&](auto b) {
      return for_other<T>(o.dtype.value_or(residual.dtype()), name_of(op), [&](auto y) {
        return add_norm_of<T, decltype(b), decltype(y)>(op, residual, branch, gamma, beta, dropout, o.eps);
      });
    });
  });
}

}  // namespace

Tensor layer_norm(Tensor x, Tensor gamma, Tensor beta, const NormOptions& o) { return norm_of(Op::layer_norm, x, gamma, beta, o); }

Tensor rms_norm(Tensor x, Tensor gamma, const NormOptions& o) { return norm_of(Op::rms_norm, x, gamma, {}, o); }

SumAndNorm add_layer_norm(Tensor residual, Tensor branch, Tensor gamma, Tensor beta, const DropoutOptions& dropout, const NormOptions& o) {
  return add_norm(Op::add_layer_norm, residual, branch, gamma, beta, dropout, o);
}

SumAndNorm add_rms_norm(Tensor residual, Tensor branch, Tensor gamma, const DropoutOptions& dropout, const NormOptions& o) {
  return add_norm(Op::add_rms_norm, residual, branch, gamma, {}, dropout, o);
}

}  // namespace dikkat
