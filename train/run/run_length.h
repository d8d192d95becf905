#pragma once

#include <string>

#include "train/config/config.h"
#include "train/data/training_data.h"

namespace dikkat {

/// How long a run is where it is counted in epochs. An epoch has seen each window of the first source once, with its share of the other
/// sources beside it. The steps are computed when the text is known, and become train.max_steps; a resumed run has only these.
struct RunLength {
  double epochs = 0;        ///< 0: train.max_steps says it
  bool is_default = false;  ///< nobody chose it: then a small text is seen more often and a large one less
  // These keys follow from the length, unless the user set them:
  bool fits_step = false;         ///< train.batch_size and train.gradient_accumulation_steps, so that a small text makes enough steps
  bool fits_warmup = false;       ///< optim.warmup_steps
  bool fits_evaluations = false;  ///< train.eval_interval
};

/// Sets these keys. Returns what to say of it; empty if there is no more to say than "N steps, M epochs". Throws InputError for a length
/// that is too long.
std::string set_length(Config& config, const TrainingData& data, const RunLength& length);

}  // namespace dikkat
