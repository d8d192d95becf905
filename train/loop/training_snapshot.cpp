#include "train/loop/training_snapshot.h"

#include <vector>

namespace dikkat {

Snapshot training_snapshot(const TrainingState& state, std::string config, std::string tokenizer, const ParameterStore& parameters,
                           Optimizer& optimizer) {
  Snapshot snapshot{.state = state, .config = std::move(config), .tokenizer = std::move(tokenizer), .tensors = {}};
  const auto add = [&](std::string path, const Shape& shape, const float* data) {
    snapshot.tensors.push_back({.path = std::move(path), .type = ElementType::f32, .shape = shape, .data = data});
  };
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    add(concat("model/", entry->path), entry->shape(), parameters.weights<float>() + entry->offset);
  }
  for (const StateSlab* slab : optimizer.state()) {
    for (const auto& [parameter, offset] : slab->parts) {
      add(concat("optimizer/", slab->name, '/', parameter->path), parameter->shape(), slab->data<float>() + offset);
    }
  }
  return snapshot;
}

void load_optimizer(const CheckpointFile& checkpoint, Optimizer& optimizer) {
  for (const StateSlab* slab : optimizer.state()) {
    std::vector<TensorTarget> targets;
    for (const auto& [parameter, offset] : slab->parts) {
      targets.push_back(
          {.name = parameter->path, .type = ElementType::f32, .shape = parameter->shape(), .data = slab->data<float>() + offset});
    }
    load_tensors(checkpoint, concat("optimizer/", slab->name), targets);
  }
}

}  // namespace dikkat
