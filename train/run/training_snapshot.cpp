#include "train/run/training_snapshot.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "train/model/trained_model.h"

namespace dikkat {

std::vector<TensorView> state_of(Optimizer& optimizer, std::string_view prefix) {
  std::vector<TensorView> views;
  for (const StateSlab* slab : optimizer.state()) {
    for_float(slab->dtype, "optimizer", [&](auto zero) {
      using T = decltype(zero);
      for (const auto& [parameter, shape, offset] : slab->parts) {
        views.push_back({.path = concat("optimizer/", slab->name, '/', prefix, parameter->path),
                         .type = std::is_same_v<T, float> ? ElementType::f32 : ElementType::f64,
                         .shape = shape,
                         .data = slab->data<T>() + offset});
      }
    });
  }
  return views;
}

Snapshot training_snapshot(const TrainingState& state, std::string config, std::string tokenizer, const ParameterStore& parameters,
                           Optimizer& optimizer) {
  Snapshot snapshot{.state = state, .config = std::move(config), .tokenizer = std::move(tokenizer), .tensors = weights_of(parameters)};
  std::ranges::move(state_of(optimizer), std::back_inserter(snapshot.tensors));
  return snapshot;
}

void load_optimizer(const CheckpointFile& checkpoint, Optimizer& optimizer) { load_tensors(checkpoint, "optimizer", state_of(optimizer)); }

}  // namespace dikkat
