#pragma once

#include "autograd/ops/reduce.h"
#include "tests/gradcheck/cases/elementwise.h"
#include "tests/gradcheck/edge.h"

// The edges of arithmetic, the functions of one number, and dropout.
namespace dikkat::gradcheck {

/// The call of an op of one operand.
struct OfVector {
  static constexpr Extent kExtents[] = {{"elements", 5}};
  static constexpr bool kHasRows = true;
};
inline Sample vector_sample(const Function& op, Extents e, float low = 0.25F, float high = 2) {
  return {"", {operand({e[0]}, 1, low, high)}, op, {}, {}};
}
/// The call of an op of two operands, of which the second repeats in each row.
struct OfRows {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns", 5}};
  static constexpr bool kHasRows = true;
};
inline Sample rows_sample(const Function& op, Extents e, float low = 0.25F, float high = 2) {
  return {"", {operand({e[0], e[1]}, 1, low, high), operand({e[1]}, 2, low, high)}, op, {}, {}};
}

template <>
struct EdgeCase<Op::abs> : OfVector {
  static constexpr auto op = GradCase<Op::abs>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() { return curve(op, {kInf, -1}, {2, -1}, {0, 0}, {2, 1}, {kInf, 1}); }
};

template <>
struct EdgeCase<Op::square> : OfVector {
  static constexpr auto op = GradCase<Op::square>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() { return curve(op, {kInf, -kInf}, {4, -4}, {0, 0}, {4, 4}, {kInf, kInf}); }
};

template <>
struct EdgeCase<Op::sqrt> : OfVector {
  static constexpr auto op = GradCase<Op::sqrt>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    auto points = curve(op, {kNaN, kNaN}, {kNaN, kNaN}, {0, kInf}, {1.4142135624, 0.3535533906}, {kInf, 0});
    // A branch that is not taken has slope 0, which an infinite slope or NaN does not pass.
    const auto clamped = [](Tape&, std::span<const Tensor> t) { return sqrt(clamp(t[0], 0, 1)); };
    const auto rectified = [](Tape&, std::span<const Tensor> t) { return sqrt(relu(t[0])); };
    const auto chosen = [](Tape&, std::span<const Tensor> t) { return where(t[0] > 0, sqrt(t[0]), 0); };
    points.push_back({"of a clamp", clamped, {{-1, 0.25, 4}}, {0, 0.5, 1}, {1, 1, 1}, {{0, 1, 0}}});
    points.push_back({"of relu", rectified, {{-1, 0.25, 4}}, {0, 0.5, 2}, {1, 1, 1}, {{0, 1, 0.25}}});
    points.push_back({"where it exists", chosen, {{-1, 0, 4}}, {0, 0, 2}, {1, 1, 1}, {{0, 0, 0.25}}});
    return points;
  }
};

template <>
struct EdgeCase<Op::rsqrt> : OfVector {
  static constexpr auto op = GradCase<Op::rsqrt>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() { return curve(op, {kNaN, kNaN}, {kNaN, kNaN}, {kInf, -kInf}, {0.7071067812, -0.1767766953}, {0, 0}); }
};

template <>
struct EdgeCase<Op::exp> : OfVector {
  static constexpr auto op = GradCase<Op::exp>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    return curve(op, {0, 0}, {0.1353352832, 0.1353352832}, {1, 1}, {7.3890560989, 7.3890560989}, {kInf, kInf});
  }
};

template <>
struct EdgeCase<Op::log> : OfVector {
  static constexpr auto op = GradCase<Op::log>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    auto points = curve(op, {kNaN, 0}, {kNaN, -0.5}, {-kInf, kInf}, {0.6931471806, 0.5}, {kInf, 0});
    const auto bounded = [](Tape&, std::span<const Tensor> t) { return log(maximum(t[0], 0)); };
    points.push_back({"of a maximum", bounded, {{-1, 4}}, {-kInf, 1.3862943611}, {1, 1}, {{0, 0.25}}});
    // The entropy of a distribution, some of whose probabilities are 0.
    const auto entropy = [](Tape&, std::span<const Tensor> t) { return where(t[0] > 0, t[0] * log(t[0]), 0); };
    points.push_back({"beside a probability of 0", entropy, {{0, 1}}, {0, 0}, {1, 1}, {{0, 1}}});
    return points;
  }
};

template <>
struct EdgeCase<Op::sin> : OfVector {
  static constexpr auto op = GradCase<Op::sin>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    return curve(op, {kNaN, kNaN}, {-0.9092974268, -0.4161468365}, {0, 1}, {0.9092974268, -0.4161468365}, {kNaN, kNaN});
  }
};

template <>
struct EdgeCase<Op::cos> : OfVector {
  static constexpr auto op = GradCase<Op::cos>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    return curve(op, {kNaN, kNaN}, {-0.4161468365, 0.9092974268}, {1, 0}, {-0.4161468365, -0.9092974268}, {kNaN, kNaN});
  }
};

template <>
struct EdgeCase<Op::erf> : OfVector {
  static constexpr auto op = GradCase<Op::erf>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    return curve(op, {-1, 0}, {-0.9953222650, 0.0206669854}, {0, 1.1283791671}, {0.9953222650, 0.0206669854}, {1, 0});
  }
};

template <>
struct EdgeCase<Op::tanh> : OfVector {
  static constexpr auto op = GradCase<Op::tanh>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    return curve(op, {-1, 0}, {-0.9640275801, 0.0706508249}, {0, 1}, {0.9640275801, 0.0706508249}, {1, 0});
  }
};

template <>
struct EdgeCase<Op::sigmoid> : OfVector {
  static constexpr auto op = GradCase<Op::sigmoid>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    return curve(op, {0, 0}, {0.1192029220, 0.1049935854}, {0.5, 0.25}, {0.8807970780, 0.1049935854}, {1, 0});
  }
};

template <>
struct EdgeCase<Op::softplus> : OfVector {
  static constexpr auto op = GradCase<Op::softplus>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    return curve(op, {0, 0}, {0.1269280110, 0.1192029220}, {0.6931471806, 0.5}, {2.1269280110, 0.8807970780}, {kInf, 1});
  }
};

template <>
struct EdgeCase<Op::gelu> : OfVector {
  static constexpr auto op = GradCase<Op::gelu>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    return curve(op, {0, 0}, {-0.0454023059, -0.0860992566}, {0, 0.5}, {1.9545976941, 1.0860992566}, {kInf, 1});
  }
};

template <>
struct EdgeCase<Op::relu> : OfVector {
  static constexpr auto op = GradCase<Op::relu>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() { return curve(op, {0, 0}, {0, 0}, {0, 0}, {2, 1}, {kInf, 1}); }
};

template <>
struct EdgeCase<Op::relu2> : OfVector {
  static constexpr auto op = GradCase<Op::relu2>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() { return curve(op, {0, 0}, {0, 0}, {0, 0}, {4, 4}, {kInf, kInf}); }
};

template <>
struct EdgeCase<Op::silu> : OfVector {
  static constexpr auto op = GradCase<Op::silu>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    return curve(op, {0, 0}, {-0.2384058440, -0.0907842488}, {0, 0.5}, {1.7615941560, 1.0907842488}, {kInf, 1});
  }
};

template <>
struct EdgeCase<Op::scale> : OfVector {
  static constexpr auto op = GradCase<Op::scale>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    auto points = curve(op, {kInf, -0.75}, {1.5, -0.75}, {0, -0.75}, {-1.5, -0.75}, {-kInf, -0.75});
    const auto by_zero = [](Tape&, std::span<const Tensor> t) { return scale(t[0], 0); };
    points.push_back({"by zero", by_zero, {{1, 2}}, {0, 0}, {kInf, kNaN}, {{0, 0}}});
    return points;
  }
};

template <>
struct EdgeCase<Op::clamp> : OfVector {
  static constexpr auto op = GradCase<Op::clamp>::op;
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() {
    auto points = curve(op, {-0.5, 0}, {-0.5, 0}, {0, 1}, {0.75, 0}, {0.75, 0});
    points.push_back({"at the bounds", op, {{-0.5, 0.75}}, {-0.5, 0.75}, {2, 3}, {{2, 3}}});
    return points;
  }
};

// One formula with a branch, in which both branches are computed.
template <>
struct EdgeCase<Op::elementwise> : OfVector {
  static Tensor op(Tape&, std::span<const Tensor> t) {
    return elementwise([](auto x) { return where(x > 0, 1 / sqrt(x), abs(sqrt(-x) * 0)); }, t[0]);
  }
  static Sample at(Extents e) { return vector_sample(op, e); }
  static std::vector<Point> points() { return curve(op, {kNaN, 0}, {0, 0}, {0, 0}, {0.7071067812, -0.1767766953}, {0, 0}); }
};

template <>
struct EdgeCase<Op::dropout> : OfVector {
  static constexpr index kCount = 9;
  static Sample at(Extents e) { return vector_sample(GradCase<Op::dropout>::op(0.5, 0), e); }
  /// A dropped element may be infinite, and so may its gradient.
  static std::vector<Point> points() {
    Point point{"all infinite", GradCase<Op::dropout>::op(0.5, 0), {{}}, {}, {}, {{}}};
    for (index i = 0; i < kCount; ++i) {
      const bool is_dropped = GradCase<Op::dropout>::stream().word(i) * 0x1p-32 < 0.5;
      point.operands[0].push_back(i % 2 == 0 ? kInf : kNaN);
      point.dy.push_back(i % 3 == 0 ? kInf : kNaN);
      point.y.push_back(is_dropped ? 0 : point.operands[0].back());
      point.gradients[0].push_back(is_dropped ? 0 : point.dy.back());
    }
    return {point};
  }
};

template <>
struct EdgeCase<Op::gated> {
  static constexpr Extent kExtents[] = {{"rows", 3}, {"columns", 5}};
  static constexpr bool kHasRows = true;
  static Sample at(Extents e) {
    return {"",
            {operand({e[0], 2 * e[1]}, 1)},
            GradCase<Op::gated>::op<Activation::silu>,
            GradCase<Op::gated>::definition<Activation::silu>,
            {}};
  }
  // A row is gates | values.
  static std::vector<Point> points() {
    constexpr auto op = GradCase<Op::gated>::op<Activation::relu>;
    return {{"closed beside infinities", op, {{-1, 2, kInf, 3}}, {kNaN, 6}, {1, 1}, {{0, 3, 0, 2}}},
            {"closed for infinite gradients", op, {{-1, 2, 5, 3}}, {0, 6}, {kInf, 0}, {{0, 0, 0, 0}}},
            {"open at infinity", op, {{kInf, 2, 5, kInf}}, {kInf, kInf}, {1, 0}, {{5, 0, kInf, 0}}}};
  }
};

template <>
struct EdgeCase<Op::add> : OfRows {
  static Tensor op(Tape&, std::span<const Tensor> t) { return add(t[0], t[1]); }
  static Sample at(Extents e) { return rows_sample(op, e); }
  static std::vector<Point> points() {
    return pairs(op, {-2, {1, 1}}, {0, {1, 1}}, {1, {1, 1}}, {0, {1, 1}}, {2, {1, 1}}, {-1, {1, 1}}, {4, {1, 1}}, {kInf, {1, 1}},
                 {kInf, {1, 1}}, {-kInf, {1, 1}}, {kInf, {1, 1}});
  }
};

template <>
struct EdgeCase<Op::subtract> : OfRows {
  static Tensor op(Tape&, std::span<const Tensor> t) { return subtract(t[0], t[1]); }
  static Sample at(Extents e) { return rows_sample(op, e); }
  static std::vector<Point> points() {
    return pairs(op, {-2, {1, -1}}, {-4, {1, -1}}, {-5, {1, -1}}, {0, {1, -1}}, {-2, {1, -1}}, {1, {1, -1}}, {0, {1, -1}}, {kInf, {1, -1}},
                 {-kInf, {1, -1}}, {-kInf, {1, -1}}, {kInf, {1, -1}});
  }
};

template <>
struct EdgeCase<Op::multiply> : OfRows {
  static Tensor op(Tape&, std::span<const Tensor> t) { return multiply(t[0], t[1]); }
  static Sample at(Extents e) { return rows_sample(op, e); }
  static std::vector<Point> points() {
    auto points = pairs(op, {0, {0, -2}}, {-4, {2, -2}}, {-6, {3, -2}}, {0, {0, 0}}, {0, {2, 0}}, {0, {-1, 0}}, {4, {2, 2}},
                        {kInf, {2, kInf}}, {kInf, {kInf, 2}}, {-kInf, {3, -kInf}}, {kNaN, {0, kInf}});
    const auto chosen = [](Tape& tape, std::span<const Tensor> t) {
      return where(t[0] > -5, t[0] * constant(tape, t[0].dtype(), {2}, {2, 3}), 0);
    };
    points.push_back({"where it is not taken", chosen, {{-kInf, 1}}, {0, 3}, {1, 1}, {{0, 3}}});
    const auto both = [](Tape&, std::span<const Tensor> t) { return where(t[0] > -5, t[0] * t[1], 0); };
    points.push_back({"where none is taken", both, {{-kInf, 1}, {2, 3}}, {0, 3}, {1, 1}, {{0, 3}, {0, 1}}});
    return points;
  }
};

template <>
struct EdgeCase<Op::divide> : OfRows {
  static Tensor op(Tape&, std::span<const Tensor> t) { return divide(t[0], t[1]); }
  static Sample at(Extents e) { return rows_sample(op, e); }
  static std::vector<Point> points() {
    auto points = pairs(op, {-kInf, {kInf, kInf}}, {-1, {0.5, 0.5}}, {-0.6666666667, {0.3333333333, 0.2222222222}}, {kNaN, {kInf, kNaN}},
                        {0, {0.5, 0}}, {0, {-1, 0}}, {1, {0.5, -0.5}}, {kInf, {0.5, -kInf}}, {0, {0, 0}}, {-kInf, {0.3333333333, kInf}},
                        {kInf, {kInf, -kInf}});
    const auto inverse = [](Tape&, std::span<const Tensor> t) { return divide(1, t[0]); };
    append(points, curve(inverse, {0, 0}, {-0.5, -0.25}, {kInf, -kInf}, {0.5, -0.25}, {0, 0}));
    return points;
  }
};

template <>
struct EdgeCase<Op::maximum> : OfRows {
  static Tensor op(Tape&, std::span<const Tensor> t) { return maximum(t[0], t[1]); }
  static Sample at(Extents e) { return rows_sample(op, e); }
  static std::vector<Point> points() {
    auto points = pairs(op, {0, {0, 1}}, {2, {0, 1}}, {3, {0, 1}}, {0, {1, 0}}, {2, {0, 1}}, {0, {1, 0}}, {2, {1, 0}}, {kInf, {1, 0}},
                        {kInf, {0, 1}}, {3, {0, 1}}, {kInf, {1, 0}});
    const auto with_number = [](Tape&, std::span<const Tensor> t) { return maximum(t[0], 2); };
    append(points, curve(with_number, {2, 0}, {2, 0}, {2, 0}, {2, 1}, {kInf, 1}));
    points.push_back({"beside NaN", op, {{kNaN, 1}, {1, kNaN}}, {kNaN, kNaN}, {1, 1}, {{1, 0}, {0, 1}}});
    return points;
  }
};

template <>
struct EdgeCase<Op::minimum> : OfRows {
  static Tensor op(Tape&, std::span<const Tensor> t) { return minimum(t[0], t[1]); }
  static Sample at(Extents e) { return rows_sample(op, e); }
  static std::vector<Point> points() {
    auto points = pairs(op, {-2, {1, 0}}, {-2, {1, 0}}, {-2, {1, 0}}, {0, {1, 0}}, {0, {1, 0}}, {-1, {0, 1}}, {2, {1, 0}}, {2, {0, 1}},
                        {2, {1, 0}}, {-kInf, {1, 0}}, {0, {0, 1}});
    const auto with_number = [](Tape&, std::span<const Tensor> t) { return minimum(t[0], 2); };
    append(points, curve(with_number, {-kInf, 1}, {-2, 1}, {0, 1}, {2, 1}, {2, 0}));
    points.push_back({"beside NaN", op, {{kNaN, 1}, {1, kNaN}}, {kNaN, kNaN}, {1, 1}, {{1, 0}, {0, 1}}});
    return points;
  }
};

template <>
struct EdgeCase<Op::power> : OfRows {
  static Tensor op(Tape&, std::span<const Tensor> t) { return power(t[0], t[1]); }
  static Sample at(Extents e) { return rows_sample(op, e); }
  static std::vector<Point> points() {
    auto points = pairs(op, {1, {0, kNaN}}, {4, {-4, kNaN}}, {-8, {12, kNaN}}, {1, {0, 0}}, {0, {0, 0}}, {kInf, {-kInf, -kInf}},
                        {4, {4, 2.7725887222}}, {kInf, {kInf, kInf}}, {kInf, {kInf, kInf}}, {-kInf, {kInf, kNaN}}, {1, {0, kInf}});
    const auto to = [](double exponent) { return [exponent](Tape&, std::span<const Tensor> t) { return power(t[0], exponent); }; };
    append(points, curve(to(0), {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}));
    append(points, curve(to(0.5), {kInf, 0}, {kNaN, kNaN}, {0, kInf}, {1.4142135624, 0.3535533906}, {kInf, 0}));
    append(points, curve(to(2), {kInf, -kInf}, {4, -4}, {0, 0}, {4, 4}, {kInf, kInf}));
    append(points, curve(to(-1), {0, 0}, {-0.5, -0.25}, {kInf, -kInf}, {0.5, -0.25}, {0, 0}));
    const auto polynomial = [](Tape& tape, std::span<const Tensor> t) {
      return sum(power(t[0], constant(tape, t[0].dtype(), {1, 4}, {0, 1, 2, 3})), 1);
    };
    points.push_back({"1 + x + x^2 + x^3", polynomial, {{-2, 0, 1.5}}, {-5, 1, 8.125}, {1, 1, 1}, {{9, 1, 10.75}}, {{3, 1}}});
    return points;
  }
};

template <>
struct EdgeCase<Op::weighted_sum> : OfVector {
  static constexpr auto op = GradCase<Op::weighted_sum>::op;
  static Sample at(Extents e) { return GradCase<Op::weighted_sum>::sample("", {e[0]}); }
  static std::vector<Point> points() {
    return {{"an infinity", op, {{kInf}, {5}, {2}, {3}}, {kInf}, {1}, {{2}, {3}, {kInf}, {5}}},
            {"an infinity without a gradient", op, {{kInf}, {5}, {2}, {3}}, {kInf}, {0}, {{0}, {0}, {0}, {0}}},
            {"a weight of 0 for an infinite gradient", op, {{4}, {5}, {0}, {3}}, {15}, {kInf}, {{0}, {kInf}, {kInf}, {kInf}}}};
  }
};

template <>
struct EdgeCase<Op::where> : OfRows {
  static constexpr auto op = GradCase<Op::where>::op;
  static Sample at(Extents e) { return rows_sample(op, e); }
  // The condition is 0 for elements 0, 3, 6 ...
  static std::vector<Point> points() {
    return {{"NaN where it is not taken", op, {{kNaN, 1, 2}, {3, kNaN, kInf}}, {3, 1, 2}, {1, 1, 1}, {{0, 1, 1}, {1, 0, 0}}},
            {"infinite gradients", op, {{4, 1, 2}, {3, 5, 6}}, {3, 1, 2}, {kInf, kNaN, -kInf}, {{0, kNaN, -kInf}, {kInf, 0, 0}}}};
  }
};

}  // namespace dikkat::gradcheck
