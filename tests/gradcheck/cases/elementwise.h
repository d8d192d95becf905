#pragma once

#include <cmath>

#include "autograd/base/broadcast.h"
#include "autograd/ops/activation.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/elementwise.h"
#include "tests/gradcheck/case.h"

// The cases of arithmetic, the functions of one number, and dropout.
namespace dikkat::gradcheck {

/// The place in an array of shape `own` of element i of the common shape.
inline index place_in(const Shape& own, const Shape& common, index i) {
  index place = 0, step = 1;
  for (int axis = 1; axis <= common.rank(); ++axis) {
    const index extent = axis <= own.rank() ? own[-axis] : 1;
    place += extent == 1 ? 0 : i % common[-axis] * step;
    i /= common[-axis];
    step *= extent;
  }
  return place;
}

/// y[i] = f(a[i], b[i]), where b may be one row for all.
template <class F>
Oracle pairwise(F f) {
  return [f](std::span<const std::vector<double>> x) {
    auto y = x[0];
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = f(y[i], x[1][i % x[1].size()]);
    }
    return y;
  };
}

template <class F>
Oracle each(F f) {
  return [f](std::span<const std::vector<double>> x) {
    auto y = x[0];
    for (double& value : y) {
      value = f(value);
    }
    return y;
  };
}

/// Samples of add or multiply: equal shapes, one row for all rows, a vector; and the ragged ones.
inline std::vector<Sample> pair_samples(const Function& op, const Oracle& oracle) {
  return {{"equal shapes", {operand({3, 5}, 1), operand({3, 5}, 2)}, op, {}, oracle},
          {"rank 4", {operand({2, 1, 3, 5}, 1), operand({2, 1, 3, 5}, 2)}, op, {}, oracle},
          {"a row for all rows", {operand({2, 3, 5}, 1), operand({5}, 2)}, op, {}, oracle},
          {"vectors", {operand({17}, 1), operand({17}, 2)}, op, {}, oracle},
          {"scalars", {operand({}, 1), operand({}, 2)}, op, {}, oracle}};
}
/// Samples of an op of two operands that repeat along different axes, in [low, high].
template <class F>
std::vector<Sample> broadcast_samples(const Function& op, F f, float low = -2, float high = 2) {
  std::vector<Sample> samples;
  const std::pair<Shape, Shape> shapes[] = {{{3, 5}, {3, 5}},    {{3, 5}, {5}},       {{5}, {3, 5}},
                                            {{3, 1}, {1, 5}},    {{2, 1, 3}, {4, 3}}, {{}, {2, 3}},
                                            {{2, 3, 4}, {3, 1}}, {{17}, {17}},        {{2, 1, 2, 1, 3}, {2, 1, 4, 1}}};
  std::uint64_t seed = 1;
  for (const auto& pair : shapes) {
    const Shape a = pair.first, b = pair.second;
    const Shape common = broadcast_shape("sample", a, b);
    const Oracle oracle = [=](std::span<const std::vector<double>> x) {
      std::vector<double> y(static_cast<std::size_t>(common.size()));
      for (index i = 0; i < common.size(); ++i) {
        y[static_cast<std::size_t>(i)] =
            f(x[0][static_cast<std::size_t>(place_in(a, common, i))], x[1][static_cast<std::size_t>(place_in(b, common, i))]);
      }
      return y;
    };
    samples.push_back({concat(a, " and ", b), {operand(a, seed, low, high), operand(b, seed + 1, low, high)}, op, {}, oracle});
    seed += 2;
  }
  return samples;
}
inline std::vector<Sample> ragged_broadcasts(const Function& op, float low = -2, float high = 2) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
    const index rows = kRaggedSizes[i];
    const index cols = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
    const Shape other = i % 3 == 0 ? Shape{rows, cols} : i % 3 == 1 ? Shape{cols} : Shape{rows, 1};
    samples.push_back(
        {concat(rows, " by ", cols, " and ", other), {operand({rows, cols}, 1, low, high), operand(other, 2, low, high)}, op, {}, {}});
  }
  samples.push_back({"several blocks and a column", {operand({257, 129}, 1, low, high), operand({257, 1}, 2, low, high)}, op, {}, {}});
  return samples;
}
inline std::vector<Sample> ragged_pairs(const Function& op) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
    const index rows = kRaggedSizes[i];
    const index cols = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
    samples.push_back({concat(rows, " by ", cols), {operand({rows, cols}, 1), operand({rows, cols}, 2)}, op, {}, {}});
    samples.push_back({concat(rows, " by ", cols, " and a row"), {operand({rows, cols}, 1), operand({cols}, 2)}, op, {}, {}});
  }
  samples.push_back({"several blocks", {operand({257, 129}, 1), operand({257, 129}, 2)}, op, {}, {}});
  samples.push_back({"several blocks and a row", {operand({257, 129}, 1), operand({129}, 2)}, op, {}, {}});
  return samples;
}
template <class F>
std::vector<Misfit> pair_misfits(F op) {
  return {{"other columns", [op](Tape& t) { op(some(t, {3, 5}), some(t, {3, 4})); }},
          {"a row of columns", [op](Tape& t) { op(some(t, {3, 5}), some(t, {3})); }},
          {"other rows", [op](Tape& t) { op(some(t, {2, 5}), some(t, {3, 5})); }}};
}

template <>
struct GradCase<Op::add> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return add(t[0], t[1]); }
  static std::vector<Sample> samples() {
    auto samples = pair_samples(op, pairwise([](double a, double b) { return a + b; }));
    for (Sample& sample : broadcast_samples(op, [](double a, double b) { return a + b; })) {
      samples.push_back(std::move(sample));
    }
    return samples;
  }
  static std::vector<Sample> ragged() { return ragged_pairs(op); }
  static std::vector<Misfit> misfits() {
    return pair_misfits([](Tensor a, Tensor b) { return add(a, b); });
  }
};

template <>
struct GradCase<Op::multiply> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return multiply(t[0], t[1]); }
  static std::vector<Sample> samples() {
    auto samples = pair_samples(op, pairwise([](double a, double b) { return a * b; }));
    for (Sample& sample : broadcast_samples(op, [](double a, double b) { return a * b; })) {
      samples.push_back(std::move(sample));
    }
    return samples;
  }
  static std::vector<Sample> ragged() { return ragged_pairs(op); }
  static std::vector<Misfit> misfits() {
    return pair_misfits([](Tensor a, Tensor b) { return multiply(a, b); });
  }
};

template <>
struct GradCase<Op::subtract> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return subtract(t[0], t[1]); }
  static std::vector<Sample> samples() {
    return broadcast_samples(op, [](double a, double b) { return a - b; }, -2, 2);
  }
  static std::vector<Sample> ragged() { return ragged_broadcasts(op, -2, 2); }
  static std::vector<Misfit> misfits() {
    return pair_misfits([](Tensor a, Tensor b) { return subtract(a, b); });
  }
};

template <>
struct GradCase<Op::divide> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return divide(t[0], t[1]); }
  static std::vector<Sample> samples() {
    return broadcast_samples(op, [](double a, double b) { return a / b; }, 0.5F, 3);
  }
  static std::vector<Sample> ragged() { return ragged_broadcasts(op, 0.5F, 3); }
  static std::vector<Misfit> misfits() {
    return pair_misfits([](Tensor a, Tensor b) { return divide(a, b); });
  }
};

template <>
struct GradCase<Op::maximum> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return maximum(t[0], t[1]); }
  static std::vector<Sample> samples() {
    return broadcast_samples(op, [](double a, double b) { return a > b ? a : b; }, -2, 2);
  }
  static std::vector<Sample> ragged() { return ragged_broadcasts(op, -2, 2); }
  static std::vector<Misfit> misfits() {
    return pair_misfits([](Tensor a, Tensor b) { return maximum(a, b); });
  }
};

template <>
struct GradCase<Op::minimum> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return minimum(t[0], t[1]); }
  static std::vector<Sample> samples() {
    return broadcast_samples(op, [](double a, double b) { return a < b ? a : b; }, -2, 2);
  }
  static std::vector<Sample> ragged() { return ragged_broadcasts(op, -2, 2); }
  static std::vector<Misfit> misfits() {
    return pair_misfits([](Tensor a, Tensor b) { return minimum(a, b); });
  }
};

template <>
struct GradCase<Op::weighted_sum> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return weighted_sum(t[0], t[1], t[2], t[3]); }
  static Sample sample(std::string name, Shape shape) {
    return {std::move(name), {operand(shape, 1), operand(shape, 2), operand({1}, 3), operand({1}, 4)}, op, {}, {}};
  }
  static std::vector<Sample> samples() {
    const Oracle oracle = [](std::span<const std::vector<double>> x) {
      auto y = x[0];
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = x[2][0] * y[i] + x[3][0] * x[1][i];
      }
      return y;
    };
    std::vector<Sample> all{sample("a matrix", {3, 7}), sample("rank 3", {2, 3, 5}), sample("one number", {1})};
    for (Sample& each : all) {
      each.oracle = oracle;
    }
    return all;
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> all;
    for (const index size : kRaggedSizes) {
      all.push_back(sample(concat(size), {size}));
    }
    all.push_back(sample("several blocks", {257, 129}));
    return all;
  }
  static std::vector<Misfit> misfits() {
    return {{"two shapes", [](Tape& t) { weighted_sum(some(t, {3, 5}), some(t, {5, 3}), some(t, {1}), some(t, {1})); }},
            {"a factor for each column", [](Tape& t) { weighted_sum(some(t, {3, 5}), some(t, {3, 5}), some(t, {5}), some(t, {1})); }}};
  }
};

inline std::vector<Sample> ragged_singles(const Function& op, float low = -3, float high = 3) {
  std::vector<Sample> samples;
  for (const index size : kRaggedSizes) {
    samples.push_back({concat(size), {operand({size}, 1, low, high)}, op, {}, {}});
  }
  samples.push_back({"several blocks", {operand({257, 129}, 1, low, high)}, op, {}, {}});
  return samples;
}

template <>
struct GradCase<Op::scale> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return scale(t[0], -0.75); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1)}, op, {}, each([](double x) { return -0.75 * x; })},
            {"by zero", {operand({17}, 1)}, [](Tape&, std::span<const Tensor> t) { return scale(t[0], 0); }, {}, each([](double) {
               return 0.0;
             })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::gelu> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return gelu(t[0]); }
  static Tensor definition(Tape&, std::span<const Tensor> t) {
    const Tensor x = t[0];
    const Tensor cubic = add(x, scale(multiply(multiply(x, x), x), 0.044715));
    const Tensor half = scale(x, 0.5);
    return add(half, multiply(half, tanh(scale(cubic, std::sqrt(2 / 3.14159265358979323846)))));
  }
  static std::vector<Sample> samples() { return {{"a matrix", {operand({3, 15}, 1, -6, 6)}, op, definition, {}}}; }
  static std::vector<Sample> ragged() { return ragged_singles(op, -8, 8); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::relu> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return relu(t[0]); }
  static std::vector<Sample> samples() {
    Operand x = operand({3, 7}, 1);
    for (float& value : x.values) {  // away from the kink
      value += value < 0 ? -0.125F : 0.125F;
    }
    return {{"a matrix", {x}, op, {}, each([](double v) { return v > 0 ? v : 0; })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::relu2> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return relu2(t[0]); }
  static Tensor definition(Tape&, std::span<const Tensor> t) { return multiply(relu(t[0]), relu(t[0])); }
  static std::vector<Sample> samples() { return {{"a matrix", {operand({3, 7}, 1)}, op, definition, {}}}; }
  static std::vector<Sample> ragged() { return ragged_singles(op); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::silu> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return silu(t[0]); }
  static Tensor definition(Tape&, std::span<const Tensor> t) { return multiply(t[0], sigmoid(t[0])); }
  static std::vector<Sample> samples() { return {{"a matrix", {operand({3, 15}, 1, -9, 9)}, op, definition, {}}}; }
  static std::vector<Sample> ragged() { return ragged_singles(op, -20, 20); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::gated> {
  template <Activation kind>
  static Tensor op(Tape&, std::span<const Tensor> t) {
    return gated(kind, t[0]);
  }
  template <Activation kind>
  static Tensor definition(Tape&, std::span<const Tensor> t) {
    const index cols = t[0].shape().cols() / 2;
    return multiply(activate({kind, false}, slice(t[0], -1, 0, cols)), slice(t[0], -1, cols, cols));
  }
  static std::vector<Sample> samples() {
    return {{"silu", {operand({3, 14}, 1, -6, 6)}, op<Activation::silu>, definition<Activation::silu>, {}},
            {"gelu", {operand({3, 14}, 1, -6, 6)}, op<Activation::gelu>, definition<Activation::gelu>, {}},
            {"relu", {operand({3, 14}, 1)}, op<Activation::relu>, definition<Activation::relu>, {}},
            {"relu2, of rank 3", {operand({2, 2, 34}, 1)}, op<Activation::relu2>, definition<Activation::relu2>, {}},
            {"a vector", {operand({2}, 1)}, op<Activation::silu>, definition<Activation::silu>, {}}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index rows = kRaggedSizes[i];
      const index cols = 2 * kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
      samples.push_back({concat(rows, " by ", cols), {operand({rows, cols}, 1, -8, 8)}, op<Activation::silu>, {}, {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"an odd number of columns", [](Tape& t) { gated(Activation::silu, some(t, {3, 5})); }},
            {"a scalar", [](Tape& t) { gated(Activation::silu, some(t, {})); }}};
  }
};

template <>
struct GradCase<Op::sigmoid> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return sigmoid(t[0]); }
  static Tensor definition(Tape& tape, std::span<const Tensor> t) {
    const Tensor x = t[0];
    return power(add(exp(scale(x, -1)), ones(tape, x.dtype(), x.shape())), -1);
  }
  static std::vector<Sample> samples() { return {{"a matrix", {operand({3, 15}, 1, -6, 6)}, op, definition, {}}}; }
  static std::vector<Sample> ragged() { return ragged_singles(op, -20, 20); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::tanh> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return tanh(t[0]); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1)}, op, {}, each([](double x) { return std::tanh(x); })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::exp> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return exp(t[0]); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1)}, op, {}, each([](double x) { return std::exp(x); })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::log> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return log(t[0]); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1, 0.25F, 4)}, op, {}, each([](double x) { return std::log(x); })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op, 0.25F, 4); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::power> {
  static Function op(double exponent) {
    return [exponent](Tape&, std::span<const Tensor> t) { return power(t[0], exponent); };
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    for (const double e : {-1.0, -0.5, 2.0, 2.5}) {
      samples.push_back({concat("to the ", e), {operand({3, 7}, 1, 0.5F, 3)}, op(e), {}, each([e](double x) { return std::pow(x, e); })});
    }
    const auto tensors = [](Tape&, std::span<const Tensor> t) { return power(t[0], t[1]); };
    for (Sample& sample : broadcast_samples(tensors, [](double a, double b) { return std::pow(a, b); }, 0.5F, 3)) {
      samples.push_back(std::move(sample));
    }
    samples.push_back({"a square of negatives", {operand({9}, 1, -3, -1)}, op(2), {}, each([](double x) { return x * x; })});
    return samples;
  }
  static std::vector<Sample> ragged() { return ragged_singles(op(-0.5), 0.25F, 4); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::abs> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return abs(t[0]); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1, 0.25F, 3)}, op, {}, each([](double x) { return std::abs(x); })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op, 0.25F, 3); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::square> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return square(t[0]); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1, -2, 2)}, op, {}, each([](double x) { return x * x; })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op, -2, 2); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::sqrt> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return sqrt(t[0]); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1, 0.25F, 4)}, op, {}, each([](double x) { return std::sqrt(x); })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op, 0.25F, 4); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::rsqrt> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return rsqrt(t[0]); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1, 0.25F, 4)}, op, {}, each([](double x) { return 1 / std::sqrt(x); })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op, 0.25F, 4); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::sin> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return sin(t[0]); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1, -7, 7)}, op, {}, each([](double x) { return std::sin(x); })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op, -7, 7); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::cos> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return cos(t[0]); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1, -7, 7)}, op, {}, each([](double x) { return std::cos(x); })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op, -7, 7); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::erf> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return erf(t[0]); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1, -3, 3)}, op, {}, each([](double x) { return std::erf(x); })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op, -3, 3); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::clamp> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return clamp(t[0], -0.5, 0.75); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1, -2, 2)}, op, {}, each([](double x) { return x < -0.5 ? -0.5 : x > 0.75 ? 0.75 : x; })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op, -2, 2); }
  static std::vector<Misfit> misfits() {
    return {{"bounds exchanged", [](Tape& t) { clamp(some(t, {3}), 1, 0); }}};
  }
};

template <>
struct GradCase<Op::softplus> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return softplus(t[0]); }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1, -9, 9)}, op, {}, each([](double x) { return std::log1p(std::exp(x)); })}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op, -9, 9); }
  static std::vector<Misfit> misfits() { return {}; }
};

template <>
struct GradCase<Op::where> {
  /// The condition is a third of zeros. It has no gradient, so it is not an operand here.
  static Tensor op(Tape& tape, std::span<const Tensor> t) {
    std::vector<double> condition(static_cast<std::size_t>(t[0].size()));
    for (std::size_t i = 0; i < condition.size(); ++i) {
      condition[i] = static_cast<double>(i % 3);
    }
    const DType dtype = t[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
    return where(constant(tape, dtype, t[0].shape(), condition), t[0], t[1]);
  }
  static std::vector<Sample> samples() {
    const Oracle oracle = [](std::span<const std::vector<double>> x) {
      auto y = x[0];
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = i % 3 != 0 ? x[0][i] : x[1][i % x[1].size()];
      }
      return y;
    };
    return {{"equal shapes", {operand({3, 5}, 1), operand({3, 5}, 2)}, op, {}, oracle},
            {"a row", {operand({3, 5}, 1), operand({5}, 2)}, op, {}, oracle}};
  }
  static std::vector<Sample> ragged() { return ragged_pairs(op); }
  static std::vector<Misfit> misfits() {
    return {{"shapes that do not fit", [](Tape& t) { where(some(t, {2}), some(t, {3}), some(t, {3})); }}};
  }
};

template <>
struct GradCase<Op::elementwise> {
  static Tensor op(Tape&, std::span<const Tensor> t) {
    return elementwise([](auto x, auto y) { return x * tanh(y) + 1.5 / (1 + exp(-x)); }, t[0], t[1]);
  }
  static std::vector<Sample> samples() {
    return broadcast_samples(op, [](double x, double y) { return x * std::tanh(y) + 1.5 / (1 + std::exp(-x)); });
  }
  static std::vector<Sample> ragged() { return ragged_broadcasts(op); }
  static std::vector<Misfit> misfits() {
    return pair_misfits([](Tensor a, Tensor b) { return elementwise([](auto x, auto y) { return x - y; }, a, b); });
  }
};

template <>
struct GradCase<Op::dropout> {
  static RandomStream stream() { return {7, "dropout", 3}; }
  static Function op(double p, index first) {
    return [=](Tape&, std::span<const Tensor> t) { return dropout(t[0], p, stream(), first); };
  }
  static Function definition(const DropoutOptions& o) {
    return [=](Tape& tape, std::span<const Tensor> t) {
      std::vector<double> mask(static_cast<std::size_t>(t[0].size()));
      for (std::size_t i = 0; i < mask.size(); ++i) {
        mask[i] = o.stream.word(o.first + static_cast<index>(i)) * 0x1p-32 < o.probability ? 0 : 1 / (1 - o.probability);
      }
      return multiply(t[0], constant(tape, t[0].dtype(), t[0].shape(), mask));
    };
  }
  static Function definition(double p, index first) { return definition({.probability = p, .stream = stream(), .first = first}); }
  static std::vector<Sample> samples() {
    return {{"from the first element", {operand({5, 7}, 1)}, op(0.25, 0), definition(0.25, 0), {}},
            {"from within a draw", {operand({5, 7}, 1)}, op(0.5, 13), definition(0.5, 13), {}},
            {"nearly all", {operand({5, 7}, 1)}, op(0.9, 1), definition(0.9, 1), {}}};
  }
  static std::vector<Sample> ragged() { return ragged_singles(op(0.25, 6)); }
  static std::vector<Misfit> misfits() {
    const auto with = [](double p) { return [p](Tape& t) { dropout(some(t, {3}), p, stream()); }; };
    return {{"probability 1", with(1)}, {"a negative probability", with(-0.1)}, {"probability NaN", with(std::nan(""))}};
  }
};

}  // namespace dikkat::gradcheck
