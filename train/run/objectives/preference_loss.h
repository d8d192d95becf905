#pragma once

#include <array>
#include <optional>
#include <span>

#include "train/config/config.h"
#include "train/data/samples/batch.h"

// The losses of preference tuning as functions of log-probabilities. l is the log-probability of an answer's scored tokens (their sum), r
// that of the reference model, n their number; c and w are the chosen and the rejected answer of a pair; sigma is the logistic function.
//
//   dpo    -(1 - s) log sigma(beta D) - s log sigma(-beta D), with D = (l_c - r_c) - (l_w - r_w) and s = label_smoothing
//          (Rafailov et al. 2023, arXiv 2305.18290; smoothing: Mitchell, "A note on DPO with noisy preferences")
//
//   ipo    (D - 1 / (2 beta))^2, with D = (l_c - r_c) / n_c - (l_w - r_w) / n_w
//          (Azar et al. 2023, arXiv 2310.12036; means per token as in TRL)
//
//   orpo   -l_c / n_c - beta log sigma(o_c - o_w), with o = a - log(1 - e^a) and a = l / n (Hong et al. 2024, arXiv 2403.07691)
//
//   simpo  -log sigma(beta (l_c / n_c - l_w / n_w) - gamma) (Meng et al. 2024, arXiv 2405.14734)
//
//   kto    good_weight (1 - sigma(beta (l - r) - z)) for a good answer, bad_weight (1 - sigma(z - beta (l - r))) for a bad one. z is
//          beta times the mean of l - r over the mismatched answers of the micro-batch, or in evaluations over all of them, at least 0, and
//          a constant
//          (Ethayarajh et al. 2024, arXiv 2402.01306)
//
// With sft_share f, the loss of a unit is (1 - f) times this plus f times -l / n of its chosen or good answer.
namespace dikkat {

/// Sums over units. Those of several micro-batches or ranks can be added. Rewards are beta (l - r) for dpo, ipo and kto, and beta l / n for
/// orpo and simpo.
struct PreferenceSums {
  double loss = 0;    // sum over all units
  double units = 0;   // pairs or judged answers
  double chosen = 0;  // number of chosen or good answers, and three sums over them
  double chosen_reward = 0;
  double chosen_log_probability = 0;
  double rejected = 0;  // number of rejected or bad answers, and two sums over them
  double rejected_reward = 0;
  double rejected_log_probability = 0;
  double right = 0;  // units in which the order of the rewards, or the sign of reward - z, is right; a tie counts half
  double kl = 0;     // z / beta times the number of units (kto)

  static constexpr std::size_t kNumbers = 10;
  /// Returns the members in their order, to exchange them.
  std::array<double, kNumbers> numbers() const;
  static PreferenceSums from(std::span<const double> numbers);
  void add(const PreferenceSums& other);
};

/// Returns z of kto for answers with these log-probabilities; 0 for other methods.
double divergence_of(const PreferenceConfig& config, std::span<const Answer> answers, std::span<const double> log_probabilities);

/// Returns the sums of a micro-batch. `log_probabilities` has one number for each answer, two for each unit. `slopes` gets the derivatives
/// of the sum of the losses with respect to these numbers. `given_z` replaces the z of these answers, which may be too few. Throws Error
/// for a run without preferences.
PreferenceSums preference_loss(const PreferenceConfig& config, std::span<const Answer> answers, std::span<const double> log_probabilities,
                               std::span<double> slopes, std::optional<double> given_z = {});

}  // namespace dikkat
