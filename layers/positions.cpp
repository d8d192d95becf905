#include "layers/positions.h"

#include <cmath>
#include <numbers>

#include "autograd/base/parallel.h"

namespace dikkat {
namespace {

/// Returns the divisor of Llama 3.1's scaling (meta-llama/llama-models, apply_scaling), by the number of turns within the original context.
/// Frequencies of more than `high` turns are kept, those of fewer than `low` are divided by the factor, and those between are a mixture of
/// both.
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

double scaling_of(double frequency, const TransformerConfig& c) {
  switch (c.rope_scaling) {
    case RopeScaling::none: return 1;
    case RopeScaling::linear: return c.rope_factor;
    case RopeScaling::llama3: return divisor_of_llama3(frequency, c);
    case RopeScaling::longrope: return 1;  // its divisors are rope_short_factors
  }
  fail("positions: a scaling of RoPE that this program does not know");
}

double divisor_of(index d, double frequency, const TransformerConfig& c) {
  return scaling_of(frequency, c) * (c.rope_short_factors.empty() ? 1 : c.rope_short_factors.at(static_cast<std::size_t>(d)));
}

double unscaled(index d, double theta, const TransformerConfig& c) {
  return std::pow(theta, -2 * static_cast<double>(d) / static_cast<double>(rotated_size(c)));
}

/// Returns rows (.., time, width): write(position, row) computes row t of sequence b for position first(b) + t.
template <class First, class Write>
Tensor rows_of(Pass& pass, Shape shape, DType dtype, const First& first, const Write& write) {
  pass.tape.begin("positions");
  const Tensor rows = pass.tape.make(shape, dtype);
  const index width = shape[shape.rank() - 1];
  const index time = shape[shape.rank() - 2];
  for_float(dtype, "positions", [&](auto zero) {
    using T = decltype(zero);
    T* out = rows.mutable_data<T>();
    constexpr index kSine = 4;  // takes as long as reading and writing that many elements
    parallel_for(rows.size() / width, Work::elements(kSine * rows.size()),
                 [&](index i) { write(first(i / time) + i % time, out + i * width); });
  });
  return rows;
}

}  // namespace

SinusoidalPositions::SinusoidalPositions(index max_positions, index width) : max_positions_(max_positions) {
  frequencies_.reserve(static_cast<std::size_t>(width));
  for (index c = 0; c < width; ++c) {
    const index even = c / 2 * 2;
    frequencies_.push_back(std::pow(10000.0, -static_cast<double>(even) / static_cast<double>(width)));
  }
}

void SinusoidalPositions::require_positions(index first, index time) const {
  require(0 <= first && 0 <= time && first <= max_positions_ - time, "positions: found ", first, " to ", first + time - 1,
          ", expected 0 to ", max_positions_ - 1);
}

template <class T>
void SinusoidalPositions::write(index position, T* row) const {
  for (index c = 0; c < std::ssize(frequencies_); ++c) {
    const double angle = static_cast<double>(position) * frequencies_[static_cast<std::size_t>(c)];
    row[c] = static_cast<T>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }
}

Tensor SinusoidalPositions::operator()(Pass& pass, index first, index time, DType dtype) const {
  require_positions(first, time);
  return rows_of(
      pass, {time, std::ssize(frequencies_)}, dtype, [=](index) { return first; },
      [this](index position, auto* row) { write(position, row); });
}

Tensor SinusoidalPositions::operator()(Pass& pass, Tensor first, index time, DType dtype) const {
  const auto* of = first.data<std::int32_t>();
  for (index b = 0; b < first.size(); ++b) {
    require_positions(of[b], time);
  }
  return rows_of(
      pass, {first.size(), time, std::ssize(frequencies_)}, dtype, [=](index b) { return of[b]; },
      [this](index position, auto* row) { write(position, row); });
}

std::vector<double> rope_divisors(const TransformerConfig& c) {
  std::vector<double> divisors;
  for (index d = 0; d < rotated_size(c) / 2; ++d) {
    divisors.push_back(divisor_of(d, unscaled(d, c.rope_theta, c), c));
  }
  return divisors;
}

RotaryPositions::RotaryPositions(const TransformerConfig& c, bool is_local) {
  const bool has_own_base = is_local && c.rope_theta_local > 0;
  for (index d = 0; d < rotated_size(c) / 2; ++d) {
    const double frequency = unscaled(d, has_own_base ? c.rope_theta_local : c.rope_theta, c);
    frequencies_.push_back(has_own_base ? frequency : frequency / divisor_of(d, frequency, c));
  }
  rotated_ = std::ssize(frequencies_);
  amplitude_ = has_own_base ? 1 : *c.rope_amplitude;
  frequencies_.resize(static_cast<std::size_t>(c.head_size / 2));
}

template <class T>
void RotaryPositions::write(index position, T* row) const {
  const index half = std::ssize(frequencies_);
  for (index d = 0; d < half; ++d) {
    const double angle = static_cast<double>(position) * frequencies_[static_cast<std::size_t>(d)];
    const double amplitude = d < rotated_ ? amplitude_ : 1;
    row[d] = static_cast<T>(amplitude * std::cos(angle));
    row[half + d] = static_cast<T>(amplitude * std::sin(angle));
  }
}

Tensor RotaryPositions::operator()(Pass& pass, index first, index time, DType dtype) const {
  return rows_of(
      pass, {time, 2 * std::ssize(frequencies_)}, dtype, [=](index) { return first; },
      [this](index position, auto* row) { write(position, row); });
}

Tensor RotaryPositions::operator()(Pass& pass, Tensor first, index time, DType dtype) const {
  const auto* of = first.data<std::int32_t>();
  return rows_of(
      pass, {first.size(), time, 2 * std::ssize(frequencies_)}, dtype, [=](index b) { return of[b]; },
      [this](index position, auto* row) { write(position, row); });
}

}  // namespace dikkat
