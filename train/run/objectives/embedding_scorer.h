#pragma once

#include "train/config/config.h"
#include "train/model/language_model.h"
#include "train/run/objectives/contrast.h"
#include "train/run/scorer.h"

namespace dikkat {

/// Scores pairs of texts by their vectors. The loss compares as many pairs as a step of training does; the search goes through all of them.
class EmbeddingScorer : public Scorer {
 public:
  /// Keeps a reference to the model.
  EmbeddingScorer(const LanguageModel& model, const EmbeddingConfig& config) : model_(model), config_(config) {}

  /// A sample's numbers are the pooled features of its texts.
  index numbers_of(const Samples& text, index sample) const override;
  void score(Pass& pass, const Batch& batch, std::span<double> numbers) override;
  /// Results have the metrics recall_1, recall_10, mrr and candidates (Retrieval).
  void judge(const Samples& text, std::span<const index> samples, std::span<const double> numbers, std::vector<SampleLoss>& losses,
             Evaluation& result) override;
  /// Losses are comparable only with the same pooling, temperature and number of pairs; the search depends on the texts only.
  LossFingerprint fingerprint(const LossFingerprint& tokens) const override;

 private:
  const LanguageModel& model_;
  EmbeddingConfig config_;
};

}  // namespace dikkat
