#pragma once

#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "tests/gradcheck/case.h"

// The cases of matmul and linear.
namespace dikkat::gradcheck {

/// Three ragged sizes: combination i of 16.
struct Sizes {
  index m, n, k;
};
inline std::vector<Sizes> ragged_sizes() {
  std::vector<Sizes> all;
  constexpr std::size_t kCount = std::size(kRaggedSizes);
  for (std::size_t i = 0; i < kCount; ++i) {
    all.push_back({kRaggedSizes[i], kRaggedSizes[(i + 3) % kCount], kRaggedSizes[(i + 6) % kCount]});
    all.push_back({kRaggedSizes[i], kRaggedSizes[kCount - 1 - i], kRaggedSizes[(5 * i + 2) % kCount]});
  }
  return all;
}

template <>
struct GradCase<Op::matmul> {
  static Function op(bool transpose_b) {
    return [transpose_b](Tape&, std::span<const Tensor> t) { return matmul(t[0], t[1], transpose_b); };
  }
  static Oracle loops(std::size_t count, std::size_t m, std::size_t n, std::size_t k, bool transpose_b) {
    return [=](std::span<const std::vector<double>> x) {
      std::vector<double> y(count * m * n, 0.0);
      for (std::size_t c = 0; c < count; ++c) {
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t l = 0; l < k; ++l) {
              y[(c * m + i) * n + j] += x[0][(c * m + i) * k + l] * x[1][c * k * n + (transpose_b ? j * k + l : l * n + j)];
            }
          }
        }
      }
      return y;
    };
  }
  static std::vector<Sample> samples() {
    return {{"matrices", {operand({3, 4}, 1), operand({4, 5}, 2)}, op(false), {}, loops(1, 3, 5, 4, false)},
            {"b transposed", {operand({3, 4}, 1), operand({5, 4}, 2)}, op(true), {}, loops(1, 3, 5, 4, true)},
            {"square", {operand({4, 4}, 1), operand({4, 4}, 2)}, op(false), {}, loops(1, 4, 4, 4, false)},
            {"square, b transposed", {operand({4, 4}, 1), operand({4, 4}, 2)}, op(true), {}, loops(1, 4, 4, 4, true)},
            {"of rank 3", {operand({3, 2, 4}, 1), operand({3, 4, 2}, 2)}, op(false), {}, loops(3, 2, 2, 4, false)},
            {"of rank 4, b transposed", {operand({2, 2, 3, 4}, 1), operand({2, 2, 2, 4}, 2)}, op(true), {}, loops(4, 3, 2, 4, true)}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (const Sizes& s : ragged_sizes()) {
      samples.push_back({concat(s.m, " by ", s.n, " by ", s.k), {operand({s.m, s.k}, 1), operand({s.k, s.n}, 2)}, op(false), {}, {}});
      samples.push_back(
          {concat(s.m, " by ", s.n, " by ", s.k, ", b transposed"), {operand({s.m, s.k}, 1), operand({s.n, s.k}, 2)}, op(true), {}, {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"inner sizes differ", [](Tape& t) { matmul(some(t, {3, 4}), some(t, {5, 4})); }},
            {"inner sizes differ, b transposed", [](Tape& t) { matmul(some(t, {3, 4}), some(t, {4, 5}), true); }},
            {"ranks differ", [](Tape& t) { matmul(some(t, {2, 3, 4}), some(t, {4, 5})); }},
            {"leading axes differ", [](Tape& t) { matmul(some(t, {2, 3, 4}), some(t, {3, 4, 5})); }},
            {"vectors", [](Tape& t) { matmul(some(t, {4}), some(t, {4})); }}};
  }
};

template <>
struct GradCase<Op::linear> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return linear(t[0], t[1], t.size() > 2 ? t[2] : Tensor{}); }
  static Tensor definition(Tape&, std::span<const Tensor> t) {
    const Shape& s = t[0].shape();
    const Tensor y = matmul(reshape(t[0], {s.rows(), s.cols()}), t[1], true);
    return reshape(t.size() > 2 ? add(y, t[2]) : y, s.with_cols(t[1].shape()[0]));
  }
  static std::vector<Sample> samples() {
    return {{"with bias", {operand({3, 4}, 1), operand({5, 4}, 2), operand({5}, 3)}, op, definition, {}},
            {"without bias", {operand({3, 4}, 1), operand({5, 4}, 2)}, op, definition, {}},
            {"of rank 3", {operand({2, 3, 4}, 1), operand({5, 4}, 2), operand({5}, 3)}, op, definition, {}},
            {"of one vector", {operand({4}, 1), operand({4, 4}, 2), operand({4}, 3)}, op, definition, {}},
            {"square", {operand({4, 4}, 1), operand({4, 4}, 2), operand({4}, 3)}, op, definition, {}}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (const Sizes& s : ragged_sizes()) {
      samples.push_back(
          {concat(s.m, " by ", s.n, " by ", s.k), {operand({s.m, s.k}, 1), operand({s.n, s.k}, 2), operand({s.n}, 3)}, op, {}, {}});
    }
    samples.push_back({"several blocks of rows", {operand({300, 65}, 1), operand({33, 65}, 2), operand({33}, 3)}, op, {}, {}});
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"inner sizes differ", [](Tape& t) { linear(some(t, {3, 4}), some(t, {5, 3})); }},
            {"a weight that is a vector", [](Tape& t) { linear(some(t, {3, 4}), some(t, {4})); }},
            {"a bias of x's width", [](Tape& t) { linear(some(t, {3, 4}), some(t, {5, 4}), some(t, {4})); }},
            {"a bias of rank 2", [](Tape& t) { linear(some(t, {3, 4}), some(t, {5, 4}), some(t, {1, 5})); }}};
  }
};

template <>
struct GradCase<Op::activated_linear> {
  template <Activation kind, bool is_gated = false>
  static Tensor op(Tape&, std::span<const Tensor> t) {
    return activated_linear({kind, is_gated}, t[0], t[1], t.size() > 2 ? t[2] : Tensor{});
  }
  template <Activation kind, bool is_gated = false>
  static Tensor definition(Tape&, std::span<const Tensor> t) {
    return linear(activate({kind, is_gated}, t[0]), t[1], t.size() > 2 ? t[2] : Tensor{});
  }
  static std::vector<Sample> samples() {
    constexpr auto gelu_op = op<Activation::gelu>;
    constexpr auto of_gelu = definition<Activation::gelu>;
    return {{"gelu", {operand({3, 4}, 1), operand({5, 4}, 2), operand({5}, 3)}, gelu_op, of_gelu, {}},
            {"relu", {operand({3, 4}, 1), operand({5, 4}, 2), operand({5}, 3)}, op<Activation::relu>, definition<Activation::relu>, {}},
            {"gated silu",
             {operand({3, 8}, 1), operand({5, 4}, 2), operand({5}, 3)},
             op<Activation::silu, true>,
             definition<Activation::silu, true>,
             {}},
            {"without bias", {operand({3, 4}, 1), operand({5, 4}, 2)}, gelu_op, of_gelu, {}},
            {"of rank 3", {operand({2, 3, 4}, 1), operand({5, 4}, 2), operand({5}, 3)}, gelu_op, of_gelu, {}},
            {"square", {operand({4, 4}, 1), operand({4, 4}, 2), operand({4}, 3)}, gelu_op, of_gelu, {}}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (const Sizes& s : ragged_sizes()) {
      samples.push_back({concat(s.m, " by ", s.n, " by ", s.k),
                         {operand({s.m, s.k}, 1), operand({s.n, s.k}, 2), operand({s.n}, 3)},
                         op<Activation::gelu>,
                         {},
                         {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"inner sizes differ", [](Tape& t) { activated_linear({Activation::gelu}, some(t, {3, 4}), some(t, {5, 3})); }},
            {"gated, with the columns of a plain one",
             [](Tape& t) { activated_linear({Activation::silu, true}, some(t, {3, 4}), some(t, {5, 4})); }},
            {"a bias of x's width", [](Tape& t) { activated_linear({Activation::relu}, some(t, {3, 4}), some(t, {5, 4}), some(t, {4})); }}};
  }
};

/// The operands are x, weight, a, b, then `read` if kReads, and bias if it is there.
template <>
struct GradCase<Op::adapted_linear> {
  static constexpr double kScale = 1.5;

  template <bool kReads>
  static Tensor op(Tape&, std::span<const Tensor> t) {
    constexpr std::size_t kBias = kReads ? 5 : 4;
    return adapted_linear(t[0], t[1], {.a = t[2], .b = t[3], .scale = kScale, .read = kReads ? t[4] : Tensor{}},
                          t.size() > kBias ? t[kBias] : Tensor{});
  }
  template <bool kReads>
  static Tensor definition(Tape&, std::span<const Tensor> t) {
    constexpr std::size_t kBias = kReads ? 5 : 4;
    const Tensor low = scale(linear(t[kReads ? 4 : 0], t[2]), kScale);
    return add(linear(t[0], t[1], t.size() > kBias ? t[kBias] : Tensor{}), linear(low, t[3]));
  }
  static std::vector<Sample> samples() {
    const auto x = operand({3, 4}, 1), weight = operand({5, 4}, 2), a = operand({2, 4}, 3), b = operand({5, 2}, 4), bias = operand({5}, 5);
    return {{"with bias", {x, weight, a, b, bias}, op<false>, definition<false>, {}},
            {"without bias", {x, weight, a, b}, op<false>, definition<false>, {}},
            {"of another x", {x, weight, a, b, operand({3, 4}, 6), bias}, op<true>, definition<true>, {}},
            {"of rank 3", {operand({2, 3, 4}, 1), weight, operand({1, 4}, 3), operand({5, 1}, 4), bias}, op<false>, definition<false>, {}},
            {"square",
             {operand({4, 4}, 1), operand({4, 4}, 2), operand({4, 4}, 3), operand({4, 4}, 4), operand({4, 4}, 6), operand({4}, 5)},
             op<true>,
             definition<true>,
             {}}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (const Sizes& s : ragged_sizes()) {
      samples.push_back({concat(s.m, " by ", s.n, " by ", s.k),
                         {operand({s.m, s.k}, 1), operand({s.n, s.k}, 2), operand({3, s.k}, 3), operand({s.n, 3}, 4), operand({s.n}, 5)},
                         op<false>,
                         {},
                         {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    const auto of = [](Shape read, Shape a, Shape b) {
      return [=](Tape& t) { adapted_linear(some(t, {3, 4}), some(t, {5, 4}), {.a = some(t, a), .b = some(t, b), .read = some(t, read)}); };
    };
    return {{"b of another width", of({3, 4}, {2, 4}, {4, 2})},
            {"b of another rank", of({3, 4}, {2, 4}, {5, 3})},
            {"a of another width", of({3, 4}, {2, 3}, {5, 2})},
            {"another x with other rows", of({2, 4}, {2, 4}, {5, 2})}};
  }
};

}  // namespace dikkat::gradcheck
