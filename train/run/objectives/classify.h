#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "train/config/config.h"
#include "train/data/training_data.h"
#include "train/model/language_model.h"
#include "train/run/objectives/objective.h"

namespace dikkat {

/// Learns the labels of texts: the model's head reads the features of a text's last token. The loss of a text is the cross-entropy of its
/// label, or with several labels the mean over all labels of the binary cross-entropy. With classify.weights = "balanced", a text counts n
/// / (K n_c) times, if n_c of the n texts for training have its label and there are K labels. With several labels, each label that a text
/// has counts (n - n_c) / n_c times.
class ClassifyObjective : public Objective {
 public:
  /// Keeps references to the model and the configuration. Throws InputError for a model that is not a GPT.
  ClassifyObjective(const LanguageModel& model, const Config& config, const TrainingData& data);

  Tensor loss(Pass& pass, const Batch& batch, PassReport& report) override;
  std::size_t sums() const override { return 2; }
  void report(std::span<const double> sums, StepReport& report) const override;
  std::string_view decided_by() const override;
  std::unique_ptr<Scorer> scorer() const override;
  std::unique_ptr<Objective> twin() const override;

 private:
  ClassifyObjective(const LanguageModel& model, const ClassifyConfig& classify, std::vector<float> weights)
      : model_(model), classify_(classify), weights_(std::move(weights)) {}
  Tensor loss_of_one(Tape& tape, Tensor logits, const std::vector<std::int32_t>& labels, double normalizer) const;
  Tensor loss_of_several(Tape& tape, Tensor logits, std::span<const float> labels, double normalizer) const;

  const LanguageModel& model_;
  const ClassifyConfig& classify_;
  std::vector<float> weights_;  // of each label; empty: all 1
};

}  // namespace dikkat
