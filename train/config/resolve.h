#pragma once

#include "train/config/config.h"

namespace dikkat {

/// Computes each derived key that is not set. Only model.vocab_size may remain open, because it follows from the tokenizer.
void resolve(Config& config);

/// Throws InputError unless every value is in its range and the keys fit together.
void validate(const Config& config);

}  // namespace dikkat
