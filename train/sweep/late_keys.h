#pragma once

#include <string_view>

namespace dikkat {

/// Returns whether a key acts late in a run, such as the learning rate's decay, or regularization, which costs loss at first. Successive
/// halving compares runs early, so it may stop the value that would be best at the end.
bool acts_late(std::string_view key);

}  // namespace dikkat
