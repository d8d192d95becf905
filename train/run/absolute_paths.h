#pragma once

#include "train/config/config.h"

namespace dikkat {

/// Makes the paths of a resolved configuration absolute, because a run may be resumed from another folder. Throws InputError if a path
/// cannot be written to a configuration.
void make_absolute(Config& config);

}  // namespace dikkat
