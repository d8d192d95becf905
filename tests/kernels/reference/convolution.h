#pragma once

#include "autograd/kernels/image/convolution.h"

namespace dikkat::kernels::reference {

/// Calls f(place in x, place in weight, place in y) for each multiply-add of a convolution, in the order of y, channels and taps.
template <class F>
void for_multiply_adds(const ConvolutionSizes& s, F&& f) {
  const Window &h = s.height, &w = s.width;
  for (index b = 0; b < s.images; ++b) {
    for (index o = 0; o < s.filters; ++o) {
      for (index r = 0; r < h.count(); ++r) {
        for (index q = 0; q < w.count(); ++q) {
          for (index c = 0; c < s.group_channels(); ++c) {
            for (index i = 0; i < h.kernel; ++i) {
              for (index j = 0; j < w.kernel; ++j) {
                const index row = r * h.stride + i * h.dilation - h.padding, column = q * w.stride + j * w.dilation - w.padding;
                const index channel = o / s.group_filters() * s.group_channels() + c;
                if (0 <= row && row < h.size && 0 <= column && column < w.size) {
                  f(((b * s.channels + channel) * h.size + row) * w.size + column,
                    ((o * s.group_channels() + c) * h.kernel + i) * w.kernel + j, ((b * s.filters + o) * h.count() + r) * w.count() + q);
                }
              }
            }
          }
        }
      }
    }
  }
}

/// The reference for kernels::convolution_forward, by plain loops.
template <class T>
void convolution_forward(const Convolution<T>& p) {
  const index pixels = p.sizes.pixels();
  for (index i = 0; i < p.sizes.images * p.sizes.filters * pixels; ++i) {
    p.y[i] = p.bias == nullptr ? T(0) : p.bias[i / pixels % p.sizes.filters];
  }
  for_multiply_adds(p.sizes, [&](index x, index weight, index y) { p.y[y] += p.x[x] * p.weight[weight]; });
}

/// The reference for kernels::convolution_backward. All gradients are added to their memory.
template <class T>
void add_convolution_backward(const Convolution<T>& p) {
  for_multiply_adds(p.sizes, [&](index x, index weight, index y) {
    p.dx.data[x] += p.dy[y] * p.weight[weight];
    p.dweight.data[weight] += p.dy[y] * p.x[x];
  });
  const index pixels = p.sizes.pixels();
  for (index i = 0; i < p.sizes.images * p.sizes.filters * pixels; ++i) {
    p.dbias.data[i / pixels % p.sizes.filters] += p.dy[i];
  }
}

}  // namespace dikkat::kernels::reference
