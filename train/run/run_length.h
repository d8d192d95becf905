#pragma once

#include <string>

#include "train/config/config.h"
#include "train/data/training_data.h"

namespace dikkat {

/// The length of a run in epochs. An epoch reads each window of the first source once, and the other sources by their shares. The number of
/// steps is computed when the text is known, and becomes train.max_steps. A resumed run knows only that.
struct RunLength {
  double epochs = 0;        ///< 0: the length is train.max_steps
  bool is_default = false;  ///< the user did not choose it: then a small text is read more often and a large one less
  double usual_epochs = 0;  ///< a finetuning's; they decide the windows of a step, so that more epochs never make fewer steps
  // These keys are fitted to the length, unless the user set them:
  bool fits_step = false;         ///< train.batch_size and train.gradient_accumulation_steps, so that a small text has enough steps
  bool fits_warmup = false;       ///< optim.warmup_steps
  bool fits_evaluations = false;  ///< train.eval_interval
};

/// Sets these keys. Returns a remark for the user; empty if there is nothing to add to "N steps, M epochs". Throws InputError if the length
/// is too long.
std::string set_length(Config& config, const TrainingData& data, const RunLength& length);

}  // namespace dikkat
