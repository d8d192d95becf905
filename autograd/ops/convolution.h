#pragma once

#include "autograd/tape/tensor.h"

// Convolutions and pooling of images of f32 or f64; also of bf16, which is computed in f32 and rounded once, with weights and biases of
// bf16 or f32. All throw an Error that names the op and what does not fit: shapes, options, or a
// window that is larger than the image with its padding.
namespace dikkat {

/// One number for the height and one for the width; `2` means 2 for both.
struct HeightWidth {
  HeightWidth(index both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor): 2 for {2, 2}
  HeightWidth(index height_, index width_) : height(height_), width(width_) {}

  index height, width;
};

/// Windows begin `stride` elements apart, starting at -padding; the image has zeros around it. A window's elements are `dilation` apart.
struct Conv1dOptions {
  index stride = 1, padding = 0, dilation = 1;
  /// Channels and filters are divided into as many groups: filters of a group see its channels. 1 group: all filters see all channels.
  index groups = 1;
};
struct Conv2dOptions {
  HeightWidth stride = 1, padding = 0, dilation = 1;
  index groups = 1;
};

/// Convolves x (batch, channels, length) with weight (filters, channels / groups, kernel), and adds bias (filters), which may be absent.
/// Returns (batch, filters, windows):
///
///   y[b, o, t] = bias[o] + sum over c, i of weight[o, c, i] x[b, c, t stride + i dilation - padding]
///
/// where windows = floor((length + 2 padding - dilation (kernel - 1) - 1) / stride) + 1, as torch.nn.functional.conv1d does.
Tensor conv1d(Tensor x, Tensor weight, Tensor bias = {}, const Conv1dOptions& options = {});
/// Convolves x (batch, channels, height, width) with weight (filters, channels / groups, kernel height, kernel width), and adds bias
/// (filters), which may be absent. Returns (batch, filters, rows of windows, columns of windows), as torch.nn.functional.conv2d does.
Tensor conv2d(Tensor x, Tensor weight, Tensor bias = {}, const Conv2dOptions& options = {});

struct UnfoldOptions {
  HeightWidth stride = 1, padding = 0, dilation = 1;
};
/// Returns the windows of x (batch, channels, height, width) as columns: (batch, channels * kernel height * kernel width, windows), as
/// torch.nn.functional.unfold does.
Tensor unfold(Tensor x, HeightWidth kernel, const UnfoldOptions& options = {});

struct Pool1dOptions {
  index stride = 0;   // 0: the kernel
  index padding = 0;  // at most half of the kernel
  /// For means: padding counts as zeros; otherwise a mean is that of the elements.
  bool counts_padding = true;
};
struct Pool2dOptions {
  HeightWidth stride = 0;   // 0: the kernel
  HeightWidth padding = 0;  // at most half of the kernel
  bool counts_padding = true;
};

/// Returns the largest element of each window of x (..., height, width), of rank 2 or more: (..., rows of windows, columns of windows). The
/// gradient goes to the first largest element, in row-major order. NaN counts as largest, and padding does not count.
Tensor max_pool2d(Tensor x, HeightWidth kernel, const Pool2dOptions& options = {});
/// Returns the mean of each window of x (..., height, width).
Tensor avg_pool2d(Tensor x, HeightWidth kernel, const Pool2dOptions& options = {});
/// Returns the largest element, or the mean, of each window of x (..., length), of rank 1 or more.
Tensor max_pool1d(Tensor x, index kernel, const Pool1dOptions& options = {});
Tensor avg_pool1d(Tensor x, index kernel, const Pool1dOptions& options = {});

}  // namespace dikkat
