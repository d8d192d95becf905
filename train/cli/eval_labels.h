#pragma once

#include "train/model/model_origin.h"
#include "train/run/evaluation.h"

namespace dikkat {

/// Prints the evaluation of a classifier: its accuracy, macro-F1, calibration error, loss and table of confusions.
void print_labels(const Evaluation& result, const ModelOrigin& origin, bool json);

}  // namespace dikkat
