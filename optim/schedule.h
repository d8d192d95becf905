#pragma once

#include "autograd/base/index.h"
#include "autograd/base/names.h"

namespace dikkat {

/// The learning rate as a function of the step. After a linear warm-up it stays at `learning_rate` (constant), or falls to `min_lr` until
/// step decay_steps, linearly or along half a cosine. Then it stays there (nanoGPT's get_lr).
///
/// wsd (warm-up, stable, decay; Hu et al., arXiv 2404.06395) keeps learning_rate and falls to min_lr over the last decay_share of
/// decay_steps. It falls along a line, or as 1 - sqrt(t) with t from 0 to 1 (Haegele et al., arXiv 2405.18392).
///
/// inverse_sqrt is equation 3 of Vaswani et al. (arXiv 1706.03762), with the peak as its parameter: with s = step + 1 the rate is
/// learning_rate * min(s / warmup_steps, sqrt(warmup_steps / s)). The paper has learning_rate = (d_model * warmup_steps)^-0.5.
/// It needs a warm-up, and ignores min_lr and decay_steps.
struct Schedule {
  enum class Kind { constant, linear, cosine, inverse_sqrt, wsd } kind = Kind::cosine;
  enum class DecayForm { linear, sqrt };
  double learning_rate = 1e-3;
  double min_lr = 1e-4;
  index warmup_steps = 100;
  index decay_steps = 2000;
  double decay_share = 0.2;                  // for wsd
  DecayForm decay_form = DecayForm::linear;  // for wsd

  /// Returns the rate of step `step`, which counts from 0. During warm-up it is learning_rate * (step + 1) / (warmup_steps + 1), except
  /// with inverse_sqrt. Throws Error for inverse_sqrt without warm-up.
  double operator()(index step) const;

  /// Returns the last step at learning_rate, after which it falls to min_lr. Only for schedules that end there.
  index decay_begin() const;
  /// Returns the part of the steps from decay_begin() to decay_steps that is over, from 0 to 1; 0 for schedules that do not end at min_lr.
  double decayed(index step) const;
};

template <>
struct Names<Schedule::Kind> {
  static constexpr std::string_view of[] = {"constant", "linear", "cosine", "inverse_sqrt", "wsd"};
};
template <>
struct Names<Schedule::DecayForm> {
  static constexpr std::string_view of[] = {"linear", "sqrt"};
};

/// Returns whether the rate ends at Schedule::min_lr, at step decay_steps.
constexpr bool ends_at_min_lr(Schedule::Kind kind) {
  return kind == Schedule::Kind::linear || kind == Schedule::Kind::cosine || kind == Schedule::Kind::wsd;
}

}  // namespace dikkat
