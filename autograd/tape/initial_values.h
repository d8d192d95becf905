#pragma once

#include "autograd/tape/parameters.h"

namespace dikkat {

/// Writes the initial values of a parameter of f32 or f64, which has memory. They have the same bits on any number of
/// threads.
template <class T>
void draw_initial_values(const ParameterStore::Entry& entry, std::uint64_t seed);

}  // namespace dikkat
