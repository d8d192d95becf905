#pragma once

#include <utility>

#include "train/run/objectives/language.h"
#include "train/run/objectives/teacher_reader.h"

namespace dikkat {

/// Learns the distributions of a teacher as well as the targets. Held-out samples are scored by the next token only.
class DistilledObjective : public LanguageObjective {
 public:
  /// Keeps a reference to the model. The teacher's share of the loss is distill.share.
  DistilledObjective(const LanguageModel& model, double label_smoothing, std::vector<Token> ends, std::shared_ptr<TeacherReader> teacher)
      : LanguageObjective(model, label_smoothing, std::move(ends)), teacher_(std::move(teacher)) {}

  Tensor loss(Pass& pass, const Batch& batch, PassReport& report) override;
  std::unique_ptr<Objective> twin() const override {
    return std::make_unique<DistilledObjective>(model_, label_smoothing_, ends_, teacher_);
  }

 private:
  std::shared_ptr<TeacherReader> teacher_;  // its buffers are used by one pass at a time
};

}  // namespace dikkat
