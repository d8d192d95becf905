#pragma once

#include "autograd/ops/basic.h"
#include "tests/gradcheck/case.h"

// The cases of ops that move elements, and of cast.
namespace dikkat::gradcheck {

inline std::vector<Sample> ragged_matrices(const Function& op) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
    const index rows = kRaggedSizes[i];
    const index cols = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
    samples.push_back({concat(rows, " by ", cols), {operand({rows, cols}, 1)}, op, {}, {}});
  }
  samples.push_back({"several blocks", {operand({257, 129}, 1)}, op, {}, {}});
  return samples;
}

/// Element i of the result is element place(i) of x.
inline Oracle moved(index size, std::function<index(index)> place) {
  return [=](std::span<const std::vector<double>> x) {
    std::vector<double> y;
    for (index i = 0; i < size; ++i) {
      const index from = place(i);
      y.push_back(from < 0 ? 0 : x[0][static_cast<std::size_t>(from)]);
    }
    return y;
  };
}

// Casts f32 to f64 and back, which is exact. tests/ops/bf16_test.cpp has bf16.
template <>
struct GradCase<Op::cast> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return scale(cast(cast(t[0], DType::f64), t[0].dtype()), 1); }
  static Oracle same() {
    return [](std::span<const std::vector<double>> x) { return x[0]; };
  }
  static std::vector<Sample> samples() { return {{"a matrix", {operand({3, 7}, 1)}, op, {}, same()}}; }
  static std::vector<Sample> ragged() { return ragged_matrices(op); }
  static std::vector<Misfit> misfits() {
    return {{"to i32, which does not hold it", [](Tape& t) { cast(scale(some(t, {3}), 1e12), DType::i32); }}};
  }
};

template <>
struct GradCase<Op::reshape> {
  static Oracle same() {
    return [](std::span<const std::vector<double>> x) { return x[0]; };
  }
  static Function to(Shape shape) {
    return [shape](Tape&, std::span<const Tensor> t) { return reshape(t[0], shape); };
  }
  static std::vector<Sample> samples() {
    return {{"to more axes", {operand({6, 4}, 1)}, to({2, 3, 1, 4}), {}, same()},
            {"to one", {operand({2, 3, 4}, 1)}, to({24}), {}, same()}};
  }
  static std::vector<Sample> ragged() {
    return ragged_matrices([](Tape&, std::span<const Tensor> t) { return reshape(t[0], {t[0].shape()[1], t[0].shape()[0]}); });
  }
  static std::vector<Misfit> misfits() {
    return {{"to another size", [](Tape& t) { reshape(some(t, {6, 4}), {5, 5}); }}};
  }
};

template <>
struct GradCase<Op::slice> {
  static Function op(int axis, index begin, index size) {
    return [=](Tape&, std::span<const Tensor> t) { return slice(t[0], axis, begin, size); };
  }
  static Function stepped(Range range) {
    return [=](Tape&, std::span<const Tensor> t) { return slice(t[0], 1, range); };
  }
  /// Elements begin to begin + size of the middle axis of (outer, extent, inner).
  static Oracle middle(std::size_t outer, std::size_t extent, std::size_t inner, std::size_t begin, std::size_t size) {
    return [=](std::span<const std::vector<double>> x) {
      std::vector<double> y;
      for (std::size_t o = 0; o < outer; ++o) {
        for (std::size_t e = begin; e < begin + size; ++e) {
          for (std::size_t i = 0; i < inner; ++i) {
            y.push_back(x[0][(o * extent + e) * inner + i]);
          }
        }
      }
      return y;
    };
  }
  static std::vector<Sample> samples() {
    return {
        {"of the first axis", {operand({5, 6}, 1)}, op(0, 1, 3), {}, middle(1, 5, 6, 1, 3)},
        {"of a middle axis", {operand({2, 4, 3}, 1)}, op(1, 2, 2), {}, middle(2, 4, 3, 2, 2)},
        {"of the last axis", {operand({3, 2, 9}, 1)}, op(-1, 4, 5), {}, middle(6, 9, 1, 4, 5)},
        {"all of it", {operand({3, 5}, 1)}, op(-1, 0, 5), {}, middle(3, 5, 1, 0, 5)},
        {"each third",
         {operand({2, 8}, 1)},
         stepped({1, {}, 3}),
         {},
         [](std::span<const std::vector<double>> x) { return std::vector{x[0][1], x[0][4], x[0][7], x[0][9], x[0][12], x[0][15]}; }},
        {"backwards",
         {operand({1, 4}, 1)},
         stepped({.step = -1}),
         {},
         [](std::span<const std::vector<double>> x) { return std::vector{x[0][3], x[0][2], x[0][1], x[0][0]}; }},
        {"the longest step", {operand({1, 4}, 1)}, stepped({1, {}, INT64_MAX}), {}, moved(1, [](index) { return index{1}; })},
        {"the longest step backwards", {operand({1, 4}, 1)}, stepped({.step = INT64_MIN}), {}, moved(1, [](index) { return index{3}; })},
        {"from bounds far out", {operand({1, 4}, 1)}, stepped({INT64_MIN, INT64_MAX, INT64_MAX - 1}), {}, moved(1, [](index) {
           return index{0};
         })}};
  }
  static std::vector<Sample> ragged() {
    return ragged_matrices([](Tape&, std::span<const Tensor> t) {
      const index cols = t[0].shape()[1];
      return slice(t[0], 1, cols / 3, cols - cols / 3);
    });
  }
  static std::vector<Misfit> misfits() {
    const auto with = [](int axis, index begin, index size) { return [=](Tape& t) { slice(some(t, {3, 5}), axis, begin, size); }; };
    return {{"past the end", with(1, 3, 3)},
            {"before the beginning", with(0, -1, 2)},
            {"a negative size", with(0, 2, -1)},
            {"no such axis", with(2, 0, 1)},
            {"no such axis from the end", with(-3, 0, 1)},
            {"step 0", [](Tape& t) { slice(some(t, {3, 5}), 0, Range{.step = 0}); }},
            {"an offset that overflows", with(0, INT64_MAX, 2)}};
  }
};

template <>
struct GradCase<Op::permute> {
  static Function op(std::vector<int> axes) {
    return [axes](Tape&, std::span<const Tensor> t) { return permute(t[0], axes); };
  }
  static std::vector<Sample> samples() {
    return {
        {"a transpose", {operand({3, 5}, 1)}, op({1, 0}), {}, moved(15, [](index i) { return i % 3 * 5 + i / 3; })},
        {"the outer axes",
         {operand({2, 3, 4}, 1)},
         op({1, 0, -1}),
         {},
         moved(24, [](index i) { return i / 4 % 2 * 12 + i / 8 * 4 + i % 4; })},
        {"all three", {operand({2, 3, 4}, 1)}, op({2, 0, 1}), {}, moved(24, [](index i) { return i / 3 % 2 * 12 + i % 3 * 4 + i / 6; })},
        {"nothing", {operand({2, 3}, 1)}, op({0, 1}), {}, moved(6, [](index i) { return i; })},
        {"a scalar", {operand({}, 1)}, op({}), {}, moved(1, [](index i) { return i; })}};
  }
  static std::vector<Sample> ragged() { return ragged_matrices(op({1, 0})); }
  static std::vector<Misfit> misfits() {
    const auto with = [](std::vector<int> axes) { return [axes](Tape& t) { permute(some(t, {3, 5}), axes); }; };
    return {{"an axis twice", with({0, 0})}, {"too few axes", with({0})}, {"no such axis", with({0, 2})}};
  }
};

template <>
struct GradCase<Op::broadcast_to> {
  static Function op(Shape shape) {
    return [shape](Tape&, std::span<const Tensor> t) { return broadcast_to(t[0], shape); };
  }
  static std::vector<Sample> samples() {
    return {{"a row", {operand({5}, 1)}, op({3, 5}), {}, moved(15, [](index i) { return i % 5; })},
            {"a column", {operand({3, 1}, 1)}, op({2, 3, 5}), {}, moved(30, [](index i) { return i / 5 % 3; })},
            {"a number", {operand({}, 1)}, op({4}), {}, moved(4, [](index) { return index{0}; })}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (const index size : kRaggedSizes) {
      samples.push_back({concat(size), {operand({size, 1}, 1)}, op({3, size, 7}), {}, {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"to fewer elements", [](Tape& t) { broadcast_to(some(t, {3, 5}), {5}); }},
            {"an extent that does not fit", [](Tape& t) { broadcast_to(some(t, {3}), {4}); }}};
  }
};

template <>
struct GradCase<Op::pad> {
  static Function op(int axis, index before, index after) {
    return [=](Tape&, std::span<const Tensor> t) { return pad(t[0], axis, before, after); };
  }
  static std::vector<Sample> samples() {
    return {{"columns",
             {operand({2, 3}, 1)},
             op(-1, 1, 2),
             {},
             moved(12, [](index i) { return i % 6 < 1 || i % 6 > 3 ? -1 : i / 6 * 3 + i % 6 - 1; })},
            {"rows", {operand({2, 3}, 1)}, op(0, 2, 0), {}, moved(12, [](index i) { return i - 6; })}};
  }
  static std::vector<Sample> ragged() { return ragged_matrices(op(1, 3, 1)); }
  static std::vector<Misfit> misfits() {
    return {{"fewer than 0", [](Tape& t) { pad(some(t, {3}), 0, -1, 0); }},
            {"more than an axis can have", [](Tape& t) { pad(some(t, {3}), 0, INT64_MAX, INT64_MAX); }},
            {"no such axis", [](Tape& t) { pad(some(t, {3}), 1, 0, 0); }}};
  }
};

template <>
struct GradCase<Op::concat> {
  static Function op(int axis) {
    return [axis](Tape&, std::span<const Tensor> t) { return concat(t, axis); };
  }
  /// The blocks of each part in turn; `widths` are the parts' elements in a block.
  static Oracle by_blocks(std::size_t blocks, std::vector<std::size_t> widths) {
    return [=](std::span<const std::vector<double>> x) {
      std::vector<double> y;
      for (std::size_t block = 0; block < blocks; ++block) {
        for (std::size_t part = 0; part < x.size(); ++part) {
          for (std::size_t i = 0; i < widths[part]; ++i) {
            y.push_back(x[part][block * widths[part] + i]);
          }
        }
      }
      return y;
    };
  }
  static std::vector<Sample> samples() {
    return {{"along the first axis", {operand({2, 3}, 1), operand({1, 3}, 2)}, op(0), {}, by_blocks(1, {6, 3})},
            {"along a middle axis", {operand({2, 1, 3}, 1), operand({2, 4, 3}, 2)}, op(1), {}, by_blocks(2, {3, 12})},
            {"along the last axis", {operand({3, 2}, 1), operand({3, 5}, 2), operand({3, 2}, 3)}, op(-1), {}, by_blocks(3, {2, 5, 2})},
            {"three alike", {operand({3, 2}, 1), operand({3, 2}, 2), operand({3, 2}, 3)}, op(0), {}, by_blocks(1, {6, 6, 6})},
            {"one alone", {operand({3, 2}, 1)}, op(1), {}, by_blocks(3, {2})}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index rows = kRaggedSizes[i];
      const index cols = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
      samples.push_back({concat(rows, " by ", cols), {operand({rows, cols}, 1), operand({rows, 17}, 2)}, op(1), {}, {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    const auto with = [](int axis, std::vector<Shape> shapes) {
      return [=](Tape& t) {
        std::vector<Tensor> parts;
        for (const Shape& shape : shapes) {
          parts.push_back(some(t, shape));
        }
        concat(parts, axis);
      };
    };
    return {{"of nothing", with(0, {})},
            {"other rows", with(1, {{3, 2}, {2, 2}})},
            {"other ranks", with(0, {{3, 2}, {3, 2, 1}})},
            {"no such axis", with(2, {{3, 2}, {3, 2}})},
            {"of scalars", with(0, {{}, {}})}};
  }
};

}  // namespace dikkat::gradcheck
