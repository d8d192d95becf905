#pragma once

#include "autograd/tape/tape.h"

// Constants. They need no gradient.
namespace dikkat {

/// Returns a tensor with one number everywhere. With i32, the number is an integer.
Tensor full(Tape& tape, Shape shape, double number, DType dtype = DType::f32);
Tensor zeros(Tape& tape, Shape shape, DType dtype = DType::f32);
Tensor ones(Tape& tape, Shape shape, DType dtype = DType::f32);
/// Returns 0, 1, ..., count - 1. Throws Error for a negative count, and for 2^31 or more.
///
///   Tensor i = arange(tape, 5);
///   Tensor causal = unsqueeze(i, 1) >= i;   // (5, 5): 1 where a query may see a key
Tensor arange(Tape& tape, index count, DType dtype = DType::i32);

}  // namespace dikkat
