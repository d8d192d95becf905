#pragma once

#include "autograd/base/index.h"

namespace dikkat::kernels {

/// Describes how windows lie along one axis of an image. Window i has `kernel` elements, `dilation` apart, starting at element i * stride -
/// padding. Elements outside of the axis are padding.
struct Window {
  index size = 1;  // elements of the axis
  index kernel = 1;
  index stride = 1;
  index padding = 0;  // on both sides
  index dilation = 1;

  /// Returns the length from the first element of a window to its last, both included.
  index extent() const { return (kernel - 1) * dilation + 1; }
  /// Returns the number of windows. The axis with its padding has room for one at least.
  index count() const { return (size + 2 * padding - extent()) / stride + 1; }
  /// Returns whether each window is one element, and each element is a window.
  bool is_plain() const { return kernel == 1 && stride == 1 && padding == 0; }
};

}  // namespace dikkat::kernels
