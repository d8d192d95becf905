#pragma once

#include <span>
#include <vector>

#include "train/metrics/reports.h"
#include "train/model/language_model.h"
#include "train/run/objectives/preference_loss.h"

namespace dikkat {

/// Sets `log_probabilities` to those of the batch's answers. `losses` has the loss of each position's target.
void sum_log_probabilities(const Batch& batch, std::span<const double> losses, std::vector<double>& log_probabilities);

/// The metric that decides which evaluation is better: the share of units whose rewards are in the right order.
inline constexpr const char* kPreferenceAccuracy = "rewards_accuracy";
/// Returns the means that a step or an evaluation reports: over the chosen and the rejected answers of pairs, or over good and bad ones.
/// NaN if there are none.
Metrics metrics_of(const PreferenceConfig& config, const PreferenceSums& sums);

/// The loss of preference tuning for a model. Its derivatives with respect to the answers' log-probabilities depend on these, and the fused
/// head computes gradients in forward. So the head runs twice on the same features: without a tape for the log-probabilities, and then with
/// a weight for each target. Weights may be negative. The rest of the model runs once.
class PreferenceModel {
 public:
  /// Keeps references.
  PreferenceModel(const LanguageModel& model, const PreferenceConfig& config) : model_(model), config_(config) {}

  /// Returns the log-probabilities of the batch's answers, from the features of its positions. They are valid until the next call.
  std::span<const double> log_probabilities(Tensor features, const Batch& batch);
  /// Returns a scalar whose derivatives are those of the batch's part of the step's loss. The part is the sum over the batch's units,
  /// divided by their number in the step. The scalar's value is not the loss, which is in `sums`. Call backward() on this tensor only.
  Tensor loss(Pass& pass, const Batch& batch, PreferenceSums& sums);

  /// Returns the tape of the log-probabilities.
  Tape& scoring() { return scoring_; }

 private:
  const LanguageModel& model_;
  const PreferenceConfig& config_;
  Tape scoring_{Recording::off};
  std::vector<double> losses_, log_probabilities_, slopes_;
  std::vector<float> weights_;
};

}  // namespace dikkat
