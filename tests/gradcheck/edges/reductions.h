#pragma once

#include "tests/gradcheck/cases/reductions.h"
#include "tests/gradcheck/edge.h"

// The edges of reductions, softmax and cumsum.
namespace dikkat::gradcheck {

/// A reduction of the rows of a matrix.
template <index least>
struct OfTermsOfRows {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"terms", 5, least}};
  static constexpr bool kHasRows = true;
};
inline Sample terms_sample(const Function& op, Extents e) { return {"", {operand({e[0], e[1]}, 1)}, op, {}, {}}; }

template <>
struct EdgeCase<Op::sum> : OfTermsOfRows<0> {
  static Sample at(Extents e) { return terms_sample(along(GradCase<Op::sum>::op, 1), e); }
  static std::vector<Point> points() {
    const auto op = along(GradCase<Op::sum>::op, -1);
    return {{"an infinity", op, {{kInf, 1}}, {kInf}, {2}, {{2, 2}}, {{1, 2}}},
            {"both infinities", op, {{kInf, -kInf}}, {kNaN}, {2}, {{2, 2}}, {{1, 2}}},
            {"all of nothing", along(GradCase<Op::sum>::op, {}), {{}}, {0}, {1}, {{}}, {{0, 2}}}};
  }
};

template <>
struct EdgeCase<Op::mean> : OfTermsOfRows<1> {
  static Sample at(Extents e) { return terms_sample(along(GradCase<Op::mean>::op, 1), e); }
  static std::vector<Point> points() {
    const auto op = along(GradCase<Op::mean>::op, -1);
    return {{"an infinity", op, {{kInf, 1}}, {kInf}, {2}, {{1, 1}}, {{1, 2}}}};
  }
};

template <>
struct EdgeCase<Op::max> : OfTermsOfRows<1> {
  static Sample at(Extents e) { return terms_sample(along(GradCase<Op::max>::op, 1), e); }
  static std::vector<Point> points() {
    const auto op = along(GradCase<Op::max>::op, -1);
    return {{"ties", op, {{1, 2, 2, 2}}, {2}, {3}, {{0, 3, 0, 0}}, {{1, 4}}},
            {"NaN", op, {{1, kNaN, kInf, kNaN}}, {kNaN}, {3}, {{0, 3, 0, 0}}, {{1, 4}}},
            {"the lowest numbers", op, {{-kInf, -kInf}}, {-kInf}, {kInf}, {{kInf, 0}}, {{1, 2}}}};
  }
};

template <>
struct EdgeCase<Op::min> : OfTermsOfRows<1> {
  static Sample at(Extents e) { return terms_sample(along(GradCase<Op::min>::op, 1), e); }
  static std::vector<Point> points() {
    const auto op = along(GradCase<Op::min>::op, -1);
    return {{"ties", op, {{1, 0, 0, 2}}, {0}, {3}, {{0, 3, 0, 0}}, {{1, 4}}},
            {"NaN", op, {{1, kNaN, -kInf, kNaN}}, {kNaN}, {3}, {{0, 3, 0, 0}}, {{1, 4}}},
            {"the highest numbers", op, {{kInf, kInf}}, {kInf}, {kInf}, {{kInf, 0}}, {{1, 2}}}};
  }
};

template <>
struct EdgeCase<Op::logsumexp> : OfTermsOfRows<0> {
  static Sample at(Extents e) { return terms_sample(along(GradCase<Op::logsumexp>::op, 1), e); }
  static std::vector<Point> points() {
    const auto op = along(GradCase<Op::logsumexp>::op, -1);
    return {{"a masked term", op, {{-kInf, 0}}, {0}, {2}, {{0, 2}}, {{1, 2}}},
            {"a masked term and an infinite gradient", op, {{-kInf, 0}}, {0}, {kInf}, {{0, kInf}}, {{1, 2}}},
            {"no term that counts", op, {{-kInf, -kInf}}, {-kInf}, {0}, {{0, 0}}, {{1, 2}}},
            {"an infinity", op, {{kInf, 0}}, {kInf}, {1}, {{kNaN, 0}}, {{1, 2}}}};
  }
};

template <>
struct EdgeCase<Op::variance> : OfTermsOfRows<2> {
  static Sample at(Extents e) { return terms_sample(along(GradCase<Op::variance>::op<1>, 1), e); }
  static std::vector<Point> points() {
    const auto op = along(GradCase<Op::variance>::op<1>, -1);
    const auto population = along(GradCase<Op::variance>::op<0>, -1);
    return {{"equal numbers", op, {{2, 2}}, {0}, {3}, {{0, 0}}, {{1, 2}}},
            {"equal numbers and an infinite gradient", op, {{2, 2}}, {0}, {kInf}, {{0, 0}}, {{1, 2}}},
            {"one number of a population", population, {{2}}, {0}, {3}, {{0}}, {{1, 1}}},
            {"an infinity", op, {{kInf, 0}}, {kNaN}, {0}, {{0, 0}}, {{1, 2}}}};
  }
};

template <>
struct EdgeCase<Op::softmax> : OfTermsOfRows<0> {
  static constexpr auto op = GradCase<Op::softmax>::op;
  static Sample at(Extents e) { return terms_sample(op, e); }
  static std::vector<Point> points() {
    const auto down = GradCase<Op::softmax>::along(0);
    // The usual repair of rows that are all masked. The second row is one.
    const auto repaired = [](Tape& tape, std::span<const Tensor> t) {
      const Tensor seen = constant(tape, t[0].dtype(), {2, 2}, {1, 1, 0, 0});
      return where(seen, softmax(where(seen, t[0], -kInf)), 0);
    };
    return {{"a masked number", op, {{-kInf, 0, 0}}, {0, 0.5, 0.5}, {1, 2, 0}, {{0, 0.5, -0.5}}, {{1, 3}}},
            {"an infinite gradient of a masked number", op, {{-kInf, 0, 0}}, {0, 0.5, 0.5}, {kInf, 2, 0}, {{0, 0.5, -0.5}}, {{1, 3}}},
            {"the same in a column", down, {{-kInf, 0, 0}}, {0, 0.5, 0.5}, {kInf, 2, 0}, {{0, 0.5, -0.5}}, {{3, 1}}},
            {"all masked", op, {{-kInf, -kInf}}, {kNaN, kNaN}, {1, 0}, {{kNaN, kNaN}}, {{1, 2}}},
            {"all masked without a gradient", op, {{-kInf, -kInf}}, {kNaN, kNaN}, {0, 0}, {{0, 0}}, {{1, 2}}},
            {"all masked without a gradient, in a column", down, {{-kInf, -kInf}}, {kNaN, kNaN}, {0, 0}, {{0, 0}}, {{2, 1}}},
            {"all masked and repaired", repaired, {{0, 0, 3, 4}}, {0.5, 0.5, 0, 0}, {1, 0, 1, 1}, {{0.25, -0.25, 0, 0}}, {{2, 2}}}};
  }
};

template <>
struct EdgeCase<Op::log_softmax> : OfTermsOfRows<0> {
  static Sample at(Extents e) { return terms_sample(GradCase<Op::log_softmax>::along(-1), e); }
  static std::vector<Point> points() {
    const auto op = GradCase<Op::log_softmax>::along(-1), down = GradCase<Op::log_softmax>::along(0);
    const auto product = [](Tape&, std::span<const Tensor> t) { return log_softmax(t[0]) * t[1]; };
    return {{"a masked number", op, {{-kInf, 0}}, {-kInf, 0}, {1, 0}, {{1, -1}}, {{1, 2}}},
            {"in a column", down, {{-kInf, 0}}, {-kInf, 0}, {1, 0}, {{1, -1}}, {{2, 1}}},
            {"all masked without a gradient", op, {{-kInf, -kInf}}, {kNaN, kNaN}, {0, 0}, {{0, 0}}, {{1, 2}}},
            {"times a weight", product, {{-kInf, 0}, {2, 3}}, {-kInf, 0}, {1, 1}, {{2, -2}, {-kInf, 0}}, {{1, 2}, {1, 2}}}};
  }
};

template <>
struct EdgeCase<Op::cumsum> : OfTermsOfRows<0> {
  static Sample at(Extents e) { return terms_sample(GradCase<Op::cumsum>::along(1), e); }
  static std::vector<Point> points() {
    const auto op = GradCase<Op::cumsum>::along(-1);
    return {{"infinities", op, {{1, kInf, -kInf}}, {1, kInf, kNaN}, {1, 2, 3}, {{6, 5, 3}}, {{1, 3}}},
            {"an infinite gradient", op, {{1, 2, 3}}, {1, 3, 6}, {1, kInf, 3}, {{kInf, kInf, 3}}, {{1, 3}}}};
  }
};

}  // namespace dikkat::gradcheck
