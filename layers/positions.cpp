#include "layers/positions.h"

#include <cmath>
#include <numbers>

#include "autograd/base/parallel.h"

namespace dikkat {
namespace {

/// Llama 3.1's scaling (meta-llama/llama-models, apply_scaling): with the number of turns within the original context, frequencies of more
/// than `high` turns stay, those of fewer than `low` are divided by the factor, and those between are mixed of both.
double divisor_of_llama3(double frequency, const TransformerConfig& c) {
  const double turns = static_cast<double>(c.rope_original_context) * frequency / (2 * std::numbers::pi);
  const double low = c.rope_low_freq_factor;
  const double high = c.rope_high_freq_factor;
  if (turns < low) {
    return c.rope_factor;
  }
  if (turns > high) {
    return 1;
  }
  const double kept = (turns - low) / (high - low);
  return 1 / ((1 - kept) / c.rope_factor + kept);
}

double divisor_of(double frequency, const TransformerConfig& c) {
  switch (c.rope_scaling) {
    case RopeScaling::none: return 1;
    case RopeScaling::linear: return c.rope_factor;
    case RopeScaling::llama3: return divisor_of_llama3(frequency, c);
  }
  fail("positions: a scaling of RoPE that this program does not know");
}

double unscaled(index d, const TransformerConfig& c) {
  return std::pow(c.rope_theta, -2 * static_cast<double>(d) / static_cast<double>(c.head_size));
}

}  // namespace

SinusoidalPositions::SinusoidalPositions(index max_positions, index width) : max_positions_(max_positions) {
  frequencies_.reserve(static_cast<std::size_t>(width));
  for (index c = 0; c < width; ++c) {
    const index even = c / 2 * 2;
    frequencies_.push_back(std::pow(10000.0, -static_cast<double>(even) / static_cast<double>(width)));
  }
}

Tensor SinusoidalPositions::operator()(Pass& pass, index first, index time, DType dtype) const {
  require(0 <= first && 0 <= time && first <= max_positions_ - time, "positions: found ", first, " to ", first + time - 1,
          ", expected 0 to ", max_positions_ - 1);
  pass.tape.begin("positions");
  const index width = std::ssize(frequencies_);
  const Tensor rows = pass.tape.make({time, width}, dtype);
  for_float(dtype, "positions", [&](auto zero) {
    using T = decltype(zero);
    T* out = rows.mutable_data<T>();
    parallel_for(time, [&](index t) {
      for (index c = 0; c < width; ++c) {
        const double angle = static_cast<double>(first + t) * frequencies_[static_cast<std::size_t>(c)];
        out[t * width + c] = static_cast<T>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    });
  });
  return rows;
}

std::vector<double> rope_divisors(const TransformerConfig& c) {
  std::vector<double> divisors;
  for (index d = 0; d < c.head_size / 2; ++d) {
    divisors.push_back(divisor_of(unscaled(d, c), c));
  }
  return divisors;
}

RotaryPositions::RotaryPositions(const TransformerConfig& c) {
  for (index d = 0; d < c.head_size / 2; ++d) {
    frequencies_.push_back(unscaled(d, c) / divisor_of(unscaled(d, c), c));
  }
}

Tensor RotaryPositions::operator()(Pass& pass, index first, index time, DType dtype) const {
  pass.tape.begin("positions");
  const index half = std::ssize(frequencies_);
  const Tensor rows = pass.tape.make({time, 2 * half}, dtype);
  for_float(dtype, "positions", [&](auto zero) {
    using T = decltype(zero);
    T* out = rows.mutable_data<T>();
    parallel_for(time, Work::elements(8 * time * half), [&](index t) {
      for (index d = 0; d < half; ++d) {
        const double angle = static_cast<double>(first + t) * frequencies_[static_cast<std::size_t>(d)];
        out[2 * t * half + d] = static_cast<T>(std::cos(angle));
        out[(2 * t + 1) * half + d] = static_cast<T>(std::sin(angle));
      }
    });
  });
  return rows;
}

}  // namespace dikkat
