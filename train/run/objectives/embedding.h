#pragma once

#include <vector>

#include "train/checkpoint/snapshot.h"
#include "train/config/config.h"
#include "train/model/language_model.h"
#include "train/run/objectives/contrast.h"
#include "train/run/objectives/objective.h"

namespace dikkat {

/// Learns vectors from pairs of texts (contrast.h). The loss compares all pairs of a step, but only one micro-batch has activations at a
/// time: gradients are cached (Gao et al. 2021, arXiv 2101.06983, "Scaling deep contrastive learning batch size under memory limited
/// setup"). A first pass over the step's micro-batches, which records nothing, computes all vectors, and the derivatives of the loss with
/// respect to them. The recorded pass of each micro-batch then ends in the product of its vectors and these derivatives, which has the
/// derivatives of the loss. Both passes draw the same dropout. Ranks share their vectors, so each compares all pairs of the step.
class EmbeddingObjective : public Objective {
 public:
  /// Keeps references.
  EmbeddingObjective(const LanguageModel& model, const Config& config, const TrainingState& state)
      : model_(model), config_(config), state_(state) {}

  bool prepare(const Preparation& with) override;
  std::unique_ptr<Batches> batches(std::unique_ptr<Batches> of_corpus) override;
  Tensor loss(Pass& pass, const Batch& batch, PassReport& report) override;
  std::size_t sums() const override { return 2; }
  void report(std::span<const double> sums, StepReport& report) const override;
  std::string_view decided_by() const override { return kMeanReciprocalRank; }
  std::unique_ptr<Scorer> scorer() const override;
  std::unique_ptr<Objective> twin() const override;
  std::size_t comparison_bytes(const RowLengths& longest) const override;

  /// The metric that decides which evaluation is better.
  static constexpr const char* kMeanReciprocalRank = "mrr";

 protected:
  std::vector<Tape*> tapes() override { return {&caching_}; }

 private:
  class OfStep;
  void cache(const Pass& first);
  void share_among_ranks();

  const LanguageModel& model_;
  const Config& config_;
  const TrainingState& state_;
  Ranks* ranks_ = nullptr;  // set by prepare(); null: each micro-batch is a step
  Tape caching_{Recording::off};
  std::vector<Batch> step_;             // this rank's micro-batches of the step
  bool is_cached_ = false;              // the members below belong to step_
  PairTexts texts_;                     // of all micro-batches of the step, on all ranks
  std::vector<float> pooled_, slopes_;  // (texts, C): their features, and the derivatives of the loss
  PairLosses losses_;
  std::vector<index> first_text_, first_pair_;  // of each of this rank's micro-batches, in texts_
};

}  // namespace dikkat
