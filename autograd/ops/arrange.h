#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "autograd/tape/tensor.h"

// Ops that move elements of any type and compute nothing. Axes may be negative: they are counted from the end then. All throw an Error that
// names the op if axes, ranges or shapes do not fit.
namespace dikkat {

/// Returns x with its axes in another order: axis k of the result is axis axes[k] of x.
Tensor permute(Tensor x, std::span<const int> axes);
inline Tensor permute(Tensor x, std::initializer_list<int> axes) { return permute(x, std::span(axes.begin(), axes.size())); }
/// Returns x with two axes exchanged, by default the last two.
Tensor transpose(Tensor x, int a = -2, int b = -1);

/// Returns the elements of x in another shape. Nothing is copied.
Tensor reshape(Tensor x, Shape shape);
/// Does the same. One extent may be -1: it follows from the others.
Tensor reshape(Tensor x, std::initializer_list<index> extents);

/// Returns `size` elements of an axis, starting at `begin`.
Tensor slice(Tensor x, int axis, index begin, index size);
/// Elements begin, begin + step ... before end. Negative bounds count from the end; without them, all elements up to the end are meant. A
/// negative step goes backwards.
struct Range {
  std::optional<index> begin{}, end{};
  index step = 1;
};
/// Returns some elements of an axis, as Python's x[begin:end:step] does.
Tensor slice(Tensor x, int axis, const Range& range);
/// Returns index i of an axis, which the result does not have.
Tensor select(Tensor x, int axis, index i);
/// Returns the elements of x whose indices of two axes are equal. The result has their axis last, in place of the two.
Tensor diagonal(Tensor x, int a = -2, int b = -1);
/// Returns x backwards along an axis.
Tensor flip(Tensor x, int axis);

/// Returns x repeated along axes that it lacks, or in which its extent is 1, until it has this shape.
Tensor broadcast_to(Tensor x, const Shape& shape);
/// Returns x with `before` elements of `value` before it along an axis, and `after` elements after it. For ids, the value must be a number
/// that i32 holds.
Tensor pad(Tensor x, int axis, index before, index after, double value = 0);

/// Returns the parts one after another along an axis: 1 or more tensors that agree in all other extents.
Tensor concat(std::span<const Tensor> parts, int axis);
inline Tensor concat(std::initializer_list<Tensor> parts, int axis) { return concat(std::span(parts.begin(), parts.size()), axis); }
/// Returns tensors of one shape along a new axis.
Tensor stack(std::span<const Tensor> parts, int axis = 0);
inline Tensor stack(std::initializer_list<Tensor> parts, int axis = 0) { return stack(std::span(parts.begin(), parts.size()), axis); }
/// Returns consecutive parts of an axis, of these sizes.
std::vector<Tensor> split(Tensor x, int axis, std::span<const index> sizes);
inline std::vector<Tensor> split(Tensor x, int axis, std::initializer_list<index> sizes) {
  return split(x, axis, std::span(sizes.begin(), sizes.size()));
}
/// Returns consecutive parts of an axis, each of `size`; the last one may be smaller.
std::vector<Tensor> split(Tensor x, int axis, index size);

/// Returns x with an axis of extent 1 before axis `axis`, or without the axis, whose extent must be 1.
Tensor unsqueeze(Tensor x, int axis);
Tensor squeeze(Tensor x, int axis);

}  // namespace dikkat
