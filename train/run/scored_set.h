#pragma once

#include <span>

#include "train/data/training_data.h"
#include "train/metrics/reports.h"

namespace dikkat {

/// The fingerprint of what an evaluation of the whole text scores. It reads the text once, at some hundred MB/s. It depends neither on the
/// block size of the evaluator nor on how sequences share rows. Unknown (ScoredSet::is_known()) if there is nothing to predict.
ScoredSet scored_set_of(const EvaluationText& text, const Tokenizer& tokenizer);

/// One text of several whose losses are averaged by their shares.
struct SharedSet {
  ScoredSet of;
  double share = 1;
};
/// The fingerprint of the mean. For one text that is the text's own. Unknown if one of them is.
ScoredSet combined(std::span<const SharedSet> sets);

}  // namespace dikkat
