#pragma once

#include "tests/gradcheck/cases/attention.h"
#include "tests/gradcheck/cases/recurrent.h"
#include "tests/gradcheck/cases/rows.h"
#include "tests/gradcheck/edge.h"

// The edges of norms, attention and recurrent layers.
namespace dikkat::gradcheck {

template <>
struct EdgeCase<Op::layer_norm> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns", 5}};
  static constexpr bool kHasRows = true;
  static constexpr double kEps = 0.25;
  static Sample at(Extents e) {
    return {"", {operand({e[0], e[1]}, 1), operand({e[1]}, 2), operand({e[1]}, 3)}, GradCase<Op::layer_norm>::op(kEps), {}, {}};
  }
  static std::vector<Point> points() {
    return {{"equal numbers", GradCase<Op::layer_norm>::op(kEps), {{3, 3}, {5, 5}}, {0, 0}, {1, -1}, {{10, -10}, {0, 0}}, {{1, 2}, {2}}},
            {"an infinity",
             GradCase<Op::layer_norm>::op(kEps),
             {{kInf, 1}, {1, 1}},
             {kNaN, kNaN},
             {1, 1},
             {{kNaN, kNaN}, {kNaN, kNaN}},
             {{1, 2}, {2}}}};
  }
};

template <>
struct EdgeCase<Op::add_layer_norm> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns", 5}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) { return GradCase<Op::add_layer_norm>::sample("", {e[0], e[1]}, true, {0.5, 2}, 0, 0.25); }
  static std::vector<Point> points() {
    return {{"equal numbers",
             GradCase<Op::add_layer_norm>::op({1, 1}, 0, 0.25),
             {{3, 2}, {1, 2}, {5, 5}},
             {4, 4},
             {1, -1},
             {{11, -11}, {11, -11}, {0, 0}},
             {{1, 2}, {1, 2}, {2}}}};
  }
};

template <>
struct EdgeCase<Op::rms_norm> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns", 5}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) { return {"", {operand({e[0], e[1]}, 1), operand({e[1]}, 2)}, GradCase<Op::rms_norm>::op(0.25), {}, {}}; }
  static std::vector<Point> points() {
    return {{"zeros", GradCase<Op::rms_norm>::op(0.25), {{0, 0}, {5, 5}}, {0, 0}, {1, -1}, {{10, -10}, {0, 0}}, {{1, 2}, {2}}}};
  }
};

template <>
struct EdgeCase<Op::add_rms_norm> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns", 5}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) { return GradCase<Op::add_rms_norm>::sample("", {e[0], e[1]}, {0.5, 2}, 0, 0.25); }
  static std::vector<Point> points() {
    const auto op = GradCase<Op::add_rms_norm>::sample("", {1, 2}, {1, 1}, 0, 0.25).op;
    return {{"zeros", op, {{3, -3}, {-3, 3}, {5, 5}}, {0, 0}, {1, -1}, {{11, -11}, {11, -11}, {0, 0}}, {{1, 2}, {1, 2}, {2}}}};
  }
};

template <>
struct EdgeCase<Op::head_norm> {
  static constexpr Extent kExtents[] = {
      {"rows", 3}, {"heads", 2, 1}, {"heads of keys", 2, 1}, {"head size", 4, 1}, {"columns of values", 3}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) { return GradCase<Op::head_norm>::sample("", {e[0]}, {e[1], e[2], e[3], e[4], 0.25}); }
  static std::vector<Point> points() {
    const auto op = GradCase<Op::head_norm>::op({1, 1, 1, 1, 0.25});
    return {{"zeros, and NaN beside them",
             op,
             {{0, 0, kNaN}, {5}, {4}},
             {0, 0, kNaN},
             {1, 1, kInf},
             {{10, 8, kInf}, {0}, {0}},
             {{1, 3}, {1}, {1}}}};
  }
};

template <>
struct EdgeCase<Op::add_value_embedding> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns before", 2}, {"heads", 2, 1}, {"head size", 2, 1}, {"channels", 3}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) { return GradCase<Op::add_value_embedding>::sample("", e[0], {e[1], e[2], e[3], 4, e[4]}); }
  static std::vector<Point> points() {
    return {{"a shut gate",
             GradCase<Op::add_value_embedding>::op,
             {{1, 2}, {-kInf}, {3}, {1}},
             {1, 2},
             {1, 1},
             {{1, 1}, {0}, {0}, {kNaN}},
             {{1, 2}, {1, 1}, {1, 1}, {1, 1}}}};
  }
};

template <>
struct EdgeCase<Op::attention> {
  static constexpr Extent kExtents[] = {{"sequences", 2}, {"heads", 2, 1}, {"queries", 3}, {"keys", 4}, {"head size", 3, 1}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) {
    const AttentionCall call{.name = "", .batch = e[0], .heads = e[1], .queries = e[2], .keys = e[3], .head_size = e[4]};
    return {"", call.operands(), [call](Tape& tape, std::span<const Tensor> t) { return call.op(tape, t); }, {}, {}};
  }
  static std::vector<Point> points() {
    // The query sees the first key only.
    const auto masked = [](Tape& tape, std::span<const Tensor> t) {
      return attention({t[0]}, {t[1]}, {t[2]}, {.heads = 1, .head_size = 1, .key_end = ids(tape, {1, 1}, {1})});
    };
    const auto blind = [](Tape& tape, std::span<const Tensor> t) {
      return attention({t[0]}, {t[1]}, {t[2]}, {.heads = 1, .head_size = 1, .key_end = ids(tape, {1, 1}, {0})});
    };
    const std::vector<Shape> shapes{{1, 1, 1}, {1, 2, 1}, {1, 2, 1}};
    return {{"keys that are not seen", masked, {{1}, {2, 7}, {3, 9}}, {3}, {1}, {{0}, {0, 0}, {1, 0}}, shapes},
            {"no key is seen", blind, {{1}, {kInf, kNaN}, {3, kInf}}, {0}, {1}, {{0}, {0, 0}, {0, 0}}, shapes}};
  }
};

template <>
struct EdgeCase<Op::lstm> {
  static constexpr Extent kExtents[] = {{"sequences", 2, 1}, {"steps", 3, 1}, {"hidden", 2, 1}};
  static constexpr bool kHasRows = false;
  static Sample at(Extents e) { return GradCase<Op::lstm>::sample("", e[0], e[1], e[2], {}, {}); }
  static std::vector<Point> points() {
    const auto op = GradCase<Op::lstm>::op({false, false, false}, {.c = false});
    // The columns are i | f | g | o.
    return {{"saturated gates",
             op,
             {{kInf, kInf, kInf, kInf}, {0, 0, 0, 0}},
             {0.7615941560},
             {1},
             {{0, 0, 0, 0}, {0, 0, 0, 0}},
             {{1, 1, 4}, {4, 1}}},
            {"shut gates", op, {{-kInf, -kInf, 1, -kInf}, {0, 0, 0, 0}}, {0}, {1}, {{0, 0, 0, 0}, {0, 0, 0, 0}}, {{1, 1, 4}, {4, 1}}}};
  }
};

}  // namespace dikkat::gradcheck
