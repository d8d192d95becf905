#pragma once

#include <algorithm>

#include "autograd/base/grad_out.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/attention/window.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {

// Loads and stores of the first `count` lanes, 1 or more, in one instruction where the processor has it.

template <class T>
inline simd::Vec<T> load_first(const T* from, index count) {
  if (count >= simd::kLanes<T>) {
    return simd::load(from);
  }
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), from);
  } else {
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1U << count) - 1), from);
  }
#else
  return simd::load(from, simd::Part{count});
#endif
}
template <class T>
inline void store_first(T* to, simd::Vec<T> v, index count) {
  if (count >= simd::kLanes<T>) {
    simd::store(to, v);
    return;
  }
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1U << count) - 1), v);
  } else {
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1U << count) - 1), v);
  }
#else
  simd::store(to, v, simd::Part{count});
#endif
}

/// Some rows of a plane as windows read them, with their padding. A row has its columns sorted by their remainder modulo the stride: the
/// same element of adjacent windows is adjacent. So loads of whole vectors may read past the end of a row; the memory of frames needs
/// simd::kLanes further elements.
struct Frame {
  Window height, width;
  index first_window, windows;  // rows of windows
  index rows, phases, length;   // sizes of the frame: `length` columns for each remainder that occurs

  /// Makes the frame of rows `begin` to `end` of windows.
  Frame(const Window& height_, const Window& width_, index begin, index end)
      : height(height_),
        width(width_),
        first_window(begin),
        windows(end - begin),
        rows((windows - 1) * height_.stride + height_.extent()),
        phases(std::min(width_.stride, width_.extent())),
        length(width_.count() + (width_.extent() - 1) / width_.stride) {}

  index row() const { return phases * length; }
  index size() const { return rows * row(); }
  /// Returns the row of the plane that is row 0 here. It may lie in the padding.
  index first_row() const { return first_window * height.stride - height.padding; }
  /// Returns the row of the plane at which this frame ends.
  index end_row() const { return std::clamp<index>(first_row() + rows, 0, height.size); }
  /// Returns where the first window has element (i, j).
  index at(index i, index j) const {
    const index column = j * width.dilation;
    return i * height.dilation * row() + column % width.stride * length + column / width.stride;
  }
  /// Returns the distance from a window to the one below it.
  index next_row() const { return height.stride * row(); }

  /// The elements of a phase that lie in the plane.
  struct Inside {
    index begin, end;  // range within `length`
    index column;      // column of the plane at `begin`
  };
  Inside inside(index phase) const {
    const index before = width.padding - phase;  // padding that the phase would have, at every element
    const index begin = std::clamp<index>(before <= 0 ? 0 : ceil_div(before, width.stride), 0, length);
    const index last = width.size + before;
    const index end = std::clamp<index>(last <= 0 ? 0 : ceil_div(last, width.stride), begin, length);
    return {begin, end, begin * width.stride - before};
  }
};

/// Calls f(frame, is_last) for frames that cover all windows, one after another. Each has about that many elements, or one row of windows.
template <class F>
inline void for_frames(const Window& height, const Window& width, F&& f) {
  constexpr index kElements = 1 << 14;
  const index row = Frame(height, width, 0, 1).row() * height.stride;
  const index at_once = std::max<index>(1, kElements / row), count = height.count();
  for (index begin = 0; begin < count; begin += at_once) {
    const index end = std::min(begin + at_once, count);
    f(Frame(height, width, begin, end), end == count);
  }
}
/// Returns the elements of memory that the largest of these frames needs.
template <class T>
inline index most_in_frames(const Window& height, const Window& width) {
  index most = 0;
  for_frames(height, width, [&](const Frame& frame, bool) { most = std::max(most, frame.size() + simd::kLanes<T>); });
  return most;
}

/// Holds where the first window of a frame has each of its elements, row by row.
class FrameTaps {
 public:
  FrameTaps(const Window& height, const Window& width) : count_(height.kernel * width.kernel), at_(count_) {}

  void of(const Frame& frame) const {
    index tap = 0;
    for (index i = 0; i < frame.height.kernel; ++i) {
      for (index j = 0; j < frame.width.kernel; ++j) {
        at_[tap++] = frame.at(i, j);
      }
    }
  }
  index count() const { return count_; }
  index operator[](index tap) const { return at_[tap]; }

 private:
  index count_;
  Scratch<index> at_;
};

namespace detail {

/// Copies every second element, `count` of them. It writes whole vectors.
template <class T, int... lane>
inline void copy_every_second(const T* from, index count, T* to, std::integer_sequence<int, lane...>) {
  constexpr index kLanes = simd::kLanes<T>;
  for (index at = 0; at < count; at += kLanes) {
    const index rest = 2 * (count - at) - 1;
    const simd::Vec<T> low = load_first(from + 2 * at, rest);
    const simd::Vec<T> high = rest > kLanes ? load_first(from + 2 * at + kLanes, rest - kLanes) : simd::Vec<T>{};
    simd::store(to + at, __builtin_shufflevector(low, high, (2 * lane)...));
  }
}

}  // namespace detail

/// Copies a plane's rows into a frame; `fill` stands for padding. It writes up to simd::kLanes elements past the frame.
template <class T>
inline void fill_frame(const Frame& f, const T* plane, T fill, T* to) {
  constexpr index kLanes = simd::kLanes<T>;
  for (index row = 0; row < f.rows; ++row) {
    const index from_row = f.first_row() + row;
    T* out = to + row * f.row();
    if (from_row < 0 || from_row >= f.height.size) {
      std::fill_n(out, f.row(), fill);
      continue;
    }
    for (index phase = 0; phase < f.phases; ++phase, out += f.length) {
      const Frame::Inside in = f.inside(phase);
      const T* from = plane + from_row * f.width.size + in.column;
      const index count = in.end - in.begin;
      std::fill_n(out, in.begin, fill);
      if (f.width.stride == 1) {
        for (index at = 0; at < count; at += kLanes) {
          simd::store(out + in.begin + at, load_first(from + at, count - at));
        }
      } else if (f.width.stride == 2) {
        detail::copy_every_second(from, count, out + in.begin, std::make_integer_sequence<int, static_cast<int>(kLanes)>{});
      } else {
        for (index at = 0; at < count; ++at) {
          out[in.begin + at] = from[at * f.width.stride];
        }
      }
      std::fill_n(out + in.end, f.length - in.end, fill);
    }
  }
}

/// Adds factor * `from` (count) to a part of a frame.
template <class T>
inline void add_to_frame(const T* from, index count, T factor, T* to) {
  for (index at = 0; at < count; at += simd::kLanes<T>) {
    simd::store(to + at, simd::load(to + at) + factor * load_first(from + at, count - at));
  }
}

/// Does the reverse of fill_frame(), for sums. Rows of the plane before `done` are added to, the others are overwritten. Those between
/// `done` and the frame become zero, and those after it if `is_last`. With plane.add, all are added to. Returns the rows that are done
/// then.
template <class T>
inline index empty_frame(const Frame& f, const T* from, index done, bool is_last, GradOut<T> plane) {
  constexpr index kLanes = simd::kLanes<T>;
  const index width = f.width.size;
  const index begin = std::clamp<index>(f.first_row(), 0, f.height.size), end = std::max(f.end_row(), begin);
  // Clear the rows between those that are done and the frame.
  if (!plane.add && done < begin) {
    std::fill_n(plane.data + done * width, (begin - done) * width, T(0));
  }
  // Add the frame to rows that are done, and overwrite the others.
  for (index row = begin; row < end; ++row) {
    const T* in_frame = from + (row - f.first_row()) * f.row();
    T* to = plane.data + row * width;
    const bool adds = plane.add || row < done;
    // With a stride of 1, adjacent elements of the frame are adjacent in the plane.
    if (f.width.stride == 1) {
      const Frame::Inside in = f.inside(0);
      const index count = in.end - in.begin;
      for (index at = 0; at < count; at += kLanes) {
        simd::Vec<T> sums = load_first(in_frame + in.begin + at, count - at);
        sums = adds ? sums + load_first(to + in.column + at, count - at) : sums;
        store_first(to + in.column + at, sums, count - at);
      }
      if (!adds) {
        std::fill_n(to, in.column, T(0));
        std::fill_n(to + in.column + count, width - in.column - count, T(0));
      }
      continue;
    }
    // With another stride, each phase has every stride-th column.
    if (!adds) {
      std::fill_n(to, width, T(0));
    }
    for (index phase = 0; phase < f.phases; ++phase) {
      const Frame::Inside in = f.inside(phase);
      for (index at = in.begin; at < in.end; ++at) {
        to[in.column + (at - in.begin) * f.width.stride] += in_frame[phase * f.length + at];
      }
    }
  }
  // Clear the rows after the last frame.
  done = std::max(done, end);
  if (!plane.add && is_last) {
    std::fill_n(plane.data + done * width, (f.height.size - done) * width, T(0));
  }
  return done;
}

}  // namespace dikkat::kernels
