#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/kernels/attention/window.h"

namespace dikkat::kernels {

/// The sizes of a convolution of images (images, channels, height, width). Channels and filters are divided into `groups` groups; a filter
/// sees the channels of its group.
struct ConvolutionSizes {
  index images = 0, channels = 1, filters = 1, groups = 1;
  Window height, width;

  index group_channels() const { return channels / groups; }
  index group_filters() const { return filters / groups; }
  index image() const { return height.size * width.size; }
  /// Returns the number of pixels of the result for each image and filter.
  index pixels() const { return height.count() * width.count(); }
  /// Returns the number of elements of a window in one channel.
  index taps() const { return height.kernel * width.kernel; }
  /// Returns how many numbers a filter has.
  index depth() const { return group_channels() * taps(); }
  /// Returns the multiply-adds of the result.
  double multiply_adds() const {
    return static_cast<double>(images) * static_cast<double>(filters) * static_cast<double>(pixels()) * static_cast<double>(depth());
  }
};

/// y[b, o, r, q] = bias[o] + sum over c, i, j of weight[o, c, i, j] * x[b, channel c of o's group, window (r, q) at (i, j)].
template <class T>
struct Convolution {
  ConvolutionSizes sizes;
  const T* x = nullptr;       // (images, channels, height, width)
  const T* weight = nullptr;  // (filters, group_channels(), kernel height, kernel width)
  const T* bias = nullptr;    // (filters) or null; forward only
  T* y = nullptr;             // (images, filters, rows and columns of windows), forward only
  const T* dy = nullptr;      // as y, backward only
  GradOut<T> dx{}, dweight{}, dbias{};
};
/// Needs little memory in addition to the operands, whatever the size of the images. It is, for each thread, some columns of unfolded
/// windows, of 256 KiB or of 48 windows, and their products.
template <class T>
void convolution_forward(const Convolution<T>& p);
/// Let f = <dy, y>. Writes df/dx, df/dweight and df/dbias; a null output is skipped. Sums have a fixed order.
template <class T>
void convolution_backward(const Convolution<T>& p);

/// The windows of images as columns: (images, channels * taps, pixels). The filters and groups of `sizes` do not matter.
template <class T>
struct Unfold {
  ConvolutionSizes sizes;
  const T* x = nullptr;   // (images, channels, height, width), forward only
  T* y = nullptr;         // forward only
  const T* dy = nullptr;  // backward only
  GradOut<T> dx{};        // backward only
};
template <class T>
void unfold_forward(const Unfold<T>& p);
/// Let f = <dy, y>. Writes df/dx: each element is the sum of the windows' elements that show it, also called fold.
template <class T>
void unfold_backward(const Unfold<T>& p);

}  // namespace dikkat::kernels
