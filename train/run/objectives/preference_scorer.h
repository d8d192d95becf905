#pragma once

#include "train/config/config.h"
#include "train/run/objectives/language_scorer.h"
#include "train/run/objectives/preference_loss.h"

namespace dikkat {

/// Scores samples of preferences by their loss. z of kto is estimated from all of them. Other texts are scored by predictions of the next
/// token.
class PreferenceScorer : public Scorer {
 public:
  /// Keeps a reference to the model.
  PreferenceScorer(const LanguageModel& model, const PreferenceConfig& config) : texts_(model), config_(config) {}

  /// A sample's numbers are the log-probabilities of its answers.
  index numbers_of(const Samples& text, index sample) const override;
  void score(Pass& pass, const Batch& batch, std::span<double> numbers) override;
  void judge(const Samples& text, std::span<const index> samples, std::span<const double> numbers, std::vector<SampleLoss>& losses,
             Evaluation& result) override;
  /// Accuracies are comparable if `targets` are equal: the answers, and the kind of rewards. Losses are comparable if `contexts` are equal
  /// too.
  LossFingerprint fingerprint(const LossFingerprint& tokens) const override;

 private:
  static bool has_preferences(const Samples& text) { return text.units(0) > 0; }

  LanguageScorer texts_;
  PreferenceConfig config_;
  Batch batch_;
  std::vector<double> log_probabilities_, slopes_;
};

}  // namespace dikkat
