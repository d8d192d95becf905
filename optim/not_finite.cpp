#include "optim/not_finite.h"

#include <algorithm>
#include <cmath>

namespace dikkat {
namespace {

template <class T>
bool all_finite(const T* values, index count) {
  return std::all_of(values, values + count, [](T value) { return std::isfinite(value); });
}

template <class T>
NotFinite search(ParameterStore& parameters, Optimizer& optimizer) {
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    if (entry->packing == PackedType::f32 && !all_finite(parameters.weights<T>() + entry->offset, entry->size())) {
      return {.tensor = concat("weight ", entry->path)};
    }
  }
  for (const StateSlab* slab : optimizer.state()) {
    for (const auto& [parameter, shape, offset] : slab->parts) {
      if (!all_finite(slab->data<T>() + offset, shape.size())) {
        return {.tensor = concat(slab->meaning, " of ", parameter->path)};
      }
    }
  }
  for (const ParameterStore::Entry* entry : parameters.trainable()) {
    if (!all_finite(parameters.gradients<T>() + entry->offset, entry->size())) {
      return {.tensor = concat("gradient of ", entry->path), .in_gradients = true};
    }
  }
  return {};
}

}  // namespace

NotFinite first_not_finite(ParameterStore& parameters, Optimizer& optimizer) {
  return for_float(parameters.dtype(), "optimizer", [&](auto zero) { return search<decltype(zero)>(parameters, optimizer); });
}

}  // namespace dikkat
