#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// A number other than the loss that a run's objective reports of its steps and evaluations.
struct Metric {
  std::string name;  // its key in metrics.jsonl, such as "rewards_accuracy"
  double value = std::numeric_limits<double>::quiet_NaN();
  std::string label{};  // its name in the progress line; empty: it is not shown there. Unknown for metrics that are read from a file
};
using Metrics = std::vector<Metric>;
/// Returns the value of the metric with this name; NaN if there is none.
inline double value_of(const Metrics& metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  return found != metrics.end() ? found->value : std::numeric_limits<double>::quiet_NaN();
}

/// How often a classifier was right and wrong about each label, over the texts of an evaluation.
struct LabelTable {
  std::vector<std::string> labels{};
  bool several = false;  // whether a text may have several labels
  /// (labels, labels): the number of texts with a label (rows) that got another, or the same one (columns). With several labels (labels,
  /// 3): the number of texts that have a label and got it, that have it and did not get it, and that got it without having it.
  std::vector<index> counts{};

  bool empty() const { return labels.empty(); }
  index columns() const { return several ? 3 : std::ssize(labels); }
  index at(index row, index column) const { return counts[static_cast<std::size_t>(row * columns() + column)]; }
  bool operator==(const LabelTable&) const = default;
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
  double exchange_seconds = 0;                        // time while ranks exchanged data, even if they also computed; 0 for one process
  double waited_seconds = 0;                          // the part of exchange_seconds in which this rank only waited
  std::vector<double> rank_seconds{}, rank_memory{};  // the time of each rank's passes and its resident bytes; empty for one process
  /// MFU: the model's FLOP/s (model_flops.h) as a share of the FLOP/s of plain matrix products measured on this machine; NaN if unknown.
  double mfu = std::numeric_limits<double>::quiet_NaN();
  Metrics metrics{};  // the objective's metrics

  /// Returns the throughput; NaN if the tokens are not counted.
  double tokens_per_second() const { return tokens > 0 ? static_cast<double>(tokens) / seconds : std::numeric_limits<double>::quiet_NaN(); }
};

/// A fingerprint of the tokens that an evaluation scores. Losses are comparable only over the same scored tokens. Each member is a sha256
/// in hexadecimal digits, or empty if unknown, as in metrics of an earlier version. It covers all data that the evaluation draws its
/// samples from, so it depends on neither the step nor the seed.
struct LossFingerprint {
  std::string targets{};   ///< covers the scored tokens with their weights, in order, and the vocabulary
  std::string contexts{};  ///< covers the targets, and the tokens that the model sees before each
  std::string text{};  ///< covers the text that the scored tokens stand for, which may be equal for different tokens; empty if the tokens
                       ///< do not represent all of the text

  bool is_known() const { return !targets.empty() && !contexts.empty(); }
  bool operator==(const LossFingerprint&) const = default;
};

/// The loss over one of several texts: a source's validation part, or a text of data.evaluations. A program's own loop
/// (train/library/run_folder.h) reports any named number.
struct NamedLoss {
  std::string name;
  double loss = 0;
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  double epochs = std::numeric_limits<double>::quiet_NaN();  // how often training has seen the source; NaN for other texts

  LossFingerprint scored{};

  bool is_source() const { return !std::isnan(epochs); }
};

/// Describes one evaluation. Losses are in nats per token.
struct EvaluationReport {
  index step = 0;
  double train_loss = 0;  // for several sources, the mean weighted by their shares in training
  double val_loss = 0;
  double val_standard_error = std::numeric_limits<double>::quiet_NaN();
  double end_probability = std::numeric_limits<double>::quiet_NaN();  // mean probability of tokens that end an answer
  double seconds = 0;
  index memory = 0;          // resident bytes of the process; 0 if unknown
  bool best = false;         // the best evaluation of the run so far (is_better())
  Metrics metrics{};         // the objective's metrics over the validation part
  LabelTable table{};        // a classifier's table over the validation part
  std::string decided_by{};  // the metric by which evaluations are compared: a number from 0, the higher the better; empty: val_loss
  std::vector<NamedLoss> losses{};
  LossFingerprint scored{};  // the tokens of val_loss
};

/// An evaluation's place among others.
struct EvaluationScore {
  double val_loss = std::numeric_limits<double>::infinity();
  double accuracy = -1;  // the metric that decides; -1 if there is none
};
inline EvaluationScore score_of(const EvaluationReport& report) {
  return {.val_loss = report.val_loss, .accuracy = report.decided_by.empty() ? -1 : value_of(report.metrics, report.decided_by)};
}
/// Returns whether an evaluation is better than another one of its run: by the metric that decides. At equal values, or without such a
/// metric, a lower validation loss decides. A loss that is NaN is never better.
inline bool is_better(const EvaluationScore& a, const EvaluationScore& than) {
  return !std::isnan(a.val_loss) && (a.accuracy > than.accuracy || (a.accuracy == than.accuracy && a.val_loss < than.val_loss));
}

}  // namespace dikkat
