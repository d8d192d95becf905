#pragma once

#include <span>

#include "train/data/training_data.h"
#include "train/metrics/reports.h"

namespace dikkat {

/// Returns the fingerprint of the tokens that an evaluation of the whole text scores. It reads the text once. The fingerprint depends
/// neither on the block size of the evaluator nor on how sequences share rows. It is unknown (LossFingerprint::is_known()) if there is
/// nothing to predict.
LossFingerprint loss_fingerprint_of(const Dataset& data, const Tokenizer& tokenizer);

/// One of several texts whose losses are averaged by their shares.
struct SharedFingerprint {
  LossFingerprint of;
  double share = 1;
};
/// Returns the fingerprint of the weighted mean. A single text keeps its own fingerprint. Unknown if any of them is unknown.
LossFingerprint combined(std::span<const SharedFingerprint> sets);

}  // namespace dikkat
