#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"
#include "autograd/kernels/dropout.h"

namespace dikkat::kernels {

/// y = f(x), element by element.
enum class Function { gelu, relu, relu2, silu, sigmoid, tanh, exp, log, power };

template <class T>
struct Map {
  Function function = Function::gelu;
  Computed<T> exponent{};  // of power
  index n = 0;
  const T* x = nullptr;   // (n)
  const T* dy = nullptr;  // (n), backward only
  T* y = nullptr;         // (n), forward only
  GradOut<T> dx{};        // (n), backward only
};
/// GELU in the form of GPT-2: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel, arXiv 1606.08415).
template <class T>
void map_forward(const Map<T>& p);
/// Let f = <dy, y>. Writes df/dx.
template <class T>
void map_backward(const Map<T>& p);

/// y = f(gate) * up, where a row of x is gate | up (Shazeer, arXiv 2002.05202).
template <class T>
struct Gated {
  Function function = Function::silu;
  index rows = 0, cols = 0;
  const T* x = nullptr;   // (rows, 2 cols)
  const T* dy = nullptr;  // (rows, cols), backward only
  T* y = nullptr;         // (rows, cols), forward only
  GradOut<T> dx{};        // (rows, 2 cols), backward only
};
template <class T>
void gated_forward(const Gated<T>& p);
/// Let f = <dy, y>. Writes df/dx.
template <class T>
void gated_backward(const Gated<T>& p);

/// y = a + b or a * b. b is (rows, cols) as a is; or, if `repeat_b`, one row (cols) that is used for all rows of a.
template <class T>
struct Binary {
  index rows = 0, cols = 0;
  bool repeat_b = false;
  const T* a = nullptr;
  const T* b = nullptr;
  const T* dy = nullptr;
  T* y = nullptr;
  GradOut<T> da{}, db{};
};
template <class T>
void add_forward(const Binary<T>& p);
template <class T>
void multiply_forward(const Binary<T>& p);
/// Let f = <dy, a * b>. Writes df/da, then df/db; a null output is skipped, and both may be the same memory.
template <class T>
void multiply_backward(const Binary<T>& p);

/// y = a x + b z (n), with factors in memory.
template <class T>
struct WeightedSum {
  index n = 0;
  const T* a = nullptr;  // (1)
  const T* b = nullptr;  // (1)
  const T* x = nullptr;
  const T* z = nullptr;
  T* y = nullptr;         // forward only
  const T* dy = nullptr;  // backward only
  GradOut<T> dx{}, dz{};
  GradOut<T> da{}, db{};  // (1)
};
template <class T>
void weighted_sum_forward(const WeightedSum<T>& p);
/// Let f = <dy, y>. Writes df/dx, df/dz, df/da and df/db in this order; a null output is skipped, and two may be the same memory. Sums have
/// a fixed order.
template <class T>
void weighted_sum_backward(const WeightedSum<T>& p);

/// out = factor * x (n).
template <class T>
void scaled_copy(index n, Computed<T> factor, const T* x, GradOut<T> out);

/// Sets n elements to a value, or adds it to them.
template <class T>
void fill(index n, Computed<T> value, GradOut<T> out);

/// The sum of n numbers. The order of the additions does not depend on the number of threads.
template <class T>
T sum(index n, const T* x);

/// out (cols) = sum over the rows of x (rows, cols).
template <class T>
void sum_rows(index rows, index cols, const T* x, GradOut<Computed<T>> out);

/// out = x (n), in another element type.
template <class X, class Y>
void convert(index n, const X* x, GradOut<Y> out);

/// Copies `count` blocks of `width` elements, `from_stride` and `to_stride` apart.
template <class T>
struct CopyBlocks {
  index count = 0, width = 0;
  const T* from = nullptr;
  index from_stride = 0;
  GradOut<T> to{};
  index to_stride = 0;
};
template <class T>
void copy_blocks(const CopyBlocks<T>& p);

/// y (n) = the dropout of x (n). dx is the dropout of dy.
template <class X, class Y = X>
struct Dropout {
  index n = 0;
  Dropping dropping;
  const X* x = nullptr;
  GradOut<Y> y{};
};
template <class X, class Y = X>
void dropout(const Dropout<X, Y>& p);

}  // namespace dikkat::kernels
