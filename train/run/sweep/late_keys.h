#pragma once

#include <string_view>

namespace dikkat {

/// Whether what a key does shows late in a run, such as regularisation, which costs loss at first, or how the learning rate falls.
/// Successive halving compares runs early, and so may stop the value that is best at the end.
bool acts_late(std::string_view key);

}  // namespace dikkat
