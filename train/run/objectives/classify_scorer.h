#pragma once

#include "train/config/classify_config.h"
#include "train/model/language_model.h"
#include "train/run/scorer.h"

namespace dikkat {

/// Scores texts by the labels that a classifier gives them (label_metrics.h).
class ClassifyScorer : public Scorer {
 public:
  /// Keeps a reference to the model, whose weights may be loaded later.
  ClassifyScorer(const LanguageModel& model, ClassifyConfig classify) : model_(model), classify_(std::move(classify)) {}

  /// The numbers of a sample are those of its texts: the logit of each label, then 1 for each label of the text and 0 for the others.
  index numbers_of(const Samples& text, index sample) const override { return 2 * text.units(sample) * classes(); }
  void score(Pass& pass, const Batch& batch, std::span<double> numbers) override;
  void judge(const Samples& text, std::span<const index> samples, std::span<const double> numbers, std::vector<SampleLoss>& losses,
             Evaluation& result) override;
  /// Accuracies are comparable if the texts and their labels are equal.
  LossFingerprint fingerprint(const LossFingerprint& tokens) const override;

 private:
  index classes() const { return std::ssize(classify_.labels); }

  const LanguageModel& model_;
  ClassifyConfig classify_;
};

}  // namespace dikkat
