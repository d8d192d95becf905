#pragma once

#include <vector>

#include "autograd/tape/parameters.h"

namespace dikkat {

/// The store's parameters as they lie in a slab of its layout: {path, shape, data} each, in the order of the slab.
template <class Named>
std::vector<Named> tensors_in(const ParameterStore& parameters, float* slab) {
  std::vector<Named> tensors;
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    tensors.push_back({entry->path, entry->shape(), slab + entry->offset});
  }
  return tensors;
}

}  // namespace dikkat
