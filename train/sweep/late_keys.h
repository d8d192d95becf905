#pragma once

#include <string_view>

namespace dikkat {

/// Returns whether a key acts late in a run, as regularisation does, which costs loss at first, or the decay of the learning rate.
/// Successive halving compares runs early, so it may stop the value that would be best at the end.
bool acts_late(std::string_view key);

}  // namespace dikkat
