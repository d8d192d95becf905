#pragma once

#include <string>

#include "train/checkpoint/checkpoint_list.h"

namespace dikkat {

/// Says so on stderr where the newest checkpoint of a run directory was taken and an earlier one had a lower validation loss, as after
/// overfitting. `best`: --best was given.
void tell_of_a_better_checkpoint(const std::string& source, bool best, const CheckpointFile& taken);

}  // namespace dikkat
