#include "autograd/kernels/image/depthwise.h"

#include <algorithm>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/image/frame.h"

// Each output is a sum over the taps of one channel. Rows are read from a frame, in which all taps of adjacent pixels are adjacent.
namespace dikkat::kernels {
namespace {

using simd::kLanes;
using simd::Vec;

/// Memory for the frames of a channel.
template <class T>
struct OwnFrame : Scratch<T> {
  explicit OwnFrame(const ConvolutionSizes& s) : Scratch<T>(most_in_frames<T>(s.height, s.width)) {}
};

/// Calls f(tile) for `count` tiles in parallel, each of which leases a frame, taps, and at most a vector for each of them.
template <class T, class F>
void for_tiles(const ConvolutionSizes& s, index count, F&& f) {
  auto scratch = [&] {
    const OwnFrame<T> asked(s);
    const FrameTaps taps(s.height, s.width);
    const Scratch<T> sums(s.group_filters() * s.taps() * kLanes<T>);
  };
  constexpr double kAsSlow = 4;  // a tap is read from the first cache for each multiply-add
  parallel_for(count, Work{kAsSlow * s.multiply_adds()}, scratch, f);
}

}  // namespace

template <class T>
void depthwise_forward(const Convolution<T>& p) {
  const ConvolutionSizes& s = p.sizes;
  const index filters = s.group_filters(), width = s.width.count();
  for_tiles<T>(s, s.images * s.channels, [&](index plane) {
    const OwnFrame<T> in_frame(s);
    const FrameTaps taps(s.height, s.width);
    const index image = plane / s.channels, channel = plane % s.channels;
    for_frames(s.height, s.width, [&](const Frame& frame, bool) {
      fill_frame(frame, p.x + plane * s.image(), T(0), in_frame.data());
      taps.of(frame);
      for (index filter = channel * filters; filter < (channel + 1) * filters; ++filter) {
        const T* weight = p.weight + filter * s.taps();
        const Vec<T> bias = simd::broadcast(p.bias == nullptr ? T(0) : p.bias[filter]);
        T* y = p.y + (image * s.filters + filter) * s.pixels() + frame.first_window * width;
        for (index row = 0; row < frame.windows; ++row, y += width) {
          const T* from = in_frame + row * frame.next_row();
          for (index at = 0; at < width; at += kLanes<T>) {
            Vec<T> sum = bias;
            for (index tap = 0; tap < taps.count(); ++tap) {
              sum += weight[tap] * simd::load(from + taps[tap] + at);
            }
            store_first(y + at, sum, width - at);
          }
        }
      }
    });
  });
}

template <class T>
void depthwise_input_gradient(const Convolution<T>& p) {
  const ConvolutionSizes& s = p.sizes;
  const index filters = s.group_filters(), width = s.width.count();
  for_tiles<T>(s, s.images * s.channels, [&](index plane) {
    const OwnFrame<T> in_frame(s);
    const FrameTaps taps(s.height, s.width);
    const index image = plane / s.channels, channel = plane % s.channels;
    const GradOut<T> dx{p.dx.data + plane * s.image(), p.dx.add};
    index done = 0;
    for_frames(s.height, s.width, [&](const Frame& frame, bool is_last) {
      std::fill_n(in_frame.data(), frame.size() + kLanes<T>, T(0));
      taps.of(frame);
      for (index filter = channel * filters; filter < (channel + 1) * filters; ++filter) {
        const T* weight = p.weight + filter * s.taps();
        const T* dy = p.dy + (image * s.filters + filter) * s.pixels() + frame.first_window * width;
        for (index row = 0; row < frame.windows; ++row) {
          for (index tap = 0; tap < taps.count(); ++tap) {
            add_to_frame(dy + row * width, width, weight[tap], in_frame + row * frame.next_row() + taps[tap]);
          }
        }
      }
      done = empty_frame(frame, in_frame.data(), done, is_last, dx);
    });
  });
}

namespace {

constexpr index kTapsAtOnce = 8;  // taps whose sums stay in registers

/// Adds to `sums`, a vector for each of kTaps taps, the products of rows of dy with the rows of the frame that the taps read.
template <class T, int kTaps>
void add_taps(const Frame& frame, const FrameTaps& taps, index first, const T* in_frame, const T* dy, T* sums) {
  const index width = frame.width.count();
  const T* from[kTaps];
  Vec<T> own[kTaps];
  for (int tap = 0; tap < kTaps; ++tap) {
    from[tap] = in_frame + taps[first + tap];
    own[tap] = simd::load(sums + (first + tap) * kLanes<T>);
  }
  for (index row = 0; row < frame.windows; ++row) {
    const index below = row * frame.next_row();
    for (index at = 0; at < width; at += kLanes<T>) {
      const Vec<T> slopes = load_first(dy + row * width + at, width - at);
#pragma GCC unroll 8
      for (int tap = 0; tap < kTaps; ++tap) {
        own[tap] += slopes * load_first(from[tap] + below + at, width - at);
      }
    }
  }
  for (int tap = 0; tap < kTaps; ++tap) {
    simd::store(sums + (first + tap) * kLanes<T>, own[tap]);
  }
}

/// Does what add_taps() does, but for all taps, starting at `first`.
template <class T>
void add_all_taps(const Frame& frame, const FrameTaps& taps, const T* in_frame, const T* dy, T* sums) {
  index tap = 0;
  for (; tap + kTapsAtOnce <= taps.count(); tap += kTapsAtOnce) {
    add_taps<T, kTapsAtOnce>(frame, taps, tap, in_frame, dy, sums);
  }
  for (; tap < taps.count(); ++tap) {
    add_taps<T, 1>(frame, taps, tap, in_frame, dy, sums);
  }
}

}  // namespace

template <class T>
void depthwise_weight_gradient(const Convolution<T>& p) {
  const ConvolutionSizes& s = p.sizes;
  const index filters = s.group_filters(), width = s.width.count();
  for_tiles<T>(s, s.channels, [&](index channel) {
    const OwnFrame<T> in_frame(s);
    const FrameTaps taps(s.height, s.width);
    // Each tap's products are summed over all images, a vector at a time.
    const Scratch<T> sums(filters * s.taps() * kLanes<T>);
    std::fill_n(sums.data(), filters * s.taps() * kLanes<T>, T(0));
    for (index image = 0; image < s.images; ++image) {
      for_frames(s.height, s.width, [&](const Frame& frame, bool) {
        fill_frame(frame, p.x + (image * s.channels + channel) * s.image(), T(0), in_frame.data());
        taps.of(frame);
        for (index filter = 0; filter < filters; ++filter) {
          const T* dy = p.dy + (image * s.filters + channel * filters + filter) * s.pixels() + frame.first_window * width;
          add_all_taps<T>(frame, taps, in_frame.data(), dy, sums + filter * s.taps() * kLanes<T>);
        }
      });
    }
    for (index tap = 0; tap < filters * s.taps(); ++tap) {
      p.dweight.put(channel * filters * s.taps() + tap, simd::sum<T>(simd::load(sums + tap * kLanes<T>)));
    }
  });
}

#define DIKKAT_DEPTHWISE(T)                                      \
  template void depthwise_forward(const Convolution<T>&);        \
  template void depthwise_input_gradient(const Convolution<T>&); \
  template void depthwise_weight_gradient(const Convolution<T>&);
DIKKAT_DEPTHWISE(float)
DIKKAT_DEPTHWISE(double)
#undef DIKKAT_DEPTHWISE

}  // namespace dikkat::kernels
