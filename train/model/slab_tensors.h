#pragma once

#include <string_view>
#include <vector>

#include "autograd/tape/parameters.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/snapshot.h"

namespace dikkat {

/// Where the store's parameters lie in a slab of its layout, for load_tensors().
inline std::vector<TensorTarget> targets_in(const ParameterStore& parameters, float* slab) {
  std::vector<TensorTarget> targets;
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    targets.push_back({.name = entry->path, .type = ElementType::f32, .shape = entry->shape(), .data = slab + entry->offset});
  }
  return targets;
}

/// Appends the same for a Snapshot, with paths "<prefix>/<parameter>".
inline void append_tensors(std::vector<TensorView>& tensors, std::string_view prefix, const ParameterStore& parameters, const float* slab) {
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    tensors.push_back(
        {.path = concat(prefix, '/', entry->path), .type = ElementType::f32, .shape = entry->shape(), .data = slab + entry->offset});
  }
}

}  // namespace dikkat
