#pragma once

#include "tests/gradcheck/cases/convolution.h"
#include "tests/gradcheck/edge.h"

// The edges of convolutions and pooling.
namespace dikkat::gradcheck {

template <bool is_1d>
struct ConvolutionEdges {
  static constexpr Extent kExtents[] = {{"images", 2}, {"channels", 2, 1}, {"filters", 3, 1}, {"width", 5, 2}, {"kernel", 2, 1}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) {
    const TestAxis height = is_1d ? TestAxis{1, 1} : TestAxis{3, 2};
    // Loops only for extents that are allowed.
    bool is_allowed = true;
    for (std::size_t i = 0; i < std::size(kExtents); ++i) {
      is_allowed = is_allowed && e[i] >= kExtents[i].least;
    }
    return convolution_sample("", {height, {e[3], e[4]}, e[0], e[1], e[2]}, is_1d, true, is_allowed);
  }
  static std::vector<Point> points() {
    const TestWindows windows{{1, 1}, {4, 2}, 1, 1, 1};
    const auto op = convolution_sample("", windows, is_1d, false).op;
    const auto shape = [](index width) { return is_1d ? Shape{1, 1, width} : Shape{1, 1, 1, width}; };
    return {{"an infinity", op, {{kInf, 1, 2, 3}, {1, 2}}, {kInf, 5, 8}, {0, 1, 1}, {{0, 1, 3, 2}, {kNaN, 5}}, {shape(4), shape(2)}}};
  }
};
template <>
struct EdgeCase<Op::conv1d> : ConvolutionEdges<true> {};
template <>
struct EdgeCase<Op::conv2d> : ConvolutionEdges<false> {};

template <>
struct EdgeCase<Op::unfold> {
  static constexpr Extent kExtents[] = {{"images", 2}, {"channels", 2}, {"height", 3, 2}, {"width", 4, 2}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) { return GradCase<Op::unfold>::sample("", {{e[2], 2}, {e[3], 2}, e[0], e[1], 1}, e[2] >= 2 && e[3] >= 2); }
  static std::vector<Point> points() {
    const auto op = GradCase<Op::unfold>::sample("", {{1, 1}, {3, 2}, 1, 1, 1}, false).op;
    return {{"specials", op, {{kNaN, 1, kInf}}, {kNaN, 1, 1, kInf}, {1, 2, 3, kInf}, {{1, 5, kInf}}, {{1, 1, 1, 3}}}};
  }
};

template <Op op>
struct PoolEdges {
  using Cases = PoolCases<op>;
  static constexpr Extent kExtents[] = {{"images", 2}, {"width", 5, 2}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) {
    return Cases::sample("", {Cases::kIs1d ? TestAxis{1, 1} : TestAxis{4, 2}, {e[1], 2}, e[0], 1, 1}, {e[0]}, true, e[1] >= 2);
  }
  static std::vector<Point> points() {
    const TestWindows windows{{1, 1}, {4, 2, 2}, 1, 1, 1};
    const Function pool = [windows](Tape&, std::span<const Tensor> t) { return Cases::pool(t[0], windows, true); };
    const Shape shape = Cases::kIs1d ? Shape{4} : Shape{1, 4};
    if (Cases::kIsMax) {
      return {{"ties and NaN", pool, {{1, 1, 2, kNaN}}, {1, kNaN}, {kInf, 3}, {{kInf, 0, 0, 3}}, {shape}},
              {"the lowest numbers", pool, {{-kInf, -kInf, 1, kInf}}, {-kInf, kInf}, {1, 2}, {{1, 0, 0, 2}}, {shape}}};
    }
    return {{"an infinity", pool, {{1, kInf, 2, 4}}, {kInf, 3}, {1, kInf}, {{0.5, 0.5, kInf, kInf}}, {shape}}};
  }
};
template <>
struct EdgeCase<Op::max_pool1d> : PoolEdges<Op::max_pool1d> {};
template <>
struct EdgeCase<Op::max_pool2d> : PoolEdges<Op::max_pool2d> {};
template <>
struct EdgeCase<Op::avg_pool1d> : PoolEdges<Op::avg_pool1d> {};
template <>
struct EdgeCase<Op::avg_pool2d> : PoolEdges<Op::avg_pool2d> {};

}  // namespace dikkat::gradcheck
