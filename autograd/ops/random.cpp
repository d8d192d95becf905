#include "autograd/ops/random.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/dry_run.h"
#include "autograd/kernels/random.h"
#include "autograd/ops/op.h"

namespace dikkat {
namespace {

/// Makes a tensor, whose elements fill(zero, drawing, y) draws.
template <class F>
Tensor drawn(const char* op, Tape& tape, Shape shape, const RandomStream& stream, DType dtype, index first, F&& fill) {
  return for_stored(dtype, op, [&](auto zero) {
    tape.begin(op);
    require(first >= 0, op, ": first element ", first, ", expected 0 or more");
    const Tensor y = tape.make(shape, dtype);
    fill(zero, kernels::Drawing{.stream = stream, .first = first, .n = shape.size()}, y);
    end_without_gradient(tape, {}, y);
    return y;
  });
}

bool is_probability(double p) { return 0 <= p && p <= 1; }

}  // namespace

Tensor uniform(Tape& tape, Shape shape, const RandomStream& stream, double low, double high, DType dtype, index first) {
  return drawn("uniform", tape, shape, stream, dtype, first, [&](auto zero, const kernels::Drawing& drawing, Tensor y) {
    using T = decltype(zero);
    const auto from = to_computed(to_stored<T>(static_cast<Computed<T>>(low)));
    const auto to = to_computed(to_stored<T>(static_cast<Computed<T>>(high)));
    require(from < to && std::isfinite(to - from), "uniform: from ", low, " to ", high, " of ", dtype,
            ", expected finite bounds, the first below the second");
    kernels::draw_uniform<T>(drawing, from, to, y.mutable_data<T>());
  });
}

Tensor normal(Tape& tape, Shape shape, const RandomStream& stream, double mean, double std, DType dtype, index first) {
  return drawn("normal", tape, shape, stream, dtype, first, [&](auto zero, const kernels::Drawing& drawing, Tensor y) {
    using T = decltype(zero);
    require(std >= 0, "normal: standard deviation ", std, ", expected 0 or more");
    kernels::draw_normal<T>(drawing, static_cast<Computed<T>>(mean), static_cast<Computed<T>>(std), y.mutable_data<T>());
  });
}

Tensor bernoulli(Tape& tape, Shape shape, const RandomStream& stream, double p, DType dtype, index first) {
  return drawn("bernoulli", tape, shape, stream, dtype, first, [&](auto zero, const kernels::Drawing& drawing, Tensor y) {
    using T = decltype(zero);
    require(is_probability(p), "bernoulli: probability ", p, ", expected 0 to 1");
    kernels::draw_bernoulli<T>(drawing, p, y.mutable_data<T>());
  });
}

Tensor bernoulli(Tensor p, const RandomStream& stream, index first) {
  return for_stored(p.dtype(), "bernoulli", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op("bernoulli", {p});
    require(first >= 0, "bernoulli: first element ", first, ", expected 0 or more");
    const T* const probabilities = p.data<T>();
    const T* const end = probabilities + (DryRun::active() ? 0 : p.size());
    const T* const wrong = std::find_if(probabilities, end, [](T x) { return !is_probability(static_cast<double>(to_computed(x))); });
    if (wrong != end) {
      fail("bernoulli: probability ", to_computed(*wrong), " of element ", wrong - probabilities, ", expected 0 to 1");
    }
    const Tensor y = tape.make(p.shape(), p.dtype());
    kernels::draw_bernoulli<T>({.stream = stream, .first = first, .n = p.size()}, probabilities, y.mutable_data<T>());
    end_without_gradient(tape, {p}, y);
    return y;
  });
}

Tensor categorical(Tensor x, const RandomStream& stream, Odds odds, index first) {
  return for_stored(x.dtype(), "categorical", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op("categorical", {x});
    const Shape& shape = x.shape();
    require(shape.rank() >= 1 && shape.cols() > 0, "categorical: x is ", shape, ", expected (..., classes) with 1 class or more");
    require(first >= 0, "categorical: first element ", first, ", expected 0 or more");
    const Tensor y = tape.make(Shape(shape.extents().first(static_cast<std::size_t>(shape.rank() - 1))), DType::i32);
    auto* const classes = y.mutable_data<std::int32_t>();
    kernels::draw_categorical<T>({.drawing = {.stream = stream, .first = first, .n = shape.rows()},
                                  .classes = shape.cols(),
                                  .logits = odds == Odds::logits,
                                  .x = x.data<T>(),
                                  .y = classes});
    const index rows = DryRun::active() ? 0 : shape.rows();
    const index wrong = std::find(classes, classes + rows, -1) - classes;
    require(wrong == rows, "categorical: row ", wrong, " of x ", shape,
            odds == Odds::logits ? ", expected logits below infinity, of which one is finite"
                                 : ", expected probabilities of 0 or more, and a finite sum above 0");
    end_without_gradient(tape, {x}, y);
    return y;
  });
}

Tensor permutation(Tape& tape, index n, const RandomStream& stream) {
  tape.begin("permutation");
  constexpr index kMost = (index{1} << 31) - 1;
  require(0 <= n && n <= kMost, "permutation: of ", n, " numbers, expected 0 to ", kMost);
  const Tensor y = tape.make({n}, DType::i32);
  kernels::draw_permutation(n, stream, y.mutable_data<std::int32_t>());
  end_without_gradient(tape, {}, y);
  return y;
}

}  // namespace dikkat
