#pragma once

#include <string>

#include "train/data/dataset.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// Measures a classifier on texts with labels, and prints its accuracy, macro-F1, calibration error, loss and table of confusions. `name`
/// describes the texts. Returns the exit code.
int eval_labels(const TrainedModel& trained, const Dataset& texts, const std::string& name, bool json);

}  // namespace dikkat
