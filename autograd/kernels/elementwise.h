#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/base/index.h"
#include "autograd/kernels/dropout.h"

namespace dikkat::kernels {

enum class GateActivation { gelu, relu, relu2, silu };

/// y = f(gate) * up, where a row of x is gate | up (Shazeer, arXiv 2002.05202).
template <class T>
struct Gated {
  GateActivation activation = GateActivation::silu;
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

/// out = factor * x (n).
template <class T>
void scaled_copy(index n, Computed<T> factor, const T* x, GradOut<T> out);

/// Sets n elements to a value, or adds it to them.
template <class T>
void fill(index n, Computed<T> value, GradOut<T> out);

/// Returns the sum of n numbers. The order of the additions does not depend on the number of threads.
template <class T>
T sum(index n, const T* x);

/// out (cols) = sum over the rows of x (rows, cols).
template <class T>
void sum_rows(index rows, index cols, const T* x, GradOut<Computed<T>> out);

/// out = x (n), in another element type. i32 gets numbers without their fraction, which must fit into it.
template <class X, class Y>
void convert(index n, const X* x, GradOut<Y> out);
/// Returns the place of the first of n numbers that do not fit into i32 without their fraction; n if all do, and in a DryRun.
template <class T>
index first_not_i32(index n, const T* x);

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
