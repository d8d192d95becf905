#pragma once

#include <utility>

#include "train/model/language_model.h"
#include "train/run/objectives/language.h"
#include "train/run/objectives/teacher_reader.h"

namespace dikkat {

/// Learns the distributions of a teacher beside the targets. Held-out samples are scored as those of its LanguageObjective.
class DistilledObjective : public Objective {
 public:
  /// Keeps a reference to the model. The teacher's share of the loss is distill.share.
  DistilledObjective(const LanguageModel& model, double label_smoothing, std::vector<Token> ends, std::shared_ptr<TeacherReader> teacher)
      : model_(model), label_smoothing_(label_smoothing), ends_(std::move(ends)), teacher_(std::move(teacher)) {}

  Tensor loss(Pass& pass, const Batch& batch, PassReport& report) override;
  std::unique_ptr<Scorer> scorer() const override { return LanguageObjective(model_, label_smoothing_, ends_).scorer(); }
  std::unique_ptr<Objective> twin() const override {
    return std::make_unique<DistilledObjective>(model_, label_smoothing_, ends_, teacher_);
  }

 private:
  const LanguageModel& model_;
  double label_smoothing_;
  std::vector<Token> ends_;
  std::shared_ptr<TeacherReader> teacher_;  // its buffers are used by one pass at a time
};

}  // namespace dikkat
