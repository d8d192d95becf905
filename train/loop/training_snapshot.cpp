#include "train/loop/training_snapshot.h"

#include "train/config/parse.h"

namespace dikkat {
namespace {

/// The store's parameters as they lie in a slab.
template <class Named>
std::vector<Named> tensors_in(const ParameterStore& parameters, float* slab) {
  std::vector<Named> tensors;
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    tensors.push_back({entry->path, entry->shape(), slab + entry->offset});
  }
  return tensors;
}

}  // namespace

Snapshot training_snapshot(const TrainingState& state, std::string config, std::string tokenizer, ParameterStore& parameters,
                           AdamW& optimizer) {
  return {.state = state,
          .config = std::move(config),
          .tokenizer = std::move(tokenizer),
          .model = tensors_in<TensorView>(parameters, parameters.weights<float>()),
          .adam_m = tensors_in<TensorView>(parameters, optimizer.m<float>()),
          .adam_v = tensors_in<TensorView>(parameters, optimizer.v<float>())};
}

Config config_of(const CheckpointFile& checkpoint) {
  Config config = parse_config(checkpoint.config(), checkpoint.path().string() + ": configuration");
  resolve(config);
  if (config.model.kind == "encoder_decoder") {
    config.data.validation.clear();  // which earlier programs took, and did not use
  }
  return config;
}

void load_weights(const CheckpointFile& checkpoint, ParameterStore& parameters) {
  load_tensors(checkpoint, TensorGroup::model, tensors_in<TensorTarget>(parameters, parameters.weights<float>()));
}

void load_moments(const CheckpointFile& checkpoint, ParameterStore& parameters, AdamW& optimizer) {
  load_tensors(checkpoint, TensorGroup::adam_m, tensors_in<TensorTarget>(parameters, optimizer.m<float>()));
  load_tensors(checkpoint, TensorGroup::adam_v, tensors_in<TensorTarget>(parameters, optimizer.v<float>()));
}

}  // namespace dikkat
