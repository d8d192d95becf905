#pragma once

#include <cstdint>

#include "autograd/base/grad_out.h"
#include "autograd/kernels/reduce/reduced_array.h"

/// Reductions along axes. The numbers of a result are computed in Computed<T>. Large reductions are cut into tiles, whose parts are joined
/// in f64, in their order. The order of all additions depends on shapes only.
namespace dikkat::kernels {

/// y (results) = factor * the sum of each result's elements.
template <class T>
struct SumAlong {
  ReducedArray array;
  double factor = 1;
  const T* x = nullptr;
  T* y = nullptr;         // forward only
  const T* dy = nullptr;  // (results), backward only
  GradOut<T> dx{};        // backward only
};
template <class T>
void sum_along_forward(const SumAlong<T>& p);
/// dx = factor * dy, repeated.
template <class T>
void sum_along_backward(const SumAlong<T>& p);

/// y (results) = the largest or the smallest of each result's elements, or NaN if one is NaN. There must be 1 element or more, and fewer
/// than 2^31. `places` (results) are the indices of the first elements that attain y, in row-major order.
template <class T>
struct ExtremeAlong {
  ReducedArray array;
  bool is_max = true;
  const T* x = nullptr;
  T* y = nullptr;                  // may be null
  std::int32_t* places = nullptr;  // may be null in forward
  const T* dy = nullptr;           // (results), backward only
  GradOut<T> dx{};                 // backward only
};
template <class T>
void extreme_along_forward(const ExtremeAlong<T>& p);
/// dx = dy at `places`, and 0 elsewhere.
template <class T>
void extreme_along_backward(const ExtremeAlong<T>& p);

/// y (results) = log of the sum of e^x; -infinity for no elements.
template <class T>
struct LogSumExpAlong {
  ReducedArray array;
  const T* x = nullptr;
  T* y = nullptr;               // forward only
  Computed<T>* logs = nullptr;  // (results): y before it is rounded; written forward and read backward, may be y's memory
  const T* dy = nullptr;        // (results), backward only
  GradOut<T> dx{};              // backward only
};
template <class T>
void log_sum_exp_along_forward(const LogSumExpAlong<T>& p);
/// dx = dy e^(x - logs).
template <class T>
void log_sum_exp_along_backward(const LogSumExpAlong<T>& p);

/// y (results) = the sum of (x - mean)^2 / divisor.
template <class T>
struct VarianceAlong {
  ReducedArray array;
  double divisor = 1;
  const T* x = nullptr;
  T* y = nullptr;                // forward only
  Computed<T>* means = nullptr;  // (results); written forward and read backward
  const T* dy = nullptr;         // (results), backward only
  GradOut<T> dx{};               // backward only
};
template <class T>
void variance_along_forward(const VarianceAlong<T>& p);
/// dx = dy 2 (x - mean) / divisor.
template <class T>
void variance_along_backward(const VarianceAlong<T>& p);

}  // namespace dikkat::kernels
