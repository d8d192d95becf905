#include "autograd/tape/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/base/philox.h"

namespace dikkat {
namespace {

/// Puts the operands on the tape.
std::vector<Tensor> inputs(Tape& tape, std::span<const CheckedOperand> operands) {
  std::vector<Tensor> tensors;
  tensors.reserve(operands.size());
  for (const CheckedOperand& operand : operands) {
    tensors.push_back(tape.input<double>(operand.shape, operand.values, true));
  }
  return tensors;
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
  const auto weighted_sum = [&] {
    const Tensor y = f(tape, inputs(tape, shifted));
    const auto dy = gradient_check_dy(y.size());
    double total = 0;
    for (index i = 0; i < y.size(); ++i) {
      total += dy[static_cast<std::size_t>(i)] * y.data<double>()[i];
    }
    tape.reset();
    return total;
  };
  std::vector<std::vector<double>> gradients;
  for (CheckedOperand& operand : shifted) {
    auto& gradient = gradients.emplace_back();
    for (double& element : operand.values) {
      const double x = element;
      element = x + step;
      const double above = weighted_sum();
      element = x - step;
      const double below = weighted_sum();
      element = x;
      gradient.push_back((above - below) / (2 * step));
    }
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
    const double* gradient = tape.gradient<double>(operand);
    gradients.push_back(gradient == nullptr ? std::vector<double>(static_cast<std::size_t>(operand.size()))
                                            : std::vector<double>(gradient, gradient + operand.size()));
  }
  return gradients;
}

double gradient_error(const CheckedFunction& f, std::span<const CheckedOperand> operands) {
  constexpr double kLeastMagnitude = 0.01;
  const auto numeric = numeric_gradients(f, operands);
  const auto found = backward_gradients(f, operands);
  double error = 0;
  for (std::size_t i = 0; i < numeric.size(); ++i) {
    double magnitude = kLeastMagnitude;
    double difference = 0;
    for (std::size_t at = 0; at < numeric[i].size(); ++at) {
      const double here = std::abs(found[i][at] - numeric[i][at]);
      magnitude = std::max(magnitude, std::abs(numeric[i][at]));
      difference = std::max(difference, std::isfinite(here) ? here : std::numeric_limits<double>::infinity());
    }
    error = std::max(error, difference / magnitude);
  }
  return error;
}

}  // namespace dikkat
