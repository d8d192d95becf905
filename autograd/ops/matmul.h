#pragma once

#include <string_view>

#include "autograd/tape/tensor.h"

// Products of tensors of f32, f64 or bf16, which are summed in f32.
namespace dikkat {

/// Multiplies a (..., m, k) by b (..., k, n), or by b (..., n, k) transposed. Returns (..., m, n).
///
/// Leading axes are broadcast as in NumPy: they are aligned at the last one, and an extent of 1 or a missing axis repeats. As in NumPy, a
/// of rank 1 is one row, and b of rank 1 is one column; the result does not have that axis. The gradient of an operand that repeats is a
/// sum in a fixed order. Throws Error if a or b is a scalar, if the inner extents differ, or if leading axes do not fit.
Tensor matmul(Tensor a, Tensor b, bool transpose_b = false);

/// Returns the sum of products that a formula describes, as NumPy's einsum does: "bij,bjk->bik" names the axes of a, of b and of the result
/// by letters. The result is the sum over all letters that it does not name.
///
///   Tensor scores = einsum("bthd,bshd->bhts", queries, keys);
///   Tensor trace = einsum("ii", x);
///
/// A letter that an operand has twice means its diagonal. "..." stands for the axes that no letter names, aligned at the last one. Without
/// "->" the result has the axes of "...", then the letters that occur once, in the order of the alphabet. Spaces do not matter. Extents of
/// a letter must be equal: 1 does not repeat.
///
/// A letter of one operand only is summed first. The rest is a batch of matrix products, for which an operand is permuted only if its
/// axes have an order that the products cannot read. Throws Error, which names the letter and its extents, if the formula and the shapes
/// do not fit.
Tensor einsum(std::string_view formula, Tensor a, Tensor b);
/// Does what einsum() does, but for one operand: sums, diagonals and permutations.
Tensor einsum(std::string_view formula, Tensor x);

}  // namespace dikkat
