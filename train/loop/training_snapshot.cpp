#include "train/loop/training_snapshot.h"

#include "train/model/slab_tensors.h"

namespace dikkat {

Snapshot training_snapshot(const TrainingState& state, std::string config, std::string tokenizer, ParameterStore& parameters,
                           AdamW& optimizer) {
  return {.state = state,
          .config = std::move(config),
          .tokenizer = std::move(tokenizer),
          .model = tensors_in<TensorView>(parameters, parameters.weights<float>()),
          .adam_m = tensors_in<TensorView>(parameters, optimizer.m<float>()),
          .adam_v = tensors_in<TensorView>(parameters, optimizer.v<float>())};
}

void load_moments(const CheckpointFile& checkpoint, ParameterStore& parameters, AdamW& optimizer) {
  load_tensors(checkpoint, TensorGroup::adam_m, tensors_in<TensorTarget>(parameters, optimizer.m<float>()));
  load_tensors(checkpoint, TensorGroup::adam_v, tensors_in<TensorTarget>(parameters, optimizer.v<float>()));
}

}  // namespace dikkat
