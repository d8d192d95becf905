#pragma once

#include <cmath>

#include "autograd/ops/loss.h"
#include "tests/gradcheck/case.h"

// The cases of losses of elements: mse_loss, huber_loss, binary_cross_entropy, kl_divergence. rows.h has those of classes.
namespace dikkat::gradcheck {

/// A loss, its terms by plain arithmetic, and the ranges of its operands.
struct ElementLoss {
  std::function<Tensor(Tensor, Tensor, Reduction)> loss;
  std::function<double(double x, double target)> term;
  float low = -2, high = 2, target_low = -2, target_high = 2;

  Function op(Reduction reduction) const {
    return [*this, reduction](Tape&, std::span<const Tensor> t) { return loss(t[0], t[1], reduction); };
  }
  Sample sample(std::string name, Shape shape, Reduction reduction) const {
    return {std::move(name), {operand(shape, 1, low, high), operand(shape, 2, target_low, target_high)}, op(reduction), {}, {}};
  }
  Sample with_oracle(std::string name, Shape shape, Reduction reduction) const {
    Sample made = sample(std::move(name), shape, reduction);
    made.oracle = [*this, shape, reduction](std::span<const std::vector<double>> x) {
      std::vector<double> terms;
      double sum = 0;
      for (std::size_t i = 0; i < x[0].size(); ++i) {
        terms.push_back(term(x[0][i], x[1][i]));
        sum += terms.back();
      }
      switch (reduction) {
        case Reduction::none: return terms;
        case Reduction::sum: return std::vector<double>{sum};
        case Reduction::mean: return std::vector<double>{sum / static_cast<double>(terms.size())};
        case Reduction::batch_mean: break;
      }
      return std::vector<double>{sum / static_cast<double>(shape[0])};
    };
    return made;
  }
  std::vector<Sample> samples() const {
    return {with_oracle("the mean of a matrix", {3, 7}, Reduction::mean), with_oracle("the sum, of rank 3", {2, 3, 4}, Reduction::sum),
            with_oracle("the mean of a batch", {3, 7}, Reduction::batch_mean), with_oracle("the terms", {3, 7}, Reduction::none),
            with_oracle("of scalars", {}, Reduction::mean)};
  }
  std::vector<Sample> ragged() const {
    std::vector<Sample> all;
    for (const index size : kRaggedSizes) {
      all.push_back(sample(concat(size, " rows"), {size, 3}, Reduction::mean));
    }
    all.push_back(sample("several tiles", {129, 257}, Reduction::batch_mean));
    return all;
  }
  std::vector<Misfit> misfits() const {
    const auto with = [own = loss](Shape x, Shape target, Reduction reduction) {
      return [=](Tape& t) { own(some(t, x), some(t, target), reduction); };
    };
    return {{"a target of another shape", with({2, 3}, {3}, Reduction::mean)},
            {"terms of other shapes", with({2, 3}, {3, 2}, Reduction::none)},
            {"the mean of nothing", with({0, 3}, {0, 3}, Reduction::mean)},
            {"the mean of an empty batch", with({0, 3}, {0, 3}, Reduction::batch_mean)},
            {"a batch of a scalar", with({}, {}, Reduction::batch_mean)}};
  }
};

template <>
struct GradCase<Op::mse_loss> {
  static ElementLoss loss() {
    return {mse_loss, [](double x, double target) { return (x - target) * (x - target); }};
  }
  static std::vector<Sample> samples() { return loss().samples(); }
  static std::vector<Sample> ragged() { return loss().ragged(); }
  static std::vector<Misfit> misfits() { return loss().misfits(); }
};

template <>
struct GradCase<Op::huber_loss> {
  static ElementLoss loss(double delta) {
    return {[delta](Tensor x, Tensor target, Reduction reduction) { return huber_loss(x, target, delta, reduction); },
            [delta](double x, double target) {
              const double size = std::abs(x - target);
              return size <= delta ? size * size / 2 : delta * (size - delta / 2);
            }};
  }
  static std::vector<Sample> samples() {
    auto samples = loss(1).samples();
    samples.push_back(loss(0.25).with_oracle("a small delta", {3, 7}, Reduction::mean));
    return samples;
  }
  static std::vector<Sample> ragged() { return loss(0.7).ragged(); }
  static std::vector<Misfit> misfits() {
    auto misfits = loss(1).misfits();
    misfits.push_back({"delta 0", [](Tape& t) { huber_loss(some(t, {3}), some(t, {3}), 0); }});
    misfits.push_back({"delta NaN", [](Tape& t) { huber_loss(some(t, {3}), some(t, {3}), std::nan("")); }});
    return misfits;
  }
};

template <>
struct GradCase<Op::binary_cross_entropy> {
  static ElementLoss loss() {
    return {binary_cross_entropy,
            [](double x, double target) { return target * std::log1p(std::exp(-x)) + (1 - target) * std::log1p(std::exp(x)); },
            -6,
            6,
            0,
            1};
  }
  static std::vector<Sample> samples() { return loss().samples(); }
  static std::vector<Sample> ragged() { return loss().ragged(); }
  static std::vector<Misfit> misfits() { return loss().misfits(); }
};

// x is positive too, because a check gives one tensor as x and as the target.
template <>
struct GradCase<Op::kl_divergence> {
  static ElementLoss loss() {
    return {kl_divergence, [](double x, double p) { return p * (std::log(p) - x); }, 0.0625F, 1, 0.0625F, 1};
  }
  static std::vector<Sample> samples() { return loss().samples(); }
  static std::vector<Sample> ragged() { return loss().ragged(); }
  static std::vector<Misfit> misfits() { return loss().misfits(); }
};

}  // namespace dikkat::gradcheck
