#pragma once

#include "tests/gradcheck/cases/indexing.h"
#include "tests/gradcheck/cases/rows.h"
#include "tests/gradcheck/edge.h"

// The edges of lookups: what is not chosen may be NaN, and gets gradient 0.
namespace dikkat::gradcheck {

template <>
struct EdgeCase<Op::gather> {
  static constexpr Extent kExtents[] = {{"extent", 4, 1}, {"columns", 3}, {"ids", 5}};
  static constexpr bool kHasRows = false;
  static Sample at(Extents e) {
    return GradCase<Op::gather>::sample({"", {e[0], e[1]}, {e[2], e[1]}, 0}, some_ids(e[2] * e[1], std::max<index>(e[0], 1)));
  }
  static std::vector<Point> points() {
    const auto op = [](Tape& tape, std::span<const Tensor> t) { return gather(t[0], 0, ids(tape, {3}, {1, 2, 1})); };
    return {{"specials", op, {{kNaN, 1, kInf}}, {1, kInf, 1}, {2, kNaN, 3}, {{0, 5, kNaN}}}};
  }
};

template <>
struct EdgeCase<Op::scatter_add> {
  static constexpr Extent kExtents[] = {{"extent", 4, 1}, {"columns", 3}, {"ids", 5}};
  static constexpr bool kHasRows = false;
  static Sample at(Extents e) {
    return GradCase<Op::scatter_add>::sample({"", {e[0], e[1]}, {e[2], e[1]}, 0}, some_ids(e[2] * e[1], std::max<index>(e[0], 1)));
  }
  static std::vector<Point> points() {
    const auto op = [](Tape& tape, std::span<const Tensor> t) { return scatter_add(t[0], 0, ids(tape, {2}, {1, 1}), t[1]); };
    return {{"specials", op, {{kNaN, 1, kInf}, {2, kInf}}, {kNaN, kInf, kInf}, {1, kInf, kNaN}, {{1, kInf, kNaN}, {kInf, kInf}}}};
  }
};

template <>
struct EdgeCase<Op::index_select> {
  static constexpr Extent kExtents[] = {{"extent", 4, 1}, {"columns", 3}, {"ids", 5}};
  static constexpr bool kHasRows = false;
  static Sample at(Extents e) {
    const auto chosen = some_ids(e[2], std::max<index>(e[0], 1));
    const index count = e[2];
    const auto op = [=](Tape& tape, std::span<const Tensor> t) { return index_select(t[0], 0, ids(tape, {count}, chosen)); };
    return {"", {operand({e[0], e[1]}, 1)}, op, {}, {}};
  }
  static std::vector<Point> points() {
    const auto op = [](Tape& tape, std::span<const Tensor> t) { return index_select(t[0], 0, ids(tape, {3}, {1, 2, 1})); };
    return {{"specials", op, {{kNaN, 1, kInf}}, {1, kInf, 1}, {2, kNaN, 3}, {{0, 5, kNaN}}}};
  }
};

template <>
struct EdgeCase<Op::embedding> {
  static constexpr Extent kExtents[] = {{"sequences", 2}, {"tokens", 3}, {"vocabulary", 5, 1}, {"columns", 4}, {"positions", 6, 3}};
  static constexpr bool kHasRows = false;
  static Sample at(Extents e) {
    const index batch = e[0], time = e[1];
    const auto tokens = some_ids(batch * time, std::max<index>(e[2], 1));
    const auto op = [=](Tape& tape, std::span<const Tensor> t) {
      return embedding(ids(tape, {batch, time}, tokens), t[0], {.positions = t[1]});
    };
    return {"", {operand({e[2], e[3]}, 1), operand({e[4], e[3]}, 2)}, op, {}, {}};
  }
  static std::vector<Point> points() {
    const auto op = [](Tape& tape, std::span<const Tensor> t) { return embedding(ids(tape, {1, 2}, {1, 1}), t[0]); };
    return {{"specials", op, {{kNaN, kInf, -kInf}}, {kInf, kInf}, {1, 2}, {{0, 3, 0}}, {{3, 1}}}};
  }
};

}  // namespace dikkat::gradcheck
