#include <algorithm>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/gradcheck/driver.h"
#include "tests/gradcheck/registry.h"
#include "tests/gradcheck/tolerance.h"
#include "tests/support/compare.h"
#include "tests/support/throws.h"

// Every op at the edges of what it takes: extents of 0 and 1, infinities, NaN beside what counts, ties.
namespace dikkat::gradcheck {
namespace {

using testing::error_of;
using testing::relative_error;
using testing::same_bits;

constexpr double kExact = 1e-6;  // of the points' numbers, and of f32

class Edges : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Of, Edges, ::testing::ValuesIn(all_cases()), [](const auto& of) { return name_of(of.param.op); });

/// Whether a number is the expected one, which may be infinite or NaN.
bool is_near(double found, double expected, double bound = kExact) {
  return std::isfinite(expected) ? std::abs(found - expected) <= bound * std::max(1.0, std::abs(expected))
         : std::isnan(expected)  ? std::isnan(found)
                                 : found == expected;
}

template <class A, class B>
bool are_near(const std::vector<A>& found, const std::vector<B>& expected, double bound) {
  return std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                    [=](A a, B b) { return is_near(static_cast<double>(a), static_cast<double>(b), bound); });
}

std::vector<index> usual(const Case& c) {
  std::vector<index> extents;
  for (const Extent& extent : c.extents) {
    extents.push_back(extent.usual);
  }
  return extents;
}
/// Whether the op takes these extents.
bool are_allowed(const Case& c, Extents extents) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < c.extents[i].least) {
      return false;
    }
  }
  return true;
}
std::string text_of(const Case& c, Extents extents) {
  std::string text;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    text += concat(i > 0 ? ", " : "", c.extents[i].name, " ", extents[i]);
  }
  return text;
}

/// Sets one extent at a time to `edge`, and then all extents that may have it.
std::vector<std::vector<index>> at_edge(const Case& c, index edge) {
  std::vector<std::vector<index>> all;
  std::vector<index> together;
  for (std::size_t i = 0; i < c.extents.size(); ++i) {
    all.push_back(usual(c));
    all.back()[i] = edge;
    together.push_back(std::max(c.extents[i].least, edge));
  }
  all.push_back(together);
  return all;
}

template <class T>
bool same(const Outcome<T>& a, const Outcome<T>& b) {
  bool are_same = same_bits(a.y, b.y) && a.gradients.size() == b.gradients.size();
  for (std::size_t i = 0; are_same && i < a.gradients.size(); ++i) {
    are_same = same_bits(a.gradients[i], b.gradients[i]);
  }
  return are_same;
}

/// The outcome on one thread, which two and seven threads also have. Gradients begin as NaN, so each number of them must be written.
template <class T>
Outcome<T> on_any_threads(const Sample& sample) {
  std::optional<Outcome<T>> first;
  for (const int threads : {1, 2, 7}) {
    const WithThreads with(threads, Work{0});
    const auto found = run<T>(sample, sample.op, {.feed = Feed::parameters});
    EXPECT_TRUE(!first || same(found, *first)) << threads << " threads";
    first = first ? first : found;
  }
  return *first;
}

/// The op in bf16: with all operands of that type, or the first one only, as one of both is taken.
void run_in_bf16(const Sample& sample) {
  for (const bool only_first : {false, true}) {
    const Function op = [&](Tape& tape, std::span<const Tensor> t) {
      std::vector<Tensor> cast_operands(t.begin(), t.end());
      for (std::size_t i = 0; i < (only_first ? 1 : t.size()); ++i) {
        cast_operands[i] = cast(t[i], DType::bf16);
      }
      return cast(sample.op(tape, cast_operands), DType::f32);
    };
    for (const int threads : {1, 2, 7}) {
      const WithThreads with(threads, Work{0});
      error_of([&] { run<float>(sample, op); });
    }
  }
}

void check_extents(const Case& c, const std::vector<index>& extents) {
  SCOPED_TRACE(text_of(c, extents));
  const Sample sample = c.at(extents);
  if (!are_allowed(c, extents)) {
    for (const int threads : {1, 2, 7}) {
      const WithThreads with(threads, Work{0});
      const std::string error = error_of([&] { run<double>(sample, sample.op); });
      EXPECT_EQ(error.rfind(concat(c.op, ": "), 0), 0U) << "'" << error << "'";
    }
    return;
  }
  // Gradients of an operand that no gradient reaches count as zeros.
  auto found = on_any_threads<double>(sample);
  const auto expected = run<double>(sample, sample.definition ? sample.definition : sample.op);
  const auto numeric = numeric_gradients(sample);
  for (std::size_t i = 0; i < numeric.size(); ++i) {
    found.gradients[i].resize(numeric[i].size());
    EXPECT_LE(relative_error(found.gradients[i], numeric[i]), kNumeric) << "gradient of operand " << i;
  }
  EXPECT_TRUE(are_near(found.y, expected.y, kDefinition));
  if (sample.oracle) {
    std::vector<std::vector<double>> values;
    for (const Operand& operand : sample.operands) {
      values.push_back(converted<double>(operand.values));
    }
    EXPECT_TRUE(are_near(found.y, sample.oracle(values), kDefinition));
  }
  auto single = on_any_threads<float>(sample);
  EXPECT_TRUE(are_near(single.y, found.y, kExact));
  for (std::size_t i = 0; i < numeric.size(); ++i) {
    single.gradients[i].resize(numeric[i].size());
    EXPECT_TRUE(are_near(single.gradients[i], numeric[i], kExact)) << "f32, gradient of operand " << i;
  }
  run_in_bf16(sample);
}

TEST_P(Edges, extents_of_zero) {
  for (const auto& extents : at_edge(GetParam(), 0)) {
    check_extents(GetParam(), extents);
  }
}

TEST_P(Edges, extents_of_one) {
  for (const auto& extents : at_edge(GetParam(), 1)) {
    check_extents(GetParam(), extents);
  }
}

/// Numbers from `begin` on.
template <class T>
std::vector<T> tail(const std::vector<T>& x, std::size_t begin) {
  return {x.begin() + static_cast<std::ptrdiff_t>(std::min(begin, x.size())), x.end()};
}

TEST_P(Edges, numbers_of_a_row_stay_in_it) {
  if (!GetParam().has_rows) {
    return;
  }
  const WithThreads one(1);
  Sample sample = GetParam().at(usual(GetParam()));
  const auto rows = static_cast<std::size_t>(GetParam().extents[0].usual);
  const auto clean = run<float>(sample, sample.op);
  for (const double special : {kNaN, kInf, -kInf}) {
    sample.operands[0].values[0] = static_cast<float>(special);
    const auto found = run<float>(sample, sample.op);
    EXPECT_TRUE(same_bits(tail(found.y, found.y.size() / rows), tail(clean.y, clean.y.size() / rows))) << special;
    const std::size_t row = clean.gradients[0].size() / rows;
    EXPECT_TRUE(same_bits(tail(found.gradients[0], row), tail(clean.gradients[0], row))) << special;
  }
}

template <class T>
void expect_near(const std::vector<T>& found, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(is_near(static_cast<double>(found[i]), expected[i]))
        << what << ", number " << i << ": " << found[i] << ", not " << expected[i];
  }
}

template <class T>
void check_point(const Point& point) {
  SCOPED_TRACE(concat(point.name, ", ", kDType<T>));
  Tape tape;
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < point.operands.size(); ++i) {
    const Shape shape = point.shapes.empty() ? Shape{std::ssize(point.operands[i])} : point.shapes[i];
    operands.push_back(tape.input<T>(shape, converted<T>(point.operands[i]), true));
  }
  const Tensor y = point.op(tape, operands);
  expect_near(copy_of(y.data<T>(), y.size()), point.y, "y");
  tape.backward(y, tape.input<T>(y.shape(), converted<T>(point.dy)));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    auto gradient = copy_of(tape.gradient<T>(operands[i]), operands[i].size());
    gradient.resize(point.operands[i].size());
    expect_near(gradient, point.gradients[i], concat("gradient of operand ", i));
  }
}

TEST_P(Edges, numbers) {
  const WithThreads one(1);
  const auto points = GetParam().points();
  EXPECT_FALSE(points.empty());
  for (const Point& point : points) {
    check_point<double>(point);
    check_point<float>(point);
  }
}

}  // namespace
}  // namespace dikkat::gradcheck
