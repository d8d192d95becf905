#include "train/run/training_snapshot.h"

#include <vector>

#include "train/model/trained_model.h"

namespace dikkat {

Snapshot training_snapshot(const TrainingState& state, std::string config, std::string tokenizer, const ParameterStore& parameters,
                           Optimizer& optimizer) {
  Snapshot snapshot{.state = state, .config = std::move(config), .tokenizer = std::move(tokenizer), .tensors = weights_of(parameters)};
  for (const StateSlab* slab : optimizer.state()) {
    for (const auto& [parameter, shape, offset] : slab->parts) {
      snapshot.tensors.push_back({.path = concat("optimizer/", slab->name, '/', parameter->path),
                                  .type = ElementType::f32,
                                  .shape = shape,
                                  .data = slab->data<float>() + offset});
    }
  }
  return snapshot;
}

void load_optimizer(const CheckpointFile& checkpoint, Optimizer& optimizer) {
  std::vector<TensorTarget> targets;
  for (const StateSlab* slab : optimizer.state()) {
    for (const auto& [parameter, shape, offset] : slab->parts) {
      targets.push_back({.name = concat(slab->name, '/', parameter->path),
                         .type = ElementType::f32,
                         .shape = shape,
                         .data = slab->data<float>() + offset});
    }
  }
  load_tensors(checkpoint, "optimizer", targets);
}

}  // namespace dikkat
