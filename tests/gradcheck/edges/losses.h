#pragma once

#include "tests/gradcheck/cases/losses.h"
#include "tests/gradcheck/cases/rows.h"
#include "tests/gradcheck/edge.h"

// The edges of losses.
namespace dikkat::gradcheck {

/// A loss of elements, as the sum of a matrix.
template <Op op>
struct ElementLossEdges {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns", 5}};
  static constexpr bool kHasRows = false;
  static Sample sample(const ElementLoss& loss, Extents e) { return loss.with_oracle("", {e[0], e[1]}, Reduction::sum); }
  /// Points of the terms.
  static std::vector<Point> terms(const ElementLoss& loss, const std::vector<std::array<double, 2>>& x,
                                  const std::vector<Value<2>>& values) {
    return points_at<2>(loss.op(Reduction::none), x, values);
  }
};

template <>
struct EdgeCase<Op::mse_loss> : ElementLossEdges<Op::mse_loss> {
  static Sample at(Extents e) { return sample(GradCase<Op::mse_loss>::loss(), e); }
  static std::vector<Point> points() {
    return terms(GradCase<Op::mse_loss>::loss(), {{kInf, 0}, {0, kInf}, {kInf, kInf}, {2, 2}},
                 {{kInf, {kInf, -kInf}}, {kInf, {-kInf, kInf}}, {kNaN, {kNaN, kNaN}}, {0, {0, 0}}});
  }
};

template <>
struct EdgeCase<Op::huber_loss> : ElementLossEdges<Op::huber_loss> {
  static Sample at(Extents e) { return sample(GradCase<Op::huber_loss>::loss(1), e); }
  static std::vector<Point> points() {
    return terms(GradCase<Op::huber_loss>::loss(0.5), {{kInf, 0}, {-kInf, 0}, {0, kInf}, {0.5, 0}, {2, 2}, {kNaN, 0}, {kInf, kInf}},
                 {{kInf, {0.5, -0.5}},
                  {kInf, {-0.5, 0.5}},
                  {kInf, {-0.5, 0.5}},
                  {0.125, {0.5, -0.5}},
                  {0, {0, 0}},
                  {kNaN, {kNaN, kNaN}},
                  {kNaN, {kNaN, kNaN}}});
  }
};

template <>
struct EdgeCase<Op::binary_cross_entropy> : ElementLossEdges<Op::binary_cross_entropy> {
  static Sample at(Extents e) { return sample(GradCase<Op::binary_cross_entropy>::loss(), e); }
  static std::vector<Point> points() {
    return terms(GradCase<Op::binary_cross_entropy>::loss(),
                 {{kInf, 1}, {-kInf, 0}, {kInf, 0}, {-kInf, 1}, {kInf, 0.25}, {-kInf, 0.75}, {-kInf, 0.25}, {0, 0}, {0, 1}},
                 {{0, {0, -kInf}},
                  {0, {0, kInf}},
                  {kInf, {1, -kInf}},
                  {kInf, {-1, kInf}},
                  {kInf, {0.75, -kInf}},
                  {kInf, {-0.75, kInf}},
                  {kInf, {-0.25, kInf}},
                  {0.6931471806, {0.5, 0}},
                  {0.6931471806, {-0.5, 0}}});
  }
};

template <>
struct EdgeCase<Op::kl_divergence> : ElementLossEdges<Op::kl_divergence> {
  static Sample at(Extents e) { return sample(GradCase<Op::kl_divergence>::loss(), e); }
  static std::vector<Point> points() {
    return terms(GradCase<Op::kl_divergence>::loss(), {{-kInf, 0}, {-kInf, 0.5}, {-1, 0}, {0, 1}},
                 {{0, {0, 0}}, {kInf, {-0.5, kInf}}, {0, {0, 0}}, {0, {-1, 1}}});
  }
};

template <>
struct EdgeCase<Op::cross_entropy> {
  static constexpr Extent kExtents[] = {{"rows", 4}, {"classes", 5, 1}};
  static constexpr bool kHasRows = false;
  static Sample at(Extents e) {
    const index rows = e[0];
    const auto op = [=](Tape& tape, std::span<const Tensor> t) {
      return cross_entropy(t[0], ids(tape, {rows}, std::vector<std::int32_t>(static_cast<std::size_t>(rows))), {.normalizer = 4});
    };
    return {"", {operand({rows, e[1]}, 1)}, op, {}, {}};
  }
  static std::vector<Point> points() {
    const auto of_target = [](std::int32_t target) {
      return [target](Tape& tape, std::span<const Tensor> t) { return cross_entropy(t[0], ids(tape, {1}, {target})); };
    };
    const auto weighted = [](Tape& tape, std::span<const Tensor> t) {
      return cross_entropy(t[0], ids(tape, {2}, {0, 0}), {.weights = tape.input<float>({2}, std::vector<float>{1, 0}), .normalizer = 1});
    };
    return {{"a class that is masked", of_target(1), {{-kInf, 0}}, {0}, {1}, {{0, 0}}, {{1, 2}}},
            {"a target that is masked", of_target(0), {{-kInf, 0}}, {kInf}, {1}, {{-1, 1}}, {{1, 2}}},
            {"NaN in a row that does not count", weighted, {{0, 0, kNaN, kInf}}, {0.6931471806}, {1}, {{-0.5, 0.5, 0, 0}}, {{2, 2}}}};
  }
};

template <>
struct EdgeCase<Op::linear_cross_entropy> {
  static constexpr Extent kExtents[] = {{"rows", 4}, {"columns", 3}, {"classes", 5, 1}};
  static constexpr bool kHasRows = false;
  static Sample at(Extents e) {
    const index rows = e[0];
    const auto op = [=](Tape& tape, std::span<const Tensor> t) {
      return linear_cross_entropy(t[0], t[1], ids(tape, {rows}, std::vector<std::int32_t>(static_cast<std::size_t>(rows))),
                                  {.normalizer = 4});
    };
    return {"", {operand({rows, e[1]}, 1), operand({e[2], e[1]}, 2)}, op, {}, {}};
  }
  static std::vector<Point> points() {
    const auto weighted = [](Tape& tape, std::span<const Tensor> t) {
      return linear_cross_entropy(t[0], t[1], ids(tape, {2}, {0, 0}),
                                  {.weights = tape.input<float>({2}, std::vector<float>{1, 0}), .normalizer = 1});
    };
    return {{"a row that does not count", weighted, {{2, 9}, {0, 0}}, {0.6931471806}, {1}, {{0, 0}, {-1, 1}}, {{2, 1}, {2, 1}}}};
  }
};

}  // namespace dikkat::gradcheck
