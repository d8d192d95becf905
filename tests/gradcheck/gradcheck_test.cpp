#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/gradcheck/driver.h"
#include "tests/gradcheck/registry.h"
#include "tests/gradcheck/tolerance.h"
#include "tests/support/compare.h"
#include "tests/support/throws.h"

namespace dikkat::gradcheck {
namespace {

using testing::error_of;
using testing::relative_error;
using testing::same_bits;

// Errors are the largest difference over the tensor's largest magnitude, which counts as 0.01 if it is smaller (tests/support/compare.h).
// So a gradient that is exactly zero must be computed to 1e-8, 1e-14 and 5e-8 below.
constexpr double kSingle = 5e-6;  // f32 against f64: 40 roundings of 2^-23; sums have up to 300 terms, whose errors partly cancel

class GradCheck : public ::testing::TestWithParam<Case> {
  WithThreads one_{1};  // handing out tiles would cost most of the time; one test below takes more threads
};
INSTANTIATE_TEST_SUITE_P(Of, GradCheck, ::testing::ValuesIn(all_cases()), [](const auto& of) { return name_of(of.param.op); });

template <class A, class B>
void expect_close(const std::vector<std::vector<A>>& found, const std::vector<std::vector<B>>& expected, double bound,
                  unsigned frozen = 0) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if ((frozen >> i & 1U) != 0) {
      EXPECT_TRUE(found[i].empty()) << "operand " << i << " is frozen, yet its gradient was written";
    } else {
      EXPECT_LE(relative_error(found[i], expected[i]), bound) << "gradient of operand " << i;
    }
  }
}

/// The gradients of a joined slot and of those that hold the same operand.
std::vector<double> added(const std::vector<std::vector<double>>& gradients, unsigned joined) {
  std::vector<double> total;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if ((joined >> i & 1U) != 0) {
      total.resize(gradients[i].size());
      for (std::size_t at = 0; at < total.size(); ++at) {
        total[at] += gradients[i][at];
      }
    }
  }
  return total;
}

/// All sets of two or more slots of one shape.
std::vector<unsigned> joinable(const Sample& sample) {
  std::vector<unsigned> sets;
  for (unsigned set = 0; set < 1U << sample.operands.size(); ++set) {
    const Operand* first = nullptr;
    int count = 0;
    bool alike = true;
    for (std::size_t i = 0; i < sample.operands.size(); ++i) {
      if ((set >> i & 1U) != 0) {
        first = first == nullptr ? &sample.operands[i] : first;
        alike = alike && sample.operands[i].shape == first->shape;
        ++count;
      }
    }
    if (alike && count > 1) {
      sets.push_back(set);
    }
  }
  return sets;
}

TEST_P(GradCheck, analytic_equals_numeric) {
  for (const Sample& sample : GetParam().samples()) {
    SCOPED_TRACE(sample.name);
    expect_close(run<double>(sample, sample.op).gradients, numeric_gradients(sample), kNumeric);
  }
}

TEST_P(GradCheck, equals_its_definition) {
  for (const Sample& sample : GetParam().samples()) {
    SCOPED_TRACE(sample.name);
    const auto found = run<double>(sample, sample.op);
    ASSERT_NE(sample.definition == nullptr, sample.oracle == nullptr) << "a case has a definition or, if it is a primitive, plain loops";
    if (sample.definition != nullptr) {
      const auto expected = run<double>(sample, sample.definition);
      EXPECT_LE(relative_error(found.y, expected.y), kDefinition);
      expect_close(found.gradients, expected.gradients, kDefinition);
    } else {
      std::vector<std::vector<double>> values;
      for (const Operand& operand : sample.operands) {
        values.push_back(converted<double>(operand.values));
      }
      EXPECT_LE(relative_error(found.y, sample.oracle(values)), kDefinition);
    }
  }
}

TEST_P(GradCheck, operands_of_every_kind) {
  for (const Sample& sample : GetParam().samples()) {
    SCOPED_TRACE(sample.name);
    const auto expected = run<double>(sample, sample.op);
    for (const Feed feed : kFeeds) {
      SCOPED_TRACE(name_of(feed));
      const auto found = run<double>(sample, sample.op, {.feed = feed});
      EXPECT_TRUE(same_bits(found.y, expected.y));
      expect_close(found.gradients, expected.gradients, kDefinition);
    }
  }
}

// Parameters' gradients begin as NaN in every run. For activations, a run of NaNs fills the tape's memory with NaN.
TEST_P(GradCheck, overwrites_old_memory) {
  for (const Sample& sample : GetParam().samples()) {
    SCOPED_TRACE(sample.name);
    const auto expected = run<double>(sample, sample.op);
    for (const Feed feed : kFeeds) {
      SCOPED_TRACE(name_of(feed));
      Tape tape;
      run<double>(tape, sample, sample.op, {.feed = feed, .nan = true});
      const auto found = run<double>(tape, sample, sample.op, {.feed = feed});
      EXPECT_TRUE(same_bits(found.y, expected.y));
      expect_close(found.gradients, expected.gradients, kDefinition);
    }
  }
}

TEST_P(GradCheck, adds_to_earlier_gradients) {
  for (const Sample& sample : GetParam().samples()) {
    SCOPED_TRACE(sample.name);
    auto expected = run<double>(sample, sample.op).gradients;
    auto prefilled = expected;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (std::size_t at = 0; at < expected[i].size(); ++at) {
        prefilled[i][at] += 0.375;
        expected[i][at] *= 2;
      }
    }
    expect_close(run<double>(sample, sample.op, {.feed = Feed::parameters, .prefill = 0.375F}).gradients, prefilled, kDefinition);
    for (const Feed feed : kFeeds) {
      SCOPED_TRACE(name_of(feed));
      expect_close(run<double>(sample, sample.op, {.feed = feed, .twice = true}).gradients, expected, kDefinition);
    }
  }
}

TEST_P(GradCheck, any_operands_may_be_frozen) {
  for (const Sample& sample : GetParam().samples()) {
    SCOPED_TRACE(sample.name);
    const auto expected = run<double>(sample, sample.op);
    const unsigned all = (1U << sample.operands.size()) - 1;
    for (const Feed feed : kFeeds) {
      for (unsigned frozen = 1; frozen <= all; ++frozen) {
        SCOPED_TRACE(concat(name_of(feed), ", frozen: ", frozen));
        const auto found = run<double>(sample, sample.op, {.feed = feed, .frozen = frozen});
        EXPECT_TRUE(same_bits(found.y, expected.y));
        EXPECT_EQ(found.y_needs_gradient, frozen != all);
        expect_close(found.gradients, expected.gradients, kDefinition, frozen);
      }
    }
  }
}

TEST_P(GradCheck, one_tensor_in_several_slots) {
  int tried = 0;
  std::size_t most_operands = 0;
  for (Sample sample : GetParam().samples()) {
    SCOPED_TRACE(sample.name);
    most_operands = std::max(most_operands, sample.operands.size());
    const auto original = sample.operands;
    for (const unsigned joined : joinable(sample)) {
      sample.operands = original;
      const auto first = static_cast<std::size_t>(__builtin_ctz(joined));
      for (std::size_t i = 0; i < original.size(); ++i) {
        sample.operands[i] = (joined >> i & 1U) != 0 ? original[first] : original[i];
      }
      const auto expected = run<double>(sample, sample.op);
      for (const Feed feed : kFeeds) {
        SCOPED_TRACE(concat(name_of(feed), ", slots: ", joined));
        const auto found = run<double>(sample, sample.op, {.feed = feed, .joined = joined});
        EXPECT_TRUE(same_bits(found.y, expected.y));
        EXPECT_LE(relative_error(found.gradients[first], added(expected.gradients, joined)), kDefinition);
      }
      ++tried;
    }
  }
  EXPECT_TRUE(tried > 0 || most_operands == 1) << "a case of several operands has a sample where two of them have one shape";
}

TEST_P(GradCheck, single_precision_equals_double) {
  for (const auto& samples : {GetParam().samples(), GetParam().ragged()}) {
    for (const Sample& sample : samples) {
      SCOPED_TRACE(sample.name);
      const auto found = run<float>(sample, sample.op);
      const auto expected = run<double>(sample, sample.op);
      EXPECT_LE(relative_error(found.y, expected.y), kSingle);
      expect_close(found.gradients, expected.gradients, kSingle);
    }
  }
}

TEST_P(GradCheck, same_bits_on_any_number_of_threads) {
  for (const Sample& sample : GetParam().ragged()) {
    SCOPED_TRACE(sample.name);
    Tape tape;
    std::optional<Outcome<float>> first;
    for (const int threads : {1, 2, 4, 1}) {
      const WithThreads with(threads, Work{0});
      const auto found = run<float>(tape, sample, sample.op);
      if (!first) {
        first = found;
        continue;
      }
      EXPECT_TRUE(same_bits(found.y, first->y)) << threads << " threads";
      for (std::size_t i = 0; i < found.gradients.size(); ++i) {
        EXPECT_TRUE(same_bits(found.gradients[i], first->gradients[i])) << threads << " threads, gradient of operand " << i;
      }
    }
  }
}

TEST_P(GradCheck, refuses_shapes_that_do_not_fit) {
  for (const Misfit& misfit : GetParam().misfits()) {
    Tape tape;
    const std::string error = error_of([&] { misfit.call(tape); });
    EXPECT_EQ(error.rfind(concat(GetParam().op, ": "), 0), 0U) << misfit.name << ": '" << error << "'";
  }
}

/// Ops of one operand that also take ids (tests/ops/ids_test.cpp).
bool takes_ids(Op op) {
  switch (op) {
    case Op::reshape:
    case Op::slice:
    case Op::permute:
    case Op::diagonal:
    case Op::broadcast_to:
    case Op::pad:
    case Op::max:
    case Op::min:
    case Op::gather:
    case Op::index_select:
    case Op::cast: return true;
    default: return false;
  }
}

TEST_P(GradCheck, refuses_element_types_and_tapes_that_do_not_fit) {
  const Sample sample = GetParam().samples().front();
  const auto n = sample.operands.size();
  const auto refused = [&](const char* what, std::size_t slot, auto&& other) {
    Tape tape;
    std::vector<Tensor> slots;
    for (std::size_t i = 0; i < n; ++i) {
      slots.push_back(i == slot ? other(tape, sample.operands[i].shape) : some(tape, sample.operands[i].shape));
    }
    const std::string error = error_of([&] { sample.op(tape, slots); });
    EXPECT_EQ(error.rfind(concat(GetParam().op, ": "), 0), 0U) << what << " in slot " << slot << ": '" << error << "'";
  };
  Tape elsewhere;
  for (std::size_t slot = 0; slot < n; ++slot) {
    if (n > 1 || !takes_ids(GetParam().op)) {
      refused("i32", slot,
              [](Tape& tape, Shape shape) { return ids(tape, shape, std::vector<std::int32_t>(static_cast<std::size_t>(shape.size()))); });
    }
    if (n > 1) {
      refused("f64 among f32", slot, [](Tape& tape, Shape shape) {
        return constant(tape, DType::f64, shape, std::vector<double>(static_cast<std::size_t>(shape.size())));
      });
      refused("another tape's", slot, [&](Tape&, Shape shape) { return some(elsewhere, shape); });
    }
  }
}

}  // namespace
}  // namespace dikkat::gradcheck
