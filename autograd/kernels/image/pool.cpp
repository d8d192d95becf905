#include "autograd/kernels/image/pool.h"

#include <algorithm>
#include <limits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/image/frame.h"

namespace dikkat::kernels {
namespace {

using simd::IntVec;
using simd::kLanes;
using simd::Vec;

/// Returns the number of elements of a plane of y.
template <class T>
index windows(const Pool<T>& p) {
  return p.height.count() * p.width.count();
}

/// Memory for a plane's frames, and for two rows of windows.
template <class T>
struct Own {
  explicit Own(const Pool<T>& p)
      : frame(most_in_frames<T>(p.height, p.width)), taps(p.height, p.width), factors(p.width.count()), slopes(p.width.count()) {}

  Scratch<T> frame;
  FrameTaps taps;
  Scratch<T> factors, slopes;
};

/// Calls f(plane, own) for all planes, in parallel.
template <class T, class F>
void for_planes(const Pool<T>& p, F&& f) {
  const index image = p.height.size * p.width.size, taps = p.height.kernel * p.width.kernel;
  auto scratch = [&] { const Own<T> asked(p); };
  parallel_for(p.planes, Work::elements(p.planes * (image + windows(p) * taps / 4)), scratch, [&](index plane) {
    const Own<T> own(p);
    f(plane, own);
  });
}

/// Stores the first `count` lanes as i32.
template <class T>
void store_positions(std::int32_t* to, IntVec<T> positions, index count) {
  typedef std::int32_t Narrow __attribute__((vector_size(4 * kLanes<T>)));
  const Narrow narrow = __builtin_convertvector(positions, Narrow);
#if defined(__AVX512F__) && defined(__AVX512VL__)
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>((1U << std::min(count, kLanes<T>)) - 1), reinterpret_cast<__m512i>(narrow));
  } else {
    _mm256_mask_storeu_epi32(to, static_cast<__mmask8>((1U << std::min(count, kLanes<T>)) - 1), reinterpret_cast<__m256i>(narrow));
  }
#else
  std::memcpy(to, &narrow, static_cast<std::size_t>(std::min(count, kLanes<T>)) * sizeof *to);
#endif
}

/// Returns the integer in all lanes.
template <class T>
IntVec<T> all(index value) {
  return static_cast<std::remove_reference_t<decltype(IntVec<T>{}[0])>>(value) - IntVec<T>{};
}
/// Returns 0, step, 2 step and so on in the lanes.
template <class T>
IntVec<T> multiples(index step) {
  IntVec<T> v{};
  for (int lane = 0; lane < kLanes<T>; ++lane) {
    v[lane] = static_cast<std::remove_reference_t<decltype(v[0])>>(lane * step);
  }
  return v;
}

/// Computes the maxima of one row of windows.
template <class T>
void row_of_maxima(const Pool<T>& p, const Frame& frame, index row, const Own<T>& own, T* y, std::int32_t* positions) {
  const T* from = own.frame + row * frame.next_row();
  const index top = (frame.first_window + row) * p.height.stride - p.height.padding;
  const IntVec<T> steps = multiples<T>(p.width.stride);
  for (index at = 0; at < p.width.count(); at += kLanes<T>) {
    const index left = at * p.width.stride - p.width.padding;
    Vec<T> best = simd::broadcast(-std::numeric_limits<T>::infinity());
    // If all elements are -infinity, the first one is meant: it may lie right of padding.
    const IntVec<T> columns = steps + all<T>(left);
    IntVec<T> where = (columns < 0 ? all<T>(0) : columns) + all<T>(std::max<index>(top, 0) * p.width.size);
    index tap = 0;
    for (index i = 0; i < p.height.kernel; ++i) {
      for (index j = 0; j < p.width.kernel; ++j) {
        const Vec<T> value = simd::load(from + own.taps[tap++] + at);
        const IntVec<T> is_better = (value > best) | ((value != value) & (best == best));
        best = is_better ? value : best;
        where = is_better ? columns + all<T>((top + i) * p.width.size + j) : where;
      }
    }
    store_first(y + at, best, p.width.count() - at);
    if (positions != nullptr) {
      store_positions<T>(positions + at, where, p.width.count() - at);
    }
  }
}

}  // namespace

template <class T>
void max_pool_forward(const Pool<T>& p) {
  for_planes(p, [&](index plane, const Own<T>& own) {
    for_frames(p.height, p.width, [&](const Frame& frame, bool) {
      fill_frame(frame, p.x + plane * p.height.size * p.width.size, -std::numeric_limits<T>::infinity(), own.frame.data());
      own.taps.of(frame);
      for (index row = 0; row < frame.windows; ++row) {
        const index first = plane * windows(p) + (frame.first_window + row) * p.width.count();
        row_of_maxima(p, frame, row, own, p.y + first, p.positions == nullptr ? nullptr : p.positions + first);
      }
    });
  });
}

template <class T>
void max_pool_backward(const Pool<T>& p) {
  if (!p.dx) {
    return;
  }
  const index image = p.height.size * p.width.size;
  parallel_for(p.planes, Work::elements(p.planes * (image + windows(p))), [&](index plane) {
    T* dx = p.dx.data + plane * image;
    if (!p.dx.add) {
      std::fill_n(dx, image, T(0));
    }
    for (index i = plane * windows(p); i < (plane + 1) * windows(p); ++i) {
      dx[p.positions[i]] += p.dy[i];
    }
  });
}

namespace {

/// Returns the number of elements of window `i` that are not padding.
index inside(const Window& window, index i) {
  const index first = i * window.stride - window.padding;
  return std::min(first + window.kernel, window.size) - std::max<index>(first, 0);
}

/// Writes 1 / the number of elements that a mean counts, for a row of windows.
template <class T>
void write_factors(const Pool<T>& p, index row, T* factors) {
  for (index i = 0; i < p.width.count(); ++i) {
    const index count = p.counts_padding ? p.height.kernel * p.width.kernel : inside(p.height, row) * inside(p.width, i);
    factors[i] = T(1) / static_cast<T>(count);
  }
}

}  // namespace

template <class T>
void avg_pool_forward(const Pool<T>& p) {
  const index width = p.width.count();
  for_planes(p, [&](index plane, const Own<T>& own) {
    for_frames(p.height, p.width, [&](const Frame& frame, bool) {
      fill_frame(frame, p.x + plane * p.height.size * p.width.size, T(0), own.frame.data());
      own.taps.of(frame);
      for (index row = 0; row < frame.windows; ++row) {
        if (row == 0 || !p.counts_padding) {
          write_factors(p, frame.first_window + row, own.factors.data());
        }
        const T* from = own.frame + row * frame.next_row();
        T* y = p.y + plane * windows(p) + (frame.first_window + row) * width;
        for (index at = 0; at < width; at += kLanes<T>) {
          Vec<T> sum{};
          for (index tap = 0; tap < own.taps.count(); ++tap) {
            sum += simd::load(from + own.taps[tap] + at);
          }
          store_first(y + at, sum * load_first(own.factors + at, width - at), width - at);
        }
      }
    });
  });
}

template <class T>
void avg_pool_backward(const Pool<T>& p) {
  if (!p.dx) {
    return;
  }
  const index width = p.width.count(), image = p.height.size * p.width.size;
  for_planes(p, [&](index plane, const Own<T>& own) {
    const GradOut<T> dx{p.dx.data + plane * image, p.dx.add};
    index done = 0;
    for_frames(p.height, p.width, [&](const Frame& frame, bool is_last) {
      std::fill_n(own.frame.data(), frame.size() + kLanes<T>, T(0));
      own.taps.of(frame);
      for (index row = 0; row < frame.windows; ++row) {
        if (row == 0 || !p.counts_padding) {
          write_factors(p, frame.first_window + row, own.factors.data());
        }
        // Each element of a window gets its share of dy.
        const T* dy = p.dy + plane * windows(p) + (frame.first_window + row) * width;
        for (index i = 0; i < width; ++i) {
          own.slopes[i] = own.factors[i] * dy[i];
        }
        T* to = own.frame + row * frame.next_row();
        for (index tap = 0; tap < own.taps.count(); ++tap) {
          add_to_frame(own.slopes.data(), width, T(1), to + own.taps[tap]);
        }
      }
      done = empty_frame(frame, own.frame.data(), done, is_last, dx);
    });
  });
}

#define DIKKAT_POOL(T)                             \
  template void max_pool_forward(const Pool<T>&);  \
  template void max_pool_backward(const Pool<T>&); \
  template void avg_pool_forward(const Pool<T>&);  \
  template void avg_pool_backward(const Pool<T>&);
DIKKAT_POOL(float)
DIKKAT_POOL(double)
#undef DIKKAT_POOL

}  // namespace dikkat::kernels
