#include "train/loop/training_snapshot.h"

#include "train/model/slab_tensors.h"

namespace dikkat {

Snapshot training_snapshot(const TrainingState& state, std::string config, std::string tokenizer, ParameterStore& parameters,
                           AdamW& optimizer) {
  Snapshot snapshot{.state = state, .config = std::move(config), .tokenizer = std::move(tokenizer), .tensors = {}};
  append_tensors(snapshot.tensors, "model", parameters, parameters.weights<float>());
  append_tensors(snapshot.tensors, "optimizer/m", parameters, optimizer.m<float>());
  append_tensors(snapshot.tensors, "optimizer/v", parameters, optimizer.v<float>());
  return snapshot;
}

void load_moments(const CheckpointFile& checkpoint, ParameterStore& parameters, AdamW& optimizer) {
  load_tensors(checkpoint, "optimizer/m", targets_in(parameters, optimizer.m<float>()));
  load_tensors(checkpoint, "optimizer/v", targets_in(parameters, optimizer.v<float>()));
}

}  // namespace dikkat
