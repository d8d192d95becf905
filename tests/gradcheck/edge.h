#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tests/gradcheck/case.h"

namespace dikkat::gradcheck {

/// An extent that an op's shapes are made of.
struct Extent {
  const char* name;
  index usual = 3;
  index least = 0;  // the op throws Error for less
};
/// The values of all extents.
using Extents = std::span<const index>;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A call whose numbers are at an edge of the op, and what is expected by PyTorch's rules (https://github.com/pytorch/pytorch,
/// tools/autograd/derivatives.yaml). docs/OPS.md lists where the rules differ.
struct Point {
  std::string name;
  Function op;
  std::vector<std::vector<double>> operands;  // vectors, unless there are shapes
  std::vector<double> y;
  std::vector<double> dy;
  std::vector<std::vector<double>> gradients;  // by operand
  std::vector<Shape> shapes{};
};

/// Every op has a specialization, or the checks do not compile:
///   static constexpr Extent kExtents[];    // at 0 and at 1, one at a time and all at once, it is checked or refused
///   static Sample at(Extents e);           // the call with these extents
///   static constexpr bool kHasRows;        // whether the rows of y and of operand 0 (its first extent) depend on each other's numbers
///   static std::vector<Point> points();    // infinities, NaN in a branch that is not taken, ties, zero and negative bases
template <Op op>
struct EdgeCase;

/// The chain rule of elementwise ops: a derivative of 0 lets nothing through, and nothing comes of a gradient of 0.
inline double chained(double dy, double slope) { return dy == 0 || slope == 0 ? 0 : dy * slope; }

/// A value and the derivatives by the operands.
template <std::size_t n>
struct Value {
  double y;
  std::array<double, n> slopes;
};

/// Points of an elementwise op at these operands, for gradients that are ordinary, 0, infinite and NaN.
template <std::size_t n>
std::vector<Point> points_at(const Function& op, const std::vector<std::array<double, n>>& x, const std::vector<Value<n>>& values) {
  std::vector<Point> points;
  for (const double dy : {1.0, 0.0, kInf, kNaN}) {
    Point point{.name = concat("dy ", dy), .op = op, .operands = {}, .y = {}, .dy = {}, .gradients = {}};
    point.operands.resize(n);
    point.gradients.resize(n);
    for (std::size_t i = 0; i < x.size(); ++i) {
      point.y.push_back(values[i].y);
      point.dy.push_back(dy);
      for (std::size_t k = 0; k < n; ++k) {
        point.operands[k].push_back(x[i][k]);
        point.gradients[k].push_back(chained(dy, values[i].slopes[k]));
      }
    }
    points.push_back(std::move(point));
  }
  return points;
}

/// The points of a function of one number: its values and slopes at these five. None can be left out.
using OneNumber = Value<1>;
inline std::vector<Point> curve(const Function& op, OneNumber at_minus_infinity, OneNumber at_minus_two, OneNumber at_zero,
                                OneNumber at_two, OneNumber at_infinity) {
  return points_at<1>(op, {{-kInf}, {-2}, {0}, {2}, {kInf}}, {at_minus_infinity, at_minus_two, at_zero, at_two, at_infinity});
}

/// The points of a function of two numbers: its values and slopes at these eleven, which are zero, negative, infinite or equal. None can be
/// left out.
using TwoNumbers = Value<2>;
inline std::vector<Point> pairs(const Function& op, TwoNumbers minus_two_and_zero, TwoNumbers minus_two_and_two,
                                TwoNumbers minus_two_and_three, TwoNumbers two_zeros, TwoNumbers zero_and_two,
                                TwoNumbers zero_and_minus_one, TwoNumbers two_twos, TwoNumbers infinity_and_two,
                                TwoNumbers two_and_infinity, TwoNumbers minus_infinity_and_three, TwoNumbers infinity_and_zero) {
  return points_at<2>(op, {{-2, 0}, {-2, 2}, {-2, 3}, {0, 0}, {0, 2}, {0, -1}, {2, 2}, {kInf, 2}, {2, kInf}, {-kInf, 3}, {kInf, 0}},
                      {minus_two_and_zero, minus_two_and_two, minus_two_and_three, two_zeros, zero_and_two, zero_and_minus_one, two_twos,
                       infinity_and_two, two_and_infinity, minus_infinity_and_three, infinity_and_zero});
}

inline void append(std::vector<Point>& points, std::vector<Point> more) {
  for (Point& point : more) {
    points.push_back(std::move(point));
  }
}

}  // namespace dikkat::gradcheck
