#pragma once

#include <span>
#include <string>
#include <vector>

#include "train/config/classify_config.h"
#include "train/metrics/reports.h"

namespace dikkat {

/// The metric that decides which evaluation of a classifier is better: the mean over the labels of F1.
inline constexpr const char* kMacroF1 = "macro_f1";

/// The logits of some texts and what they should be, both (texts, classes). `targets` has 1 for each label of a text, and 0 for the others.
struct JudgedLabels {
  std::vector<double> logits{}, targets{};
};

/// Returns the loss of a text: -log p of its label, or with several labels the mean over all labels of the binary cross-entropy.
double label_loss(std::span<const double> logits, std::span<const double> targets, bool several);

/// Returns how often the likeliest label of a text is each label. With several labels, a text gets those of probability 1/2 or more.
LabelTable label_table(const ClassifyConfig& classify, const JudgedLabels& judged);

/// Returns the accuracy, macro_f1 and calibration_error of texts.
///
/// accuracy: the share of texts whose label is right; with several labels, the share of texts all of whose labels are right.
/// macro_f1: the mean over the labels of 2 right / (2 right + missed + wrong), with 0 for a label that never occurs and is never given.
/// calibration_error: the expected calibration error (Guo et al. 2017, arXiv 1706.04599) over 15 equal bins of the probability of the
/// likeliest label, or with several labels of each label.
Metrics label_metrics(const ClassifyConfig& classify, const JudgedLabels& judged, const LabelTable& table);

}  // namespace dikkat
