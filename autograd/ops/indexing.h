#pragma once

#include "autograd/tape/tensor.h"

// Ops that choose elements by their indices, and sorting. Elements are f32, f64, bf16 or i32, except that scatter_add does not add to
// i32. Ids are i32 and count from 0. Axes may be negative: they are counted from the end then. All throw an Error that names the op if
// axes, shapes or types do not fit, and for an id that is not one of the axis. Sums have a fixed order.
namespace dikkat {

/// Returns y[.., j, ..] = x[.., ids[.., j, ..], ..], where j stands on the axis. ids have x's rank, and y has their shape. Their extents on
/// other axes are at most x's. (PyTorch's gather.)
Tensor gather(Tensor x, int axis, Tensor ids);

/// Returns x plus source[.., j, ..] at x[.., ids[.., j, ..], ..]. ids are as in gather(), and `source` has their shape. Elements of x that
/// are chosen several times get the sum of all their sources, in the order of j.
Tensor scatter_add(Tensor x, int axis, Tensor ids, Tensor source);

/// Returns the parts of x along the axis that ids [n] choose, one after another: an axis of extent n in place of x's. The gradient of a
/// part that is chosen several times is summed in the order of ids.
Tensor index_select(Tensor x, int axis, Tensor ids);

/// Returns 1 where the index on the last axis is the id, and 0 elsewhere: ids (...) to (..., classes). It has no gradient.
Tensor one_hot(Tensor ids, index classes, DType dtype = DType::f32);

/// Elements in order, and their indices along the axis, i32. The values have gradients, unless they are i32.
struct Sorted {
  Tensor values, indices;
};
/// Returns x sorted along an axis. Equal elements stay in their order, and NaNs are last, in both directions. -0 equals 0.
Sorted sort(Tensor x, int axis = -1, bool descending = false);
/// Returns the indices of sort(), i32.
Tensor argsort(Tensor x, int axis = -1, bool descending = false);
/// Returns the k largest, or smallest, elements along an axis, sorted: the first k of sort() with descending = largest.
Sorted topk(Tensor x, index k, int axis = -1, bool largest = true);

}  // namespace dikkat
