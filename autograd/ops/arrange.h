#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "autograd/tape/tensor.h"

// Ops that move elements of any type and compute nothing. Axes may be negative: they are counted from the end then. All throw an Error that
// names the op if axes, ranges or shapes do not fit.
namespace dikkat {

/// x with its axes in another order: axis k of the result is axis axes[k] of x.
Tensor permute(Tensor x, std::span<const int> axes);
inline Tensor permute(Tensor x, std::initializer_list<int> axes) { return permute(x, std::span(axes.begin(), axes.size())); }
/// x with two axes exchanged, by default the last two.
Tensor transpose(Tensor x, int a = -2, int b = -1);

/// The elements of x in another shape. Nothing is copied.
Tensor reshape(Tensor x, Shape shape);
/// As above. One extent may be -1: it is what the others leave.
Tensor reshape(Tensor x, std::initializer_list<index> extents);

/// Elements begin to begin + size of an axis.
Tensor slice(Tensor x, int axis, index begin, index size);
/// Elements begin, begin + step ... before end. Negative bounds count from the end; without them, all elements up to the end are meant. A
/// negative step goes backwards.
struct Range {
  std::optional<index> begin{}, end{};
  index step = 1;
};
/// Some elements of an axis, as Python's x[begin:end:step].
Tensor slice(Tensor x, int axis, const Range& range);
/// Index i of an axis, which the result does not have.
Tensor select(Tensor x, int axis, index i);
/// The elements of x whose indices of two axes are equal. The result has their axis last, in place of the two.
Tensor diagonal(Tensor x, int a = -2, int b = -1);
/// x backwards along an axis.
Tensor flip(Tensor x, int axis);

/// x repeated along axes that it lacks, or in which its extent is 1, until it has this shape.
Tensor broadcast_to(Tensor x, const Shape& shape);
/// x with `before` and `after` elements of `value` beside it along an axis. Beside ids, it must be a number that i32 holds.
Tensor pad(Tensor x, int axis, index before, index after, double value = 0);

/// The parts one after another along an axis: 1 or more tensors that agree in all other extents.
Tensor concat(std::span<const Tensor> parts, int axis);
inline Tensor concat(std::initializer_list<Tensor> parts, int axis) { return concat(std::span(parts.begin(), parts.size()), axis); }
/// Tensors of one shape along a new axis.
Tensor stack(std::span<const Tensor> parts, int axis = 0);
inline Tensor stack(std::initializer_list<Tensor> parts, int axis = 0) { return stack(std::span(parts.begin(), parts.size()), axis); }
/// Consecutive parts of an axis, of these sizes.
std::vector<Tensor> split(Tensor x, int axis, std::span<const index> sizes);
inline std::vector<Tensor> split(Tensor x, int axis, std::initializer_list<index> sizes) {
  return split(x, axis, std::span(sizes.begin(), sizes.size()));
}
/// Consecutive parts of an axis, each of `size`; the last one may be smaller.
std::vector<Tensor> split(Tensor x, int axis, index size);

/// x with an axis of extent 1 before axis `axis`, or without the axis, whose extent must be 1.
Tensor unsqueeze(Tensor x, int axis);
Tensor squeeze(Tensor x, int axis);

}  // namespace dikkat
