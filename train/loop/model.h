#pragma once

#include "layers/models/gpt.h"
#include "train/config/config.h"

namespace dikkat {

/// The model that a configuration describes, with its parameters.
class LanguageModel {
 public:
  /// Names the parameters; they have no memory yet. Throws InputError where model.vocab_size is too small for the tokenizer.
  LanguageModel(const ModelConfig& config, index tokenizer_vocab_size);

  ParameterStore& parameters() { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }
  const Gpt& gpt() const { return gpt_; }
  index block_size() const { return gpt_.config().block_size; }
  index vocab_size() const { return gpt_.config().vocab_size; }

 private:
  ParameterStore parameters_;
  Gpt gpt_;
};

}  // namespace dikkat
