#pragma once

#include <span>
#include <vector>

#include "layers/pass.h"
#include "train/data/samples/batch.h"
#include "train/data/samples/samples.h"
#include "train/run/evaluation.h"

namespace dikkat {

/// A sample's part of an evaluation. Consecutive samples make one observation until their weights reach `whole`.
struct SampleLoss {
  WeightedLoss of;
  double whole = 1;
};

/// Scores held-out samples for an objective. An Evaluator chooses the samples, shares them among ranks, and estimates the error.
class Scorer {
 public:
  virtual ~Scorer() = default;

  /// Returns how many numbers score() writes for a sample of this text.
  virtual index numbers_of(const Samples& text, index sample) const = 0;
  /// Runs the model on a batch, on a tape that does not record, and writes the numbers of its samples, one sample after another.
  virtual void score(Pass& pass, const Batch& batch, std::span<double> numbers) = 0;
  /// Appends the losses of `samples`, from the numbers of all of them, to `losses`. Writes the other results of the evaluation.
  virtual void judge(const Samples& text, std::span<const index> samples, std::span<const double> numbers, std::vector<SampleLoss>& losses,
                     Evaluation& result) = 0;
  /// Returns the fingerprint of what is scored, from that of the tokens. Evaluations with one fingerprint can be compared.
  virtual LossFingerprint fingerprint(const LossFingerprint& tokens) const { return tokens; }
};

}  // namespace dikkat
