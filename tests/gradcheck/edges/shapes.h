#pragma once

#include "tests/gradcheck/cases/shapes.h"
#include "tests/gradcheck/edge.h"

// The edges of ops that move elements: every number is moved, and NaN stays where it is.
namespace dikkat::gradcheck {

/// The call of an op of one matrix.
struct OfMatrix {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns", 5}};
  static constexpr bool kHasRows = true;
};
inline Sample matrix_sample(const Function& op, Extents e) { return {"", {operand({e[0], e[1]}, 1)}, op, {}, {}}; }

template <>
struct EdgeCase<Op::cast> : OfMatrix {
  static constexpr auto op = GradCase<Op::cast>::op;
  static Sample at(Extents e) { return matrix_sample(op, e); }
  static std::vector<Point> points() {
    return {{"specials", op, {{kNaN, kInf, -kInf, 0}}, {kNaN, kInf, -kInf, 0}, {1, kInf, kNaN, 0}, {{1, kInf, kNaN, 0}}}};
  }
};

template <>
struct EdgeCase<Op::reshape> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns", 4}};
  static constexpr bool kHasRows = false;
  static Sample at(Extents e) { return matrix_sample(GradCase<Op::reshape>::to({e[1], e[0]}), e); }
  static std::vector<Point> points() {
    return {{"specials", GradCase<Op::reshape>::to({2, 1}), {{kNaN, kInf}}, {kNaN, kInf}, {kInf, 1}, {{kInf, 1}}}};
  }
};

template <>
struct EdgeCase<Op::slice> : OfMatrix {
  static Sample at(Extents e) { return matrix_sample(GradCase<Op::slice>::op(1, e[1] / 2, e[1] - e[1] / 2), e); }
  static std::vector<Point> points() {
    const auto middle = GradCase<Op::slice>::op(0, 1, 2);
    return {{"of NaN", middle, {{kNaN, 1, kInf, kNaN}}, {1, kInf}, {kInf, kNaN}, {{0, kInf, kNaN, 0}}},
            {"of nothing", GradCase<Op::slice>::op(0, 4, 0), {{kNaN, 1, 2, 3}}, {}, {}, {{0, 0, 0, 0}}}};
  }
};

template <>
struct EdgeCase<Op::permute> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns", 4}};
  static constexpr bool kHasRows = false;
  static Sample at(Extents e) { return matrix_sample(GradCase<Op::permute>::op({1, 0}), e); }
  static std::vector<Point> points() {
    return {{"specials",
             GradCase<Op::permute>::op({1, 0}),
             {{1, kNaN, kInf, 2}},
             {1, kInf, kNaN, 2},
             {1, kInf, 3, kNaN},
             {{1, 3, kInf, kNaN}},
             {{2, 2}}}};
  }
};

template <>
struct EdgeCase<Op::broadcast_to> {
  static constexpr Extent kExtents[] = {{"copies", 3}, {"columns", 4}};
  static constexpr bool kHasRows = false;
  static Sample at(Extents e) { return {"", {operand({e[1]}, 1)}, GradCase<Op::broadcast_to>::op({e[0], e[1]}), {}, {}}; }
  static std::vector<Point> points() {
    return {{"specials", GradCase<Op::broadcast_to>::op({2, 2}), {{kNaN, 1}}, {kNaN, 1, kNaN, 1}, {1, kInf, 2, kInf}, {{3, kInf}}}};
  }
};

template <>
struct EdgeCase<Op::pad> : OfMatrix {
  static Sample at(Extents e) { return matrix_sample(GradCase<Op::pad>::op(1, 1, 2), e); }
  static std::vector<Point> points() {
    return {{"specials", GradCase<Op::pad>::op(0, 1, 1), {{kNaN, kInf}}, {0, kNaN, kInf, 0}, {kNaN, 1, kInf, kInf}, {{1, kInf}}}};
  }
};

template <>
struct EdgeCase<Op::concat> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns", 4}, {"columns of the second", 2}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) { return {"", {operand({e[0], e[1]}, 1), operand({e[0], e[2]}, 2)}, GradCase<Op::concat>::op(1), {}, {}}; }
  static std::vector<Point> points() {
    return {{"specials", GradCase<Op::concat>::op(0), {{kNaN, 1}, {kInf}}, {kNaN, 1, kInf}, {1, kInf, kNaN}, {{1, kInf}, {kNaN}}}};
  }
};

}  // namespace dikkat::gradcheck
