#pragma once

#include "tests/gradcheck/cases/products.h"
#include "tests/gradcheck/edge.h"

// The edges of products. Their sums are IEEE's: 0 times infinity is NaN.
namespace dikkat::gradcheck {

template <>
struct EdgeCase<Op::matmul> {
  static constexpr Extent kExtents[] = {{"matrices", 2}, {"rows", 3}, {"terms", 4}, {"columns", 5}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) {
    const auto at = [](index extent) { return static_cast<std::size_t>(extent); };
    const auto same = [](std::size_t i) { return i; };
    const auto none = [](std::size_t) { return std::size_t{0}; };
    return {"",
            {operand({e[0], e[1], e[2]}, 1), operand({e[2], e[3]}, 2)},
            GradCase<Op::matmul>::op(false),
            {},
            GradCase<Op::matmul>::loops(at(e[0]), at(e[1]), at(e[3]), at(e[2]), false, same, none)};
  }
  static std::vector<Point> points() {
    const auto op = GradCase<Op::matmul>::op(false);
    return {{"an infinity", op, {{kInf, 1}, {2, 3}}, {kInf}, {1}, {{2, 3}, {kInf, 1}}, {{1, 2}, {2, 1}}},
            {"0 times infinity", op, {{0, 1}, {kInf, 3}}, {kNaN}, {1}, {{kInf, 3}, {0, 1}}, {{1, 2}, {2, 1}}}};
  }
};

template <>
struct EdgeCase<Op::einsum> {
  static constexpr Extent kExtents[] = {{"a", 2}, {"b", 3}, {"c", 4}, {"d", 2}};
  static constexpr bool kHasRows = true;
  static constexpr const char* kFormula = "abd,acd->abc";
  static Sample at(Extents e) {
    const auto at = [](index extent) { return static_cast<std::size_t>(extent); };
    return {"",
            {operand({e[0], e[1], e[3]}, 1), operand({e[0], e[2], e[3]}, 2)},
            GradCase<Op::einsum>::op(kFormula),
            {},
            e[0] * e[1] * e[2] * e[3] == 0 ? Oracle{} : GradCase<Op::einsum>::loops(kFormula, {at(e[0]), at(e[1]), at(e[2]), at(e[3])})};
  }
  static std::vector<Point> points() {
    const auto op = GradCase<Op::einsum>::op("a,b->ab");
    return {{"infinities", op, {{kInf, 1}, {0, 2}}, {kNaN, kInf, 0, 2}, {0, 1, 1, 1}, {{2, 2}, {1, kInf}}}};
  }
};

template <>
struct EdgeCase<Op::diagonal> {
  static constexpr Extent kExtents[] = {{"matrices", 2}, {"rows", 3}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) { return {"", {operand({e[0], e[1], e[1]}, 1)}, GradCase<Op::diagonal>::op(1, 2), {}, {}}; }
  static std::vector<Point> points() {
    return {{"specials", GradCase<Op::diagonal>::op(0, 1), {{1, kNaN, kInf, 2}}, {1, 2}, {kInf, kNaN}, {{kInf, 0, 0, kNaN}}, {{2, 2}}}};
  }
};

template <>
struct EdgeCase<Op::linear> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"inputs", 4}, {"outputs", 5}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) {
    return {"",
            {operand({e[0], e[1]}, 1), operand({e[2], e[1]}, 2), operand({e[2]}, 3)},
            GradCase<Op::linear>::op,
            GradCase<Op::linear>::definition,
            {}};
  }
  static std::vector<Point> points() {
    return {
        {"an infinity", GradCase<Op::linear>::op, {{kInf, 1}, {2, 3}, {4}}, {kInf}, {1}, {{2, 3}, {kInf, 1}, {1}}, {{1, 2}, {1, 2}, {1}}}};
  }
};

template <>
struct EdgeCase<Op::activated_linear> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"inputs", 4}, {"outputs", 5}};
  static constexpr bool kHasRows = true;
  static constexpr auto op = GradCase<Op::activated_linear>::op<Activation::relu>;
  static Sample at(Extents e) {
    return {"",
            {operand({e[0], 2 * e[1]}, 1), operand({e[2], e[1]}, 2), operand({e[2]}, 3)},
            GradCase<Op::activated_linear>::op<Activation::silu, true>,
            GradCase<Op::activated_linear>::definition<Activation::silu, true>,
            {}};
  }
  static std::vector<Point> points() {
    return {{"a closed unit and an infinite weight", op, {{-1, 1}, {2, 3}}, {3}, {1}, {{0, 3}, {0, 1}}, {{1, 2}, {1, 2}}},
            {"an infinite gradient", op, {{-1, 1}, {2, 3}}, {3}, {kInf}, {{0, kInf}, {kNaN, kInf}}, {{1, 2}, {1, 2}}}};
  }
};

template <>
struct EdgeCase<Op::adapted_linear> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"inputs", 4}, {"outputs", 5}, {"rank", 2}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) {
    return {"",
            {operand({e[0], e[1]}, 1), operand({e[2], e[1]}, 2), operand({e[3], e[1]}, 3), operand({e[2], e[3]}, 4), operand({e[2]}, 5)},
            GradCase<Op::adapted_linear>::op<false>,
            GradCase<Op::adapted_linear>::definition<false>,
            {}};
  }
  static std::vector<Point> points() {
    return {{"an infinity",
             GradCase<Op::adapted_linear>::op<false>,
             {{kInf}, {2}, {3}, {4}},
             {kInf},
             {1},
             {{2 + 3 * 4 * GradCase<Op::adapted_linear>::kScale}, {kInf}, {kInf}, {kInf}},
             {{1, 1}, {1, 1}, {1, 1}, {1, 1}}}};
  }
};

}  // namespace dikkat::gradcheck
