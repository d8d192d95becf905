#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "autograd/base/broadcast.h"
#include "autograd/base/grad_out.h"
#include "autograd/ops/elementwise.h"
#include "autograd/tape/tape.h"

/// Loops over broadcast arrays, row by row. This header is private to the folder.
namespace dikkat::detail {

inline constexpr std::size_t kMostOperands = Broadcast::kMostArrays;

/// The operands of an elementwise op in memory.
struct BroadcastProblem {
  const Broadcast& broadcast;
  std::size_t element;  // bytes of an element
  std::array<const std::byte*, kMostOperands> x{};
  const FormulaLoops& loops;
  const void* formula;
};

/// Computes y, or adds to it, in one pass. An element of y has as many bytes as one of x.
void run_forward(const BroadcastProblem& p, std::byte* y, bool add = false);

/// Do what run_forward() and run_backward() do, but for operands of n elements of type T, none of which repeats.
template <class T>
void run_whole_forward(const FormulaLoops& loops, const void* formula, std::span<const Tensor> x, index n, std::byte* y);
template <class T>
void run_whole_backward(const FormulaLoops& loops, const void* formula, std::span<const Tensor> x, index n, const T* dy,
                        const std::array<GradOut<T>, kMostOperands>& dx);

/// Writes gradients in one pass over dy. `sums`: the operands that repeat along the same axes, whose gradients are sums; the others are
/// written element by element, or not at all. Sums have a fixed order, which depends only on shapes.
template <class T>
void run_backward(const BroadcastProblem& p, const std::byte* dy, std::span<const int> sums,
                  const std::array<GradOut<T>, kMostOperands>& dx);

/// Makes y and computes it: the forward part of elementwise(). Operands hold T.
template <class T>
Tensor elementwise_forward(Tape& tape, const char* name, std::span<const Tensor> x, const Formula& formula, const Shape& also = {});

/// Writes the gradient of y = f(x), where x is repeated to the shape of y.
template <class T>
void backward_of_one(const Formula& formula, Tensor x, const Shape& shape, const T* dy, GradOut<T> dx);

/// y = f(x) of n elements, and dx = dy f'(x).
template <class T>
void map_forward(const Formula& formula, index n, const T* x, T* y);
template <class T>
void map_backward(const Formula& formula, index n, const T* x, const T* dy, GradOut<T> dx);

}  // namespace dikkat::detail
