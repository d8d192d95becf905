#include "train/run/objectives/preference_model.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dikkat {

void sum_log_probabilities(const Batch& batch, std::span<const double> losses, std::vector<double>& log_probabilities) {
  log_probabilities.clear();
  for (const Answer& answer : batch.answers) {
    const auto own = losses.subspan(static_cast<std::size_t>(answer.begin), static_cast<std::size_t>(answer.length));
    log_probabilities.push_back(-std::accumulate(own.begin(), own.end(), 0.0));
  }
}

Metrics metrics_of(const PreferenceConfig& config, const PreferenceSums& sums) {
  const auto mean = [](double sum, double count) { return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN(); };
  const double chosen = mean(sums.chosen_reward, sums.chosen), rejected = mean(sums.rejected_reward, sums.rejected);
  Metrics metrics{{.name = "rewards_chosen", .value = chosen},
                  {.name = "rewards_rejected", .value = rejected},
                  {.name = "rewards_margin", .value = chosen - rejected, .label = "margin"},
                  {.name = kPreferenceAccuracy, .value = mean(sums.right, sums.units), .label = "accuracy"},
                  {.name = "logps_chosen", .value = mean(sums.chosen_log_probability, sums.chosen)},
                  {.name = "logps_rejected", .value = mean(sums.rejected_log_probability, sums.rejected)}};
  if (config.method == PreferenceMethod::kto) {
    metrics.push_back({.name = "kl", .value = mean(sums.kl, sums.units)});
  }
  return metrics;
}

std::span<const double> PreferenceModel::log_probabilities(Tensor features, const Batch& batch) {
  losses_.resize(batch.targets.size());
  model_.loss_of(scoring_, features, batch, batch.weights, 1, losses_.data());
  scoring_.reset();
  sum_log_probabilities(batch, losses_, log_probabilities_);
  return log_probabilities_;
}

Tensor PreferenceModel::loss(Pass& pass, const Batch& batch, PreferenceSums& sums) {
  // Compute the log-probabilities, and the derivatives with respect to them.
  const Tensor features = model_.features(pass, batch);
  log_probabilities(features, batch);
  slopes_.resize(batch.answers.size());
  sums = preference_loss(config_, batch.answers, log_probabilities_, slopes_);
  // Weight the targets. A target's loss is the negative of its log-probability.
  weights_.assign(batch.targets.size(), 0.0F);
  for (std::size_t i = 0; i < batch.answers.size(); ++i) {
    const Answer& answer = batch.answers[i];
    const auto weight = static_cast<float>(-slopes_[i]);
    for (auto at = static_cast<std::size_t>(answer.begin); at < static_cast<std::size_t>(answer.begin + answer.length); ++at) {
      weights_[at] = batch.weights[at] * weight;
    }
  }
  return model_.loss_of(pass.tape, features, batch, weights_, static_cast<double>(std::max<index>(batch.step_units, 1)));
}

}  // namespace dikkat
