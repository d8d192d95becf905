#include "autograd/kernels/lstm.h"

#include <algorithm>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/simd/number.h"

namespace dikkat::kernels {
namespace {

constexpr index kWorkOfGates = 32;  // work of an element's four gates, in elements that are copied

/// Calls f(b) for each row of a step.
template <class T, class F>
void for_rows_of_step(const Lstm<T>& p, F&& f) {
  parallel_for(p.batch, Work::elements(kWorkOfGates * p.batch * p.hidden), f);
}

/// Copies row b of a matrix, or zeros if it is null.
template <class T>
void copy_or_zero(const T* rows, index b, index size, T* to) {
  rows != nullptr ? std::copy_n(rows + b * size, size, to) : std::fill_n(to, size, T(0));
}

/// Computes the gates, c and h of step t from the products (batch, 4 hidden).
template <class T>
void step_forward(const Lstm<T>& p, index t, const T* products) {
  using N = simd::Number<T>;
  for_rows_of_step(p, [&](index b) {
    const index at_step = b * p.time + t;
    const T* const product = products + b * p.gate_width();
    const T* const sums = p.sums + at_step * p.gate_width();
    T* const gates = p.gates + at_step * p.gate_width();
    const T* const c_before = t > 0 ? p.cells + (at_step - 1) * p.hidden : p.c0 != nullptr ? p.c0 + b * p.hidden : nullptr;
    simd::for_vectors<T>(0, p.hidden, [&](index at, auto lanes) {
      const auto load = [&](const T* row) { return N(simd::load(row + at, lanes)); };
      const auto part = [&](index number) { return load(product + number * p.hidden) + load(sums + number * p.hidden); };
      const auto keep = [&](T* row, N value) { simd::store(row + at, value.lanes, lanes); };
      const N i = sigmoid(part(0)), f = sigmoid(part(1)), g = tanh(part(2)), o = sigmoid(part(3));
      N c = i * g;
      if (c_before != nullptr) {
        c += f * load(c_before);
      }
      const N h = o * tanh(c);
      keep(gates, i);
      keep(gates + p.hidden, f);
      keep(gates + 2 * p.hidden, g);
      keep(gates + 3 * p.hidden, o);
      keep(p.cells + at_step * p.hidden, c);
      keep(p.y + at_step * p.hidden, h);
      if (t + 1 < p.time) {
        keep(p.before + (at_step + 1) * p.hidden, h);
      } else {
        keep(p.last_c + b * p.hidden, c);
      }
    });
  });
}

/// Replaces the gates of step t by the gradient of its sums. dh (batch, hidden) is the gradient of h that comes from step t + 1, and dc
/// that of c, which becomes that of c before this step.
template <class T>
void step_backward(const Lstm<T>& p, index t, const T* dh, T* dc) {
  using N = simd::Number<T>;
  for_rows_of_step(p, [&](index b) {
    const index at_step = b * p.time + t;
    T* const gates = p.gates + at_step * p.gate_width();
    const T* const c_before = t > 0 ? p.cells + (at_step - 1) * p.hidden : p.c0 != nullptr ? p.c0 + b * p.hidden : nullptr;
    simd::for_vectors<T>(0, p.hidden, [&](index at, auto lanes) {
      const auto load = [&](const T* row) { return N(simd::load(row + at, lanes)); };
      const auto keep = [&](T* row, N value) { simd::store(row + at, value.lanes, lanes); };
      const N i = load(gates), f = load(gates + p.hidden), g = load(gates + 2 * p.hidden), o = load(gates + 3 * p.hidden);
      const N tanh_c = tanh(load(p.cells + at_step * p.hidden));
      N of_h = load(dh + b * p.hidden);
      if (p.dy != nullptr) {
        of_h += load(p.dy + at_step * p.hidden);
      }
      const N of_c = load(dc + b * p.hidden) + of_h * o * (N(1) - tanh_c * tanh_c);
      keep(gates, of_c * g * i * (N(1) - i));
      keep(gates + p.hidden, c_before == nullptr ? N(0) : of_c * load(c_before) * f * (N(1) - f));
      keep(gates + 2 * p.hidden, of_c * i * (N(1) - g * g));
      keep(gates + 3 * p.hidden, of_h * tanh_c * o * (N(1) - o));
      keep(dc + b * p.hidden, of_c * f);
    });
  });
}

}  // namespace

template <class T>
void lstm_forward(const Lstm<T>& p) {
  const index row = p.time * p.hidden;  // elements of y from one sequence to the next
  for_rows_of_step(p, [&](index b) { copy_or_zero(p.h0, b, p.hidden, p.before + b * row); });
  const Scratch<T> products(p.batch * p.gate_width());
  for (index t = 0; t < p.time; ++t) {
    gemm<T>({.m = p.batch,
             .n = p.gate_width(),
             .k = p.hidden,
             .a = p.before + t * p.hidden,
             .lda = row,
             .b = p.weight,
             .ldb = p.hidden,
             .transpose_b = true,
             .c = products,
             .ldc = p.gate_width(),
             .bias = p.bias});
    step_forward<T>(p, t, products);
  }
}

template <class T>
void lstm_backward(const Lstm<T>& p) {
  const index state = p.batch * p.hidden, rows = p.batch * p.time;
  const Scratch<T> dh(state), dc(state);
  // Begin with the gradients of the state after the last step.
  for_rows_of_step(p, [&](index b) {
    std::fill_n(dh + b * p.hidden, p.hidden, T(0));
    copy_or_zero(p.dlast_c, b, p.hidden, dc + b * p.hidden);
  });
  // Compute at each step the gradients of its sums, and of the state before it.
  for (index t = p.time - 1; t >= 0; --t) {
    step_backward<T>(p, t, dh, dc);
    if (t > 0 || p.dh0) {
      gemm<T>({.m = p.batch,
               .n = p.hidden,
               .k = p.gate_width(),
               .a = p.gates + t * p.gate_width(),
               .lda = p.time * p.gate_width(),
               .b = p.weight,
               .ldb = p.hidden,
               .c = dh,
               .ldc = p.hidden});
    }
  }
  // Compute the gradients of the tensors that all steps read.
  if (p.dsums) {
    scaled_copy<T>(rows * p.gate_width(), T(1), p.gates, p.dsums);
  }
  if (p.dweight) {
    gemm<T>({.m = p.gate_width(),
             .n = p.hidden,
             .k = rows,
             .a = p.gates,
             .lda = p.gate_width(),
             .transpose_a = true,
             .b = p.before,
             .ldb = p.hidden,
             .c = p.dweight.data,
             .ldc = p.hidden,
             .add = p.dweight.add});
  }
  if (p.dbias) {
    sum_rows<T>(rows, p.gate_width(), p.gates, p.dbias);
  }
  if (p.dh0) {
    scaled_copy<T>(state, T(1), dh, p.dh0);
  }
  if (p.dc0) {
    scaled_copy<T>(state, T(1), dc, p.dc0);
  }
}

template void lstm_forward(const Lstm<float>&);
template void lstm_forward(const Lstm<double>&);
template void lstm_backward(const Lstm<float>&);
template void lstm_backward(const Lstm<double>&);

}  // namespace dikkat::kernels
