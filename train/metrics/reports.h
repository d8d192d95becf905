#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// What preference tuning reports besides its loss: means over the chosen and the rejected answers of pairs, or over the good and the bad
/// ones. NaN if there are none.
struct PreferenceReport {
  double chosen_reward = std::numeric_limits<double>::quiet_NaN();  // how much likelier than in the reference, times beta
  double rejected_reward = std::numeric_limits<double>::quiet_NaN();
  double accuracy =
      std::numeric_limits<double>::quiet_NaN();  // the share of pairs with the higher reward on the chosen side; ties count half
  double chosen_log_probability = std::numeric_limits<double>::quiet_NaN();  // of whole answers
  double rejected_log_probability = std::numeric_limits<double>::quiet_NaN();
  double kl = std::numeric_limits<double>::quiet_NaN();  // the estimate that kto uses; NaN for other methods

  double margin() const { return chosen_reward - rejected_reward; }
};

/// Describes one training step.
struct StepReport {
  index step = 0;            // steps done, including this one
  double loss = 0;           // mean cross-entropy of the step's targets, in nats, before the update
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  bool skipped = false;  // the update was not applied
  index tokens = 0;      // targets of this step
  double seconds = 0;
  double optimizer_seconds = 0;                       // the part of `seconds` for the update of the weights
  double exchange_seconds = 0;                        // while ranks exchanged data, even if they also computed; 0 for one process
  double waited_seconds = 0;                          // the part of exchange_seconds in which this rank only waited
  std::vector<double> rank_seconds{}, rank_memory{};  // for each of several ranks, the time of its passes and its resident bytes
  /// MFU: the model's FLOP/s (model_flops.h) as a share of the FLOP/s of plain matrix products measured on this machine; NaN if unknown.
  double mfu = std::numeric_limits<double>::quiet_NaN();
  std::optional<PreferenceReport> preference{};

  /// NaN if the tokens are not counted.
  double tokens_per_second() const { return tokens > 0 ? static_cast<double>(tokens) / seconds : std::numeric_limits<double>::quiet_NaN(); }
};

/// A fingerprint of the tokens that an evaluation scores. Losses are comparable only over the same scored tokens. Each member is a sha256
/// in hexadecimal digits, or empty if unknown, as in metrics of an earlier version. It covers all data that the evaluation draws its
/// samples from, so it depends on neither the step nor the seed.
struct ScoredSet {
  std::string targets{};   ///< covers the scored tokens with their weights, in order, and the vocabulary
  std::string contexts{};  ///< covers these, and the tokens that the model sees before each of them
  std::string text{};  ///< covers the text that the scored tokens stand for, which may be equal for different tokens; empty if the tokens
                       ///< do not represent all of the text

  bool is_known() const { return !targets.empty() && !contexts.empty(); }
  bool operator==(const ScoredSet&) const = default;
};

/// The loss over one of several texts: a source's validation part, or a text of data.evaluations. In a run of a program's own loop
/// (train/run/run_folder.h), any number that has a name.
struct NamedLoss {
  std::string name;
  double loss = 0;
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  double epochs = std::numeric_limits<double>::quiet_NaN();  // how often training has seen the source; NaN for other texts

  ScoredSet scored{};

  bool is_source() const { return !std::isnan(epochs); }
};

/// Describes one evaluation. Losses are in nats per token.
struct EvaluationReport {
  index step = 0;
  double train_loss = 0;  // for several sources, the mean weighted by their shares in training
  double val_loss = 0;
  double val_standard_error = std::numeric_limits<double>::quiet_NaN();
  double end_probability = std::numeric_limits<double>::quiet_NaN();  // of the token that ends an answer, where one ends in conversations
  double seconds = 0;
  index memory = 0;                              // resident bytes of the process; 0 if unknown
  bool best = false;                             // the best evaluation of the run so far (is_better())
  std::optional<PreferenceReport> preference{};  // over the validation part
  std::vector<NamedLoss> losses{};
  ScoredSet scored{};  // the tokens of val_loss
};

/// An evaluation's place among others.
struct EvaluationScore {
  double val_loss = std::numeric_limits<double>::infinity();
  double accuracy = -1;  // of preferences; -1 if there are none
};
inline EvaluationScore score_of(const EvaluationReport& report) {
  return {.val_loss = report.val_loss, .accuracy = report.preference ? report.preference->accuracy : -1};
}
/// Whether an evaluation is better than another one of its run: by the accuracy of preferences, and at equal accuracy, or without
/// preferences, by a lower validation loss. A loss that is NaN is never better.
inline bool is_better(const EvaluationScore& a, const EvaluationScore& than) {
  return !std::isnan(a.val_loss) && (a.accuracy > than.accuracy || (a.accuracy == than.accuracy && a.val_loss < than.val_loss));
}

}  // namespace dikkat
