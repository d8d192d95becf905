#pragma once

#include <vector>

#include "layers/pass.h"
#include "layers/transformer_config.h"

namespace dikkat {

/// Sinusoidal positions: PE(t, 2i) = sin(t / 10000^(2i / C)), PE(t, 2i + 1) = cos(t / 10000^(2i / C)) (Vaswani et al. 2017, 3.5).
class SinusoidalPositions {
 public:
  /// Makes vectors of `width` numbers for positions 0 to max_positions - 1.
  SinusoidalPositions(index max_positions, index width);

  /// Returns rows first to first + time - 1: (time, width), without gradient. Throws Error for a row beyond the last position. Nothing is
  /// stored between calls, so several threads may share a model.
  Tensor operator()(Pass& pass, index first, index time, DType dtype) const;
  /// Returns rows for sequences that begin at different positions, `first` i32 (B): (B, time, width).
  Tensor operator()(Pass& pass, Tensor first, index time, DType dtype) const;

 private:
  void require_positions(index first, index time) const;
  template <class T>
  void write(index position, T* row) const;

  index max_positions_;
  std::vector<double> frequencies_;  // (width): 10000^(-2i / C) twice for each i
};

/// Returns the numbers by which rope_scaling and rope_short_factors divide RoPE's frequencies, (R / 2). The configuration must come from
/// checked() or with_defaults().
std::vector<double> rope_divisors(const TransformerConfig& config);

/// Rotary positions (RoPE; Su et al., arXiv 2104.09864), for AttentionOptions::rotation: pair d of a head turns by position * f_d, with f_d
/// = theta^(-2 d / R), scaled as the configuration asks for. R = rotated_size() numbers of a head are rotated; the pairs after them have
/// f_d = 0. A pair is numbers d and D / 2 + d, whatever R is. Rotated numbers are also multiplied by rope_amplitude.
class RotaryPositions {
 public:
  /// The configuration must come from checked() or with_defaults(). Layers with a window may have a base of their own
  /// (rope_theta_local), and then have neither divisors nor an amplitude.
  explicit RotaryPositions(const TransformerConfig& config, bool is_local = false);

  /// Returns the angles of positions first to first + time - 1: (time, D), a row of D / 2 cosines, then D / 2 sines, both times the
  /// amplitude, and without gradient. Nothing is stored between calls.
  Tensor operator()(Pass& pass, index first, index time, DType dtype) const;
  /// Returns the angles for sequences that begin at different positions, `first` i32 (B): (B, time, D).
  Tensor operator()(Pass& pass, Tensor first, index time, DType dtype) const;
  /// Returns f_d, (D / 2).
  const std::vector<double>& frequencies() const { return frequencies_; }

 private:
  template <class T>
  void write(index position, T* row) const;

  std::vector<double> frequencies_;
  index rotated_ = 0;     // pairs
  double amplitude_ = 1;  // amplitude of rotated pairs
};

}  // namespace dikkat
