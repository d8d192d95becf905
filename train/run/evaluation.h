#pragma once

#include <limits>
#include <span>

#include "autograd/base/index.h"
#include "train/metrics/reports.h"

namespace dikkat {

/// The result of an evaluation of one text.
struct Evaluation {
  double loss = 0;   // mean loss of a prediction, in nats, or of a unit of preferences or a text with labels
  index tokens = 0;  // number of predictions, or of units of preferences
  /// Standard error of the loss as an estimate for more text of this kind. Losses of neighboring tokens are correlated, so an observation
  /// is a block of at least as many predictions as a window has, whatever the stride. The loss is a ratio estimate (Cochran 1977,
  /// "Sampling Techniques", 6.4). NaN if there is only one block.
  double standard_error = std::numeric_limits<double>::quiet_NaN();

  /// The mean probability of the watched tokens where they are the targets (LanguageScorer::watch()), and how often they are.
  double end_probability = std::numeric_limits<double>::quiet_NaN();
  index ends = 0;

  Metrics metrics{};   // the objective's metrics
  LabelTable table{};  // a classifier's table

  double perplexity() const;
  /// Returns the bits per byte of a text. `bytes` is the size of the text that the predicted tokens stand for.
  double bits_per_byte(index bytes) const;
};

struct WeightedEvaluation {
  Evaluation of;
  double share = 1;
};
/// Returns the weighted mean of evaluations of independently sampled texts. Throws Error if there are none.
Evaluation mean(std::span<const WeightedEvaluation> evaluations);

/// A sum of losses, and the weight that it is divided by.
struct WeightedLoss {
  double loss = 0, weight = 0;
};
/// Sets the mean loss, its standard error and the number of predictions from independent observations, as a ratio estimate.
void set_ratio_estimate(std::span<const WeightedLoss> observations, Evaluation& result);

}  // namespace dikkat
