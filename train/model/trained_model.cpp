#include "train/model/trained_model.h"

#include "autograd/base/error.h"
#include "train/config/parse.h"

namespace dikkat {

Config config_of(const CheckpointFile& checkpoint) {
  Config config = parse_config(checkpoint.config(), checkpoint.path().string() + ": configuration");
  resolve(config);
  if (config.model.kind == ModelKind::encoder_decoder) {
    config.data.validation.clear();  // which earlier programs took, and did not use
  }
  return config;
}

void load_weights(const CheckpointFile& checkpoint, ParameterStore& parameters) {
  std::vector<TensorTarget> targets;
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    float* const data = parameters.weights<float>() + entry->offset;
    targets.push_back({.name = entry->path, .type = ElementType::f32, .shape = entry->shape(), .data = data});
  }
  load_tensors(checkpoint, "model", targets);
}

TrainedModel load_trained_model(const std::string& source, bool best) {
  CheckpointFile checkpoint = open_checkpoint(source, best ? Pick::best : Pick::newest);
  Config config = config_of(checkpoint);
  validate(config);
  auto tokenizer = tokenizer_from_json(checkpoint.tokenizer());
  auto model = std::make_unique<LanguageModel>(config.model, tokenizer->vocab_size());
  // Before memory is asked for, since the configuration may say anything: what is stored lies in the file.
  index stored = 0;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    stored += tensor.path.starts_with("model/") ? tensor.shape.size() : 0;
  }
  require_input(model->parameters().parameter_count() == stored, checkpoint.path().string(), " holds ", stored,
                " parameters, but the model of its configuration has ", model->parameters().parameter_count());
  model->parameters().allocate(checkpoint.state().seed);
  load_weights(checkpoint, model->parameters());
  return {std::move(checkpoint), std::move(config), std::move(tokenizer), std::move(model)};
}

}  // namespace dikkat
