#pragma once

#include "autograd/base/index.h"

namespace dikkat {

/// Returns floor(count * (1 - val_fraction)): how many of `count` bytes, tokens, examples or pairs are for training. The training part
/// comes first. Throws InputError unless 0 <= val_fraction < 1.
index training_share(index count, double val_fraction);

}  // namespace dikkat
