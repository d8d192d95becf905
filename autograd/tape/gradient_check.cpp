#include "autograd/tape/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/simd/philox.h"

namespace dikkat {
namespace {

constexpr double kStep = 1e-5;

/// Puts the operands on the tape.
std::vector<Tensor> inputs(Tape& tape, std::span<const CheckedOperand> operands) {
  std::vector<Tensor> tensors;
  tensors.reserve(operands.size());
  for (const CheckedOperand& operand : operands) {
    tensors.push_back(tape.input<double>(operand.shape, operand.values, true));
  }
  return tensors;
}

/// Returns <dy, y>.
double weighted_sum(Tensor y) {
  const auto dy = gradient_check_dy(y.size());
  double total = 0;
  for (index i = 0; i < y.size(); ++i) {
    total += dy[static_cast<std::size_t>(i)] * y.data<double>()[i];
  }
  return total;
}

/// Returns the derivatives of f() by numbers that f reads.
template <class F>
std::vector<double> central_differences(std::span<double> numbers, double step, F&& f) {
  std::vector<double> derivatives;
  for (double& number : numbers) {
    const double x = number;
    number = x + step;
    const double above = f();
    number = x - step;
    const double below = f();
    number = x;
    derivatives.push_back((above - below) / (2 * step));
  }
  return derivatives;
}

std::vector<double> copied(const double* gradient, index size) {
  return gradient == nullptr ? std::vector<double>(static_cast<std::size_t>(size)) : std::vector<double>(gradient, gradient + size);
}

/// Returns the largest difference, divided by the largest numeric derivative, or by 0.01 if that is more.
double difference(const std::vector<double>& found, const std::vector<double>& numeric) {
  double magnitude = 0.01, largest = 0;
  for (std::size_t at = 0; at < numeric.size(); ++at) {
    const double here = std::abs(found[at] - numeric[at]);
    magnitude = std::max(magnitude, std::abs(numeric[at]));
    largest = std::max(largest, std::isfinite(here) ? here : std::numeric_limits<double>::infinity());
  }
  return largest / magnitude;
}

}  // namespace

std::vector<double> gradient_check_dy(index size) {
  const RandomStream stream(99, "gradient check", 0);
  std::vector<double> dy(static_cast<std::size_t>(size));
  for (index i = 0; i < size; ++i) {
    dy[static_cast<std::size_t>(i)] = static_cast<double>(stream.word(i) >> 8) * 0x1p-23 - 1;
  }
  return dy;
}

std::vector<std::vector<double>> numeric_gradients(const CheckedFunction& f, std::span<const CheckedOperand> operands, double step) {
  Tape tape(Recording::off);
  std::vector<CheckedOperand> shifted(operands.begin(), operands.end());
  const auto value = [&] {
    const double sum = weighted_sum(f(tape, inputs(tape, shifted)));
    tape.reset();
    return sum;
  };
  std::vector<std::vector<double>> gradients;
  for (CheckedOperand& operand : shifted) {
    gradients.push_back(central_differences(operand.values, step, value));
  }
  return gradients;
}

std::vector<std::vector<double>> backward_gradients(const CheckedFunction& f, std::span<const CheckedOperand> operands) {
  Tape tape;
  const std::vector<Tensor> x = inputs(tape, operands);
  const Tensor y = f(tape, x);
  tape.backward(y, tape.input<double>(y.shape(), gradient_check_dy(y.size())));
  std::vector<std::vector<double>> gradients;
  for (const Tensor operand : x) {
    gradients.push_back(copied(tape.gradient<double>(operand), operand.size()));
  }
  return gradients;
}

double gradient_error(const CheckedFunction& f, std::span<const CheckedOperand> operands) {
  const auto numeric = numeric_gradients(f, operands, kStep);
  const auto found = backward_gradients(f, operands);
  double error = 0;
  for (std::size_t i = 0; i < numeric.size(); ++i) {
    error = std::max(error, difference(found[i], numeric[i]));
  }
  return error;
}

double gradient_error(ParameterStore& parameters, const std::function<Tensor(Tape&)>& f) {
  parameters.weights<double>();  // throws Error unless the store has memory for f64
  parameters.clear_gradients();
  // Compute all gradients once.
  Tape tape;
  const Tensor y = f(tape);
  tape.backward(y, tape.input<double>(y.shape(), gradient_check_dy(y.size())));
  tape.reset();
  // Compare them with differences.
  Tape without(Recording::off);
  const auto value = [&] {
    const double sum = weighted_sum(f(without));
    without.reset();
    return sum;
  };
  double error = 0;
  for (ParameterStore::Entry* entry : parameters.trainable()) {
    const auto found = copied(tape.gradient<double>(entry->tensor()), entry->size());
    const std::span<double> values(static_cast<double*>(entry->values), static_cast<std::size_t>(entry->size()));
    error = std::max(error, difference(found, central_differences(values, kStep, value)));
  }
  return error;
}

}  // namespace dikkat
