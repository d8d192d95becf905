#pragma once

#include <variant>

#include "layers/models/encoder_decoder.h"
#include "layers/models/gpt.h"
#include "train/config/config.h"
#include "train/data/batch.h"

namespace dikkat {

/// The model that a configuration describes, with its parameters.
class LanguageModel {
 public:
  /// Names the parameters; they have no memory yet. With adapters (lora.rank above 0), these are trained, and all others frozen, and packed
  /// as lora.base says. Throws InputError where model.vocab_size is too small for the tokenizer, and for adapters of layers that there are
  /// none of.
  LanguageModel(const TransformerConfig& config, index tokenizer_vocab_size, const LoraConfig& lora = {});

  ParameterStore& parameters() { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }
  /// With every default computed.
  const TransformerConfig& config() const;
  index block_size() const { return config().block_size; }
  index vocab_size() const { return config().vocab_size; }

  /// What the batch's weights make of the losses of its targets, divided by `normaliser`: a scalar. It is the root of
  /// backward() (CrossEntropyOptions::is_root).
  Tensor loss(Pass& pass, const Batch& batch, double normaliser, double label_smoothing = 0, double* terms = nullptr) const;

  bool is_gpt() const { return std::holds_alternative<Gpt>(model_); }
  /// Throw InputError when the model is of the other kind.
  const Gpt& gpt() const;
  const EncoderDecoder& encoder_decoder() const;

 private:
  using Model = std::variant<Gpt, EncoderDecoder>;
  static Model make(const Scope& s, const TransformerConfig& config);

  ParameterStore parameters_;
  Model model_;
};

}  // namespace dikkat
