#pragma once

#include <utility>

#include "train/model/language_model.h"
#include "train/run/objectives/objective.h"

namespace dikkat {

/// Learns to predict the next token: the mean cross-entropy of the targets.
class LanguageObjective : public Objective {
 public:
  /// Keeps a reference to the model. Evaluations also report how probable the tokens `ends` are, which end an answer.
  explicit LanguageObjective(const LanguageModel& model, double label_smoothing = 0, std::vector<Token> ends = {})
      : model_(model), label_smoothing_(label_smoothing), ends_(std::move(ends)) {}

  Tensor loss(Pass& pass, const Batch& batch, PassReport& report) override;
  std::unique_ptr<Scorer> scorer() const override;
  std::unique_ptr<Objective> twin() const override;

 protected:
  const LanguageModel& model_;
  double label_smoothing_;
  std::vector<Token> ends_;
};

}  // namespace dikkat
