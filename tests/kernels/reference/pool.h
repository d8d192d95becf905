#pragma once

#include <cmath>
#include <vector>

#include "autograd/kernels/image/pool.h"

namespace dikkat::kernels::reference {

/// Calls f(place in x, place in y) for each element of each window, in the order of y.
template <class T, class F>
void for_elements(const Pool<T>& p, F&& f) {
  const Window &h = p.height, &w = p.width;
  for (index y = 0; y < p.planes * h.count() * w.count(); ++y) {
    const index plane = y / w.count() / h.count(), top = y / w.count() % h.count() * h.stride - h.padding;
    const index left = y % w.count() * w.stride - w.padding;
    for (index row = top; row < top + h.kernel; ++row) {
      for (index column = left; column < left + w.kernel; ++column) {
        if (0 <= row && row < h.size && 0 <= column && column < w.size) {
          f((plane * h.size + row) * w.size + column, y);
        }
      }
    }
  }
}

/// The reference for kernels::max_pool_forward, by plain loops.
template <class T>
void max_pool_forward(const Pool<T>& p) {
  const index image = p.height.size * p.width.size;
  for (index y = 0; y < p.planes * p.height.count() * p.width.count(); ++y) {
    p.positions[y] = -1;
  }
  for_elements(p, [&](index x, index y) {
    const T value = p.x[x];
    if (p.positions[y] < 0 || value > p.y[y] || (std::isnan(value) && !std::isnan(p.y[y]))) {
      p.y[y] = value;
      p.positions[y] = static_cast<std::int32_t>(x % image);
    }
  });
}

/// The reference for kernels::avg_pool_forward and, with `dy`, for kernels::avg_pool_backward, which adds to dx.
template <class T>
void avg_pool(const Pool<T>& p) {
  const auto windows = static_cast<std::size_t>(p.planes * p.height.count() * p.width.count());
  std::vector<T> counts(windows, static_cast<T>(p.counts_padding ? p.height.kernel * p.width.kernel : 0));
  if (!p.counts_padding) {
    for_elements(p, [&](index, index y) { counts[static_cast<std::size_t>(y)] += 1; });
  }
  for (std::size_t y = 0; y < windows && p.dy == nullptr; ++y) {
    p.y[y] = 0;
  }
  for_elements(p, [&](index x, index y) {
    const T count = counts[static_cast<std::size_t>(y)];
    p.dy == nullptr ? p.y[y] += p.x[x] / count : p.dx.data[x] += p.dy[y] / count;
  });
}

}  // namespace dikkat::kernels::reference
