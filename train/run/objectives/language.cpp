#include "train/run/objectives/language.h"

#include "train/run/objectives/language_scorer.h"

namespace dikkat {

Tensor LanguageObjective::loss(Pass& pass, const Batch& batch, PassReport&) {
  return model_.loss(pass, batch, batch.step_weight, label_smoothing_);
}

std::unique_ptr<Scorer> LanguageObjective::scorer() const {
  auto scorer = std::make_unique<LanguageScorer>(model_);
  scorer->watch(ends_);
  return scorer;
}

std::unique_ptr<Objective> LanguageObjective::twin() const { return std::make_unique<LanguageObjective>(model_, label_smoothing_, ends_); }

}  // namespace dikkat
