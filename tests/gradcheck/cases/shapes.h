#pragma once

#include "autograd/ops/basic.h"
#include "tests/gradcheck/case.h"

// The cases of cast, reshape, slice and concat.
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
    return {{"to token ids", [](Tape& t) { cast(some(t, {3}), DType::i32); }}};
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
    return {{"of the first axis", {operand({5, 6}, 1)}, op(0, 1, 3), {}, middle(1, 5, 6, 1, 3)},
            {"of a middle axis", {operand({2, 4, 3}, 1)}, op(1, 2, 2), {}, middle(2, 4, 3, 2, 2)},
            {"of the last axis", {operand({3, 2, 9}, 1)}, op(-1, 4, 5), {}, middle(6, 9, 1, 4, 5)},
            {"all of it", {operand({3, 5}, 1)}, op(-1, 0, 5), {}, middle(3, 5, 1, 0, 5)}};
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
            {"an offset that overflows", with(0, INT64_MAX, 2)}};
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
