#pragma once

#include <algorithm>
#include <cmath>

#include "autograd/ops/basic.h"
#include "tests/gradcheck/cases/rows.h"
#include "tests/gradcheck/cases/shapes.h"

// The cases of sum, mean, max, min, logsumexp, variance, log_softmax and cumsum.
namespace dikkat::gradcheck {

/// An op along axes; none: all.
using AlongAxes = std::function<Tensor(Tensor x, const Axes& axes, bool keepdim)>;
/// A result from its elements, in row-major order.
using OfTerms = std::function<double(const std::vector<double>&)>;

/// The elements of each result, in row-major order.
inline std::vector<std::vector<double>> terms_along(const Shape& shape, const Axes& axes, const std::vector<double>& x) {
  std::vector<bool> is_reduced(static_cast<std::size_t>(shape.rank()), axes.all());
  for (const int axis : axes.list()) {
    is_reduced[static_cast<std::size_t>(axis < 0 ? axis + shape.rank() : axis)] = true;
  }
  std::size_t results = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    results *= is_reduced[static_cast<std::size_t>(axis)] ? 1 : static_cast<std::size_t>(shape[axis]);
  }
  std::vector<std::vector<double>> terms(results);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t rest = i, result = 0, step = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      if (!is_reduced[static_cast<std::size_t>(axis)]) {
        result += rest % extent * step;
        step *= extent;
      }
      rest /= extent;
    }
    terms[result].push_back(x[i]);
  }
  return terms;
}

inline Oracle along_oracle(const Shape& shape, const Axes& axes, const OfTerms& f) {
  return [=](std::span<const std::vector<double>> x) {
    std::vector<double> y;
    for (const auto& terms : terms_along(shape, axes, x[0])) {
      y.push_back(f(terms));
    }
    return y;
  };
}

inline Function along(const AlongAxes& op, const Axes& axes, bool keepdim = false) {
  return [=](Tape&, std::span<const Tensor> t) { return op(t[0], axes, keepdim); };
}

/// Samples along all kinds of axes.
inline std::vector<Sample> along_samples(const AlongAxes& op, const OfTerms& f) {
  std::vector<Sample> samples;
  const auto add_sample = [&](std::string name, const Shape& shape, const Axes& axes, bool keepdim = false) {
    samples.push_back({std::move(name), {operand(shape, 1)}, along(op, axes, keepdim), {}, along_oracle(shape, axes, f)});
  };
  add_sample("all elements", {3, 7}, {});
  add_sample("rows", {3, 7}, -1);
  add_sample("columns", {3, 7}, 0);
  add_sample("a middle axis, which stays", {2, 5, 3}, 1, true);
  add_sample("the first and last axes", {2, 3, 5}, {0, 2});
  add_sample("the last two axes", {3, 2, 4}, {-1, -2});
  add_sample("two axes apart, before others", {2, 3, 4, 2}, {0, 2});
  add_sample("two axes apart, behind others", {2, 3, 2, 5}, {1, 3}, true);
  add_sample("an axis of 1 beside others", {3, 1, 4}, {1, 2});
  add_sample("many narrow rows", {2, 171, 3}, 1);
  return samples;
}

/// Samples that are cut into tiles and chunks.
inline std::vector<Sample> along_ragged(const AlongAxes& op) {
  std::vector<Sample> samples = ragged_matrices(along(op, -1));
  for (Sample& sample : ragged_matrices(along(op, 0))) {
    sample.name += ", down";
    samples.push_back(std::move(sample));
  }
  const auto add_sample = [&](std::string name, Shape shape, const Axes& axes) {
    samples.push_back({std::move(name), {operand(shape, 1)}, along(op, axes), {}, {}});
  };
  add_sample("several chunks of a row", {3, 20'011}, 1);
  add_sample("several chunks of columns", {1001, 130}, 0);
  add_sample("several chunks of narrow columns", {2, 9001, 3}, 1);
  add_sample("several tiles of columns", {3, 5, 2100}, 1);
  add_sample("pieces of several rows", {40, 3, 150}, {0, 2});
  return samples;
}

inline std::vector<Misfit> along_misfits(const AlongAxes& op) {
  const auto with = [op](Shape shape, const Axes& axes) { return [=](Tape& t) { op(some(t, shape), axes, false); }; };
  return {{"no such axis", with({2, 3}, 2)},
          {"no such axis from the end", with({2, 3}, {0, -3})},
          {"an axis twice", with({2, 3}, {1, -1})},
          {"an axis of a scalar", with({}, 0)}};
}
inline std::vector<Misfit> misfits_with_empty(const AlongAxes& op) {
  auto misfits = along_misfits(op);
  misfits.push_back({"of nothing", [op](Tape& t) { op(some(t, {3, 0}), {}, false); }});
  misfits.push_back({"of an empty axis", [op](Tape& t) { op(some(t, {3, 0, 2}), 1, false); }});
  return misfits;
}

inline double sum_of_terms(const std::vector<double>& terms) {
  double sum = 0;
  for (const double term : terms) {
    sum += term;
  }
  return sum;
}
inline double mean_of_terms(const std::vector<double>& terms) { return sum_of_terms(terms) / static_cast<double>(terms.size()); }

template <>
struct GradCase<Op::sum> {
  static Tensor op(Tensor x, const Axes& axes, bool keepdim) { return sum(x, axes, keepdim); }
  static std::vector<Sample> samples() {
    auto samples = along_samples(op, sum_of_terms);
    samples.push_back({"a scalar", {operand({}, 1)}, along(op, {}), {}, along_oracle({}, {}, sum_of_terms)});
    return samples;
  }
  static std::vector<Sample> ragged() {
    auto samples = along_ragged(op);
    for (Sample& sample : ragged_matrices(along(op, {}))) {
      sample.name += ", all elements";
      samples.push_back(std::move(sample));
    }
    return samples;
  }
  static std::vector<Misfit> misfits() { return along_misfits(op); }
};

template <>
struct GradCase<Op::mean> {
  static Tensor op(Tensor x, const Axes& axes, bool keepdim) { return mean(x, axes, keepdim); }
  static std::vector<Sample> samples() { return along_samples(op, mean_of_terms); }
  static std::vector<Sample> ragged() { return along_ragged(op); }
  static std::vector<Misfit> misfits() { return misfits_with_empty(op); }
};

template <>
struct GradCase<Op::max> {
  static Tensor op(Tensor x, const Axes& axes, bool keepdim) { return max(x, axes, keepdim); }
  static std::vector<Sample> samples() {
    return along_samples(op, [](const std::vector<double>& terms) { return *std::max_element(terms.begin(), terms.end()); });
  }
  static std::vector<Sample> ragged() { return along_ragged(op); }
  static std::vector<Misfit> misfits() { return misfits_with_empty(op); }
};

template <>
struct GradCase<Op::min> {
  static Tensor op(Tensor x, const Axes& axes, bool keepdim) { return min(x, axes, keepdim); }
  static std::vector<Sample> samples() {
    return along_samples(op, [](const std::vector<double>& terms) { return *std::min_element(terms.begin(), terms.end()); });
  }
  static std::vector<Sample> ragged() { return along_ragged(op); }
  static std::vector<Misfit> misfits() { return misfits_with_empty(op); }
};

template <>
struct GradCase<Op::logsumexp> {
  static Tensor op(Tensor x, const Axes& axes, bool keepdim) { return logsumexp(x, axes, keepdim); }
  static std::vector<Sample> samples() {
    return along_samples(op, [](const std::vector<double>& terms) {
      double sum = 0;
      for (const double term : terms) {
        sum += std::exp(term);
      }
      return std::log(sum);
    });
  }
  static std::vector<Sample> ragged() { return along_ragged(op); }
  static std::vector<Misfit> misfits() { return along_misfits(op); }
};

template <>
struct GradCase<Op::variance> {
  template <int correction>
  static Tensor op(Tensor x, const Axes& axes, bool keepdim) {
    return variance(x, axes, keepdim, correction);
  }
  template <int correction>
  static double of_terms(const std::vector<double>& terms) {
    const double mean = mean_of_terms(terms);
    double sum = 0;
    for (const double term : terms) {
      sum += (term - mean) * (term - mean);
    }
    return sum / (static_cast<double>(terms.size()) - correction);
  }
  static std::vector<Sample> samples() {
    auto samples = along_samples(op<1>, of_terms<1>);
    for (Sample& sample : along_samples(op<0>, of_terms<0>)) {
      sample.name += ", of a population";
      samples.push_back(std::move(sample));
    }
    samples.push_back({"off zero", {operand({3, 7}, 1, 9, 11)}, along(op<1>, 1), {}, along_oracle({3, 7}, 1, of_terms<1>)});
    return samples;
  }
  // The gradient of one element's variance is 0, and what is computed is only rounding. So there are samples of several elements.
  static std::vector<Sample> ragged() {
    auto samples = along_ragged(op<0>);
    std::erase_if(samples, [](const Sample& sample) {
      const Shape& shape = sample.operands[0].shape;
      return std::any_of(shape.extents().begin(), shape.extents().end(), [](index extent) { return extent == 1; });
    });
    return samples;
  }
  static std::vector<Misfit> misfits() {
    auto misfits = misfits_with_empty(op<1>);
    misfits.push_back({"of one element", [](Tape& t) { variance(some(t, {3, 1}), 1); }});
    misfits.push_back({"a large correction", [](Tape& t) { variance(some(t, {3, 4}), 1, false, 4); }});
    misfits.push_back({"correction NaN", [](Tape& t) { variance(some(t, {3, 4}), 1, false, std::nan("")); }});
    return misfits;
  }
};

template <>
struct GradCase<Op::log_softmax> {
  static Function along(int axis) {
    return [axis](Tape&, std::span<const Tensor> t) { return log_softmax(t[0], axis); };
  }
  static Function definition(int axis) {
    return [axis](Tape&, std::span<const Tensor> t) { return log(softmax(t[0], axis)); };
  }
  static std::vector<Sample> samples() {
    return {{"rows", {operand({3, 7}, 1)}, along(-1), definition(-1), {}},
            {"a vector", {operand({17}, 1)}, along(0), definition(0), {}},
            {"columns", {operand({5, 3}, 1)}, along(0), definition(0), {}},
            {"a middle axis", {operand({2, 5, 3}, 1)}, along(1), definition(1), {}}};
  }
  static std::vector<Sample> ragged() {
    auto samples = ragged_matrices(along(-1));
    for (Sample& sample : ragged_matrices(along(0))) {
      sample.name += ", down";
      samples.push_back(std::move(sample));
    }
    samples.push_back({"several tiles of columns", {operand({3, 70, 300}, 1)}, along(1), {}, {}});
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"of a scalar", [](Tape& t) { log_softmax(some(t, {})); }},
            {"no such axis", [](Tape& t) { log_softmax(some(t, {2, 3}), -3); }}};
  }
};

template <>
struct GradCase<Op::cumsum> {
  static Function along(int axis) {
    return [axis](Tape&, std::span<const Tensor> t) { return cumsum(t[0], axis); };
  }
  /// Along the middle axis of (outer, extent, inner).
  static Oracle middle(std::size_t outer, std::size_t extent, std::size_t inner) {
    return [=](std::span<const std::vector<double>> x) {
      std::vector<double> y = x[0];
      for (std::size_t o = 0; o < outer; ++o) {
        for (std::size_t i = inner; i < extent * inner; ++i) {
          y[o * extent * inner + i] += y[o * extent * inner + i - inner];
        }
      }
      return y;
    };
  }
  static std::vector<Sample> samples() {
    return {{"rows", {operand({3, 7}, 1)}, along(-1), {}, middle(3, 7, 1)},
            {"more rows than chains", {operand({11, 3}, 1)}, along(1), {}, middle(11, 3, 1)},
            {"a vector", {operand({17}, 1)}, along(0), {}, middle(1, 17, 1)},
            {"columns", {operand({5, 3}, 1)}, along(0), {}, middle(1, 5, 3)},
            {"a middle axis", {operand({2, 5, 3}, 1)}, along(1), {}, middle(2, 5, 3)}};
  }
  static std::vector<Sample> ragged() {
    auto samples = ragged_matrices(along(-1));
    for (Sample& sample : ragged_matrices(along(0))) {
      sample.name += ", down";
      samples.push_back(std::move(sample));
    }
    samples.push_back({"several sections of rows", {operand({3, 2500}, 1)}, along(1), {}, {}});
    samples.push_back({"a long vector", {operand({30'001}, 1)}, along(0), {}, {}});
    samples.push_back({"several tiles of columns", {operand({2, 40, 600}, 1)}, along(1), {}, {}});
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"of a scalar", [](Tape& t) { cumsum(some(t, {}), 0); }}, {"no such axis", [](Tape& t) { cumsum(some(t, {2, 3}), 2); }}};
  }
};

}  // namespace dikkat::gradcheck
