#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// One optimizer update.
struct StepReport {
  index step = 0;            // updates done, this one included
  double loss = 0;           // mean cross-entropy of the step's targets, in nats, before the update
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  bool skipped = false;  // the update was not applied
  index tokens = 0;      // targets of this step
  double seconds = 0;
  double optimizer_seconds = 0;                       // of that, the update of the weights
  double exchange_seconds = 0;                        // in which ranks exchanged something, beside the backward pass too; 0 of one process
  double waited_seconds = 0;                          // of that, while this rank did nothing else
  std::vector<double> rank_seconds{}, rank_memory{};  // of each of several ranks: what its passes took, and its resident bytes
  /// MFU: the model's FLOP/s (model_flops.h) as a share of the FLOP/s of plain matrix products, measured on this machine; NaN if unknown.
  double mfu = std::numeric_limits<double>::quiet_NaN();

  double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
};

/// What an evaluation scores: losses are comparable only over the same scored tokens. Each member is a sha256 in hexadecimal digits; empty:
/// not known, as in metrics that an earlier version wrote. It is of all that the evaluation draws its samples from, so it depends neither
/// on the step nor on the seed.
struct ScoredSet {
  std::string targets{};   ///< the scored tokens with their weights, in order, and the vocabulary
  std::string contexts{};  ///< the same, and what the model sees before each token
  std::string text{};  ///< the text that the scored tokens stand for: it may agree where tokens do not; empty if the tokens do not stand
                       ///< for all of it

  bool is_known() const { return !targets.empty() && !contexts.empty(); }
  bool operator==(const ScoredSet&) const = default;
};

/// The loss over one text of several: a source's validation part, or a text of data.evaluations.
struct NamedLoss {
  std::string name;
  double loss = 0;
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  double epochs = std::numeric_limits<double>::quiet_NaN();  // how often training has seen the source; NaN of other texts

  ScoredSet scored{};

  bool is_source() const { return !std::isnan(epochs); }
};

struct EvaluationReport {
  index step = 0;
  double train_loss = 0;  // of several sources the mean, by their share in training
  double val_loss = 0;
  double val_standard_error = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;
  index memory = 0;   // resident bytes of the process; 0 if unknown
  bool best = false;  // the lowest val_loss of the run so far
  std::vector<NamedLoss> losses{};
  ScoredSet scored{};  // what val_loss is over
};

}  // namespace dikkat
