#pragma once

#include <string>

#include "autograd/tape/parameters.h"

namespace dikkat {

/// Throws InputError, which begins with `name`, if one of the parameter's values is NaN or infinite. The values must be in memory as f32
/// (Entry::values). The message has the parameter's path, the first place, and how many there are. Threads share the search.
void require_finite(const ParameterStore::Entry& entry, const std::string& name);

}  // namespace dikkat
