#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "autograd/ops/convolution.h"
#include "tests/gradcheck/case.h"

// The cases of convolutions and pooling.
namespace dikkat::gradcheck {

/// How windows lie along one axis.
struct TestAxis {
  index size, kernel, stride = 1, padding = 0, dilation = 1;
  index count() const { return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
  /// The place of element i of window w; -1 in the padding.
  index place(index w, index i) const {
    const index at = w * stride + i * dilation - padding;
    return 0 <= at && at < size ? at : -1;
  }
};
struct TestWindows {
  TestAxis height, width;
  index images, channels, filters, groups = 1;
};

/// Calls f(window, tap, place) for the elements of all windows of a plane. `place` is -1 in the padding.
template <class F>
void for_windows(const TestWindows& w, F&& f) {
  for (index row = 0; row < w.height.count(); ++row) {
    for (index column = 0; column < w.width.count(); ++column) {
      for (index i = 0; i < w.height.kernel; ++i) {
        for (index j = 0; j < w.width.kernel; ++j) {
          const index y = w.height.place(row, i), x = w.width.place(column, j);
          f(row * w.width.count() + column, i * w.width.kernel + j, y < 0 || x < 0 ? -1 : y * w.width.size + x);
        }
      }
    }
  }
}

inline Oracle convolution_by_loops(const TestWindows& w) {
  return [w](std::span<const std::vector<double>> x) {
    const index windows = w.height.count() * w.width.count(), taps = w.height.kernel * w.width.kernel;
    const index image = w.height.size * w.width.size, seen = w.channels / w.groups;
    std::vector<double> y;
    for (index b = 0; b < w.images; ++b) {
      for (index o = 0; o < w.filters; ++o) {
        y.resize(y.size() + static_cast<std::size_t>(windows), x.size() > 2 ? x[2][static_cast<std::size_t>(o)] : 0);
        double* const out = y.data() + std::ssize(y) - windows;
        for (index c = 0; c < seen; ++c) {
          const index channel = b * w.channels + o / (w.filters / w.groups) * seen + c;
          for_windows(w, [&](index window, index tap, index place) {
            if (place >= 0) {
              out[window] +=
                  x[0][static_cast<std::size_t>(channel * image + place)] * x[1][static_cast<std::size_t>((o * seen + c) * taps + tap)];
            }
          });
        }
      }
    }
    return y;
  };
}

inline Sample convolution_sample(const char* name, const TestWindows& w, bool is_1d, bool bias, bool is_small = true) {
  const TestAxis &h = w.height, &v = w.width;
  Sample sample{name, {}, {}, {}, is_small ? convolution_by_loops(w) : Oracle{}};
  const auto shape = [&](index first, index second, index height, index width) {
    return is_1d ? Shape{first, second, width} : Shape{first, second, height, width};
  };
  sample.operands = {operand(shape(w.images, w.channels, h.size, v.size), 1),
                     operand(shape(w.filters, w.channels / w.groups, h.kernel, v.kernel), 2)};
  if (bias) {
    sample.operands.push_back(operand({w.filters}, 3));
  }
  sample.op = [=](Tape&, std::span<const Tensor> t) {
    const Tensor b = t.size() > 2 ? t[2] : Tensor{};
    return is_1d ? conv1d(t[0], t[1], b, {.stride = v.stride, .padding = v.padding, .dilation = v.dilation, .groups = w.groups})
                 : conv2d(t[0], t[1], b,
                          {.stride = {h.stride, v.stride},
                           .padding = {h.padding, v.padding},
                           .dilation = {h.dilation, v.dilation},
                           .groups = w.groups});
  };
  return sample;
}

template <>
struct GradCase<Op::conv2d> {
  static std::vector<Sample> samples() {
    return {convolution_sample("with bias", {{4, 3}, {5, 2}, 2, 2, 3}, false, true),
            convolution_sample("without bias", {{4, 2, 1, 1}, {4, 3, 1, 1}, 2, 1, 5}, false, false),
            convolution_sample("one of x's shape", {{3, 3, 1, 1}, {3, 3, 1, 1}, 2, 2, 2}, false, true),
            convolution_sample("windows of one element", {{3, 1}, {4, 1}, 2, 3, 5}, false, true),
            convolution_sample("strides and dilation", {{6, 2, 2, 1, 2}, {7, 3, 3, 1}, 1, 2, 2}, false, true),
            convolution_sample("gaps", {{7, 2, 4}, {5, 1, 3}, 1, 2, 5}, false, false),
            convolution_sample("groups", {{3, 2}, {4, 3, 1, 1}, 2, 4, 10, 2}, false, true),
            convolution_sample("depthwise", {{4, 3, 1, 1}, {5, 2, 2}, 2, 3, 6, 3}, false, true)};
  }
  static std::vector<Sample> ragged() {
    return {convolution_sample("digits", {{28, 3}, {28, 3}, 2, 16, 32}, false, true, false),
            convolution_sample("first layer", {{28, 3, 1, 1}, {28, 3, 1, 1}, 3, 1, 16}, false, true, false),
            convolution_sample("small images", {{5, 3, 1, 1}, {6, 3}, 33, 5, 17}, false, true, false),
            convolution_sample("windows of one element", {{9, 1}, {7, 1}, 3, 17, 19}, false, true, false),
            convolution_sample("strides", {{17, 5, 2, 2}, {19, 3, 3, 1, 2}, 2, 6, 9, 3}, false, false, false),
            convolution_sample("depthwise", {{17, 3, 1, 1}, {33, 3, 2, 1}, 2, 7, 7, 7}, false, true, false)};
  }
  static std::vector<Misfit> misfits() {
    const auto of = [](Shape x, Shape weight, const Conv2dOptions& o = {}, std::optional<Shape> bias = {}) {
      return [=](Tape& t) { conv2d(some(t, x), some(t, weight), bias ? some(t, *bias) : Tensor{}, o); };
    };
    return {{"x of rank 3", of({2, 5, 5}, {3, 2, 3, 3})},
            {"a weight of rank 3", of({1, 2, 5, 5}, {3, 2, 3})},
            {"other channels", of({1, 2, 5, 5}, {3, 1, 3, 3})},
            {"groups that do not divide the channels", of({1, 3, 5, 5}, {4, 1, 3, 3}, {.groups = 2})},
            {"groups that do not divide the filters", of({1, 4, 5, 5}, {3, 2, 3, 3}, {.groups = 2})},
            {"no groups", of({1, 2, 5, 5}, {3, 2, 3, 3}, {.groups = 0})},
            {"channels of all groups", of({1, 4, 5, 5}, {4, 4, 3, 3}, {.groups = 2})},
            {"a larger kernel", of({1, 2, 3, 5}, {3, 2, 4, 3})},
            {"a larger kernel by dilation", of({1, 2, 5, 4}, {3, 2, 3, 3}, {.dilation = 2})},
            {"stride 0", of({1, 2, 5, 5}, {3, 2, 3, 3}, {.stride = {1, 0}})},
            {"negative padding", of({1, 2, 5, 5}, {3, 2, 3, 3}, {.padding = {-1, 0}})},
            {"dilation 0", of({1, 2, 5, 5}, {3, 2, 3, 3}, {.dilation = 0})},
            {"padding that overflows", of({1, 2, 5, 5}, {3, 2, 3, 3}, {.padding = INT64_MAX})},
            {"no channels", of({1, 0, 5, 5}, {3, 0, 3, 3})},
            {"no filters", of({1, 2, 5, 5}, {0, 2, 3, 3})},
            {"an empty image", of({1, 2, 0, 5}, {3, 2, 1, 3}, {.padding = 1})},
            {"an empty kernel", of({1, 2, 5, 5}, {3, 2, 0, 3})},
            {"a bias of the channels", of({1, 2, 5, 5}, {3, 2, 3, 3}, {}, Shape{2})},
            {"a bias of rank 2", of({1, 2, 5, 5}, {3, 2, 3, 3}, {}, Shape{3, 1})}};
  }
};

template <>
struct GradCase<Op::conv1d> {
  static std::vector<Sample> samples() {
    const TestAxis one{1, 1};
    return {convolution_sample("with bias", {one, {7, 3, 1, 1}, 2, 2, 3}, true, true),
            convolution_sample("of x's shape", {one, {3, 3, 2, 1}, 2, 2, 2}, true, false),
            convolution_sample("strides, dilation and groups", {one, {9, 2, 2, 1, 3}, 2, 4, 2, 2}, true, true),
            convolution_sample("causal", {one, {5, 3, 1, 2}, 1, 2, 5}, true, false)};
  }
  static std::vector<Sample> ragged() {
    const TestAxis one{1, 1};
    return {convolution_sample("a long row", {one, {600, 5, 1, 2}, 2, 7, 19}, true, true, false),
            convolution_sample("short rows", {one, {17, 3, 2}, 40, 9, 33}, true, true, false)};
  }
  static std::vector<Misfit> misfits() {
    const auto of = [](Shape x, Shape weight, const Conv1dOptions& o = {}) {
      return [=](Tape& t) { conv1d(some(t, x), some(t, weight), {}, o); };
    };
    return {{"x of rank 2", of({2, 5}, {3, 2, 3})},
            {"a weight of rank 2", of({1, 2, 5}, {3, 2})},
            {"other channels", of({1, 2, 5}, {3, 3, 3})},
            {"a larger kernel", of({1, 2, 5}, {3, 2, 6})},
            {"stride 0", of({1, 2, 5}, {3, 2, 3}, {.stride = 0})},
            {"groups that do not divide", of({1, 3, 5}, {4, 1, 3}, {.groups = 2})}};
  }
};

template <>
struct GradCase<Op::unfold> {
  static Sample sample(const char* name, const TestWindows& w, bool is_small) {
    const TestAxis &h = w.height, &v = w.width;
    Sample made{name, {operand({w.images, w.channels, h.size, v.size}, 1)}, {}, {}, {}};
    made.op = [=](Tape&, std::span<const Tensor> t) {
      return unfold(t[0], {h.kernel, v.kernel},
                    {.stride = {h.stride, v.stride}, .padding = {h.padding, v.padding}, .dilation = {h.dilation, v.dilation}});
    };
    if (is_small) {
      made.oracle = [w](std::span<const std::vector<double>> x) {
        const auto windows = static_cast<std::size_t>(w.height.count() * w.width.count());
        const auto taps = static_cast<std::size_t>(w.height.kernel * w.width.kernel);
        std::vector<double> y(static_cast<std::size_t>(w.images * w.channels) * taps * windows);
        for (std::size_t plane = 0; plane < static_cast<std::size_t>(w.images * w.channels); ++plane) {
          for_windows(w, [&](index window, index tap, index place) {
            y[(plane * taps + static_cast<std::size_t>(tap)) * windows + static_cast<std::size_t>(window)] =
                place < 0 ? 0 : x[0][plane * static_cast<std::size_t>(w.height.size * w.width.size) + static_cast<std::size_t>(place)];
          });
        }
        return y;
      };
    }
    return made;
  }
  static std::vector<Sample> samples() {
    return {sample("all places", {{4, 3}, {5, 2, 1, 1}, 2, 2, 1}, true),
            sample("strides and dilation", {{7, 2, 2, 1, 2}, {6, 2, 3}, 1, 2, 1}, true)};
  }
  static std::vector<Sample> ragged() { return {sample("ragged", {{17, 3, 1, 1}, {33, 3, 2, 1}, 3, 5, 1}, false)}; }
  static std::vector<Misfit> misfits() {
    return {{"of rank 3", [](Tape& t) { unfold(some(t, {2, 5, 5}), 3); }},
            {"a larger kernel", [](Tape& t) { unfold(some(t, {1, 2, 5, 5}), {3, 6}); }},
            {"stride 0", [](Tape& t) { unfold(some(t, {1, 2, 5, 5}), 3, {.stride = 0}); }}};
  }
};

/// The cases of one kind of pooling.
template <Op op>
struct PoolCases {
  static constexpr bool kIsMax = op == Op::max_pool1d || op == Op::max_pool2d, kIs1d = op == Op::max_pool1d || op == Op::avg_pool1d;

  static Tensor pool(Tensor x, const TestWindows& w, bool counts_padding) {
    const TestAxis &h = w.height, &v = w.width;
    if constexpr (kIs1d) {
      const Pool1dOptions o{.stride = v.stride, .padding = v.padding, .counts_padding = counts_padding};
      return kIsMax ? max_pool1d(x, v.kernel, o) : avg_pool1d(x, v.kernel, o);
    } else {
      const Pool2dOptions o{.stride = {h.stride, v.stride}, .padding = {h.padding, v.padding}, .counts_padding = counts_padding};
      return kIsMax ? max_pool2d(x, {h.kernel, v.kernel}, o) : avg_pool2d(x, {h.kernel, v.kernel}, o);
    }
  }
  static Oracle by_loops(const TestWindows& w, bool counts_padding) {
    return [=](std::span<const std::vector<double>> x) {
      const index windows = w.height.count() * w.width.count(), image = w.height.size * w.width.size;
      std::vector<double> y;
      for (index plane = 0; plane < w.images; ++plane) {
        std::vector<double> sums(static_cast<std::size_t>(windows), kIsMax ? -std::numeric_limits<double>::infinity() : 0.0),
            counts(sums.size());
        for_windows(w, [&](index window, index, index place) {
          double& sum = sums[static_cast<std::size_t>(window)];
          const double value = place < 0 ? 0 : x[0][static_cast<std::size_t>(plane * image + place)];
          sum = kIsMax ? (place < 0 ? sum : std::max(sum, value)) : sum + value;
          counts[static_cast<std::size_t>(window)] += counts_padding || place >= 0 ? 1 : 0;
        });
        for (std::size_t i = 0; i < sums.size(); ++i) {
          y.push_back(kIsMax ? sums[i] : sums[i] / counts[i]);
        }
      }
      return y;
    };
  }
  static Sample sample(const char* name, const TestWindows& w, Shape leading, bool counts_padding, bool is_small) {
    std::vector<index> extents(leading.extents().begin(), leading.extents().end());
    if (!kIs1d) {
      extents.push_back(w.height.size);
    }
    extents.push_back(w.width.size);
    return {name,
            {operand(Shape(extents), 1)},
            [=](Tape&, std::span<const Tensor> t) { return pool(t[0], w, counts_padding); },
            {},
            is_small ? by_loops(w, counts_padding) : Oracle{}};
  }
  static std::vector<Sample> samples() {
    const auto rows = [](TestAxis axis) { return kIs1d ? TestAxis{1, 1} : axis; };
    return {sample("halves", {rows({4, 2, 2}), {6, 2, 2}, 6, 1, 1}, {3, 2}, true, true),
            sample("that overlap", {rows({5, 3, 2, 1}), {7, 3, 2, 1}, 2, 1, 1}, {2}, true, true),
            sample("without padding's zeros", {rows({5, 3, 2, 1}), {7, 2, 1, 1}, 1, 1, 1}, {}, false, true)};
  }
  static std::vector<Sample> ragged() {
    const auto rows = [](TestAxis axis) { return kIs1d ? TestAxis{1, 1} : axis; };
    return {sample("digits", {rows({28, 2, 2}), {28, 2, 2}, 1, 1, 1}, {3, 16}, true, false),
            sample("odd ones", {rows({17, 3, 2, 1}), {65, 5, 3, 2}, 1, 1, 1}, {5}, false, false)};
  }
  static std::vector<Misfit> misfits() {
    const auto of = [](Shape shape, index kernel, index stride, index padding) {
      return [=](Tape& t) {
        const TestAxis axis{0, kernel, stride, padding};
        pool(some(t, shape), {axis, axis, 1, 1, 1}, true);
      };
    };
    return {{"of too low a rank", of(kIs1d ? Shape{} : Shape{4}, 2, 2, 0)},
            {"larger windows", of({4, 4}, 5, 1, 0)},
            {"empty windows", of({4, 4}, 0, 1, 0)},
            {"a negative stride", of({4, 4}, 2, -1, 0)},
            {"padding of a whole window", of({4, 4}, 3, 3, 2)},
            {"negative padding", of({4, 4}, 3, 3, -1)}};
  }
};
template <>
struct GradCase<Op::max_pool1d> : PoolCases<Op::max_pool1d> {};
template <>
struct GradCase<Op::max_pool2d> : PoolCases<Op::max_pool2d> {};
template <>
struct GradCase<Op::avg_pool1d> : PoolCases<Op::avg_pool1d> {};
template <>
struct GradCase<Op::avg_pool2d> : PoolCases<Op::avg_pool2d> {};

}  // namespace dikkat::gradcheck
