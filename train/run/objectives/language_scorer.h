#pragma once

#include <functional>
#include <utility>

#include "train/model/language_model.h"
#include "train/run/scorer.h"

namespace dikkat {

/// Scores predictions of the next token, by their cross-entropy.
class LanguageScorer : public Scorer {
 public:
  /// Keeps a reference to the model, whose weights may be loaded later.
  explicit LanguageScorer(const LanguageModel& model) : model_(model) {}

  /// Also measures the probability of `ends`, the tokens that end an answer, where they are the targets.
  void watch(std::vector<Token> ends) { ends_ = std::move(ends); }
  /// Takes each scored batch, whose `inputs`, `targets` and `weights` are (B, T), and the losses of its targets, (B, T).
  using Listener = std::function<void(const Batch& batch, std::span<const double> losses)>;
  void listen(Listener listener) { listener_ = std::move(listener); }

  /// Returns the losses of the batch's targets, (B, T). They are valid until the next call.
  std::span<const double> losses(Pass& pass, const Batch& batch);

  /// A sample's numbers are the sum of its losses and, with watched tokens, the sum of their probabilities and how often they occur.
  index numbers_of(const Samples&, index) const override { return ends_.empty() ? 1 : 3; }
  void score(Pass& pass, const Batch& batch, std::span<double> numbers) override;
  void judge(const Samples& text, std::span<const index> samples, std::span<const double> numbers, std::vector<SampleLoss>& losses,
             Evaluation& result) override;

 private:
  const LanguageModel& model_;
  std::vector<Token> ends_;
  Listener listener_;
  std::vector<double> losses_;
};

}  // namespace dikkat
