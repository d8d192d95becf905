#pragma once

#include <span>
#include <variant>

#include "autograd/ops/loss.h"
#include "layers/models/encoder_decoder.h"
#include "layers/models/gpt.h"
#include "train/config/config.h"
#include "train/data/samples/batch.h"

namespace dikkat {

/// The GPT or encoder-decoder that a configuration describes, with its parameters.
class LanguageModel {
 public:
  /// Adds the parameters to the store, without memory. With adapters (lora.rank above 0), these and the parameters of lora.modules_to_save
  /// are trained; all others are frozen and packed by lora.base. Throws InputError if model.vocab_size is too small for the tokenizer, or
  /// if lora.targets matches no layer.
  LanguageModel(const TransformerConfig& config, index tokenizer_vocab_size, const LoraConfig& lora = {});

  ParameterStore& parameters() { return parameters_; }
  const ParameterStore& parameters() const { return parameters_; }
  /// Returns the configuration with every default computed.
  const TransformerConfig& config() const;
  index block_size() const { return config().block_size; }
  index vocab_size() const { return config().vocab_size; }

  /// Returns the weighted sum of the target losses divided by `normalizer`, a scalar. Call backward() on this tensor only
  /// (CrossEntropyOptions::is_root). `terms` and `teacher`: see CrossEntropyOptions.
  Tensor loss(Pass& pass, const Batch& batch, double normalizer, double label_smoothing = 0, double* terms = nullptr,
              const Teacher& teacher = {}) const;

  /// These are the two halves of loss(), for losses whose weights depend on the features. features() returns the input of the output head,
  /// and loss_of() the weighted sum of the target losses divided by `normalizer`. `weights` has one number for each position, of any sign.
  /// Call backward() on the result only. A tape that does not record may differ from that of the features, which it borrows until it is
  /// reset.
  Tensor features(Pass& pass, const Batch& batch) const;
  Tensor loss_of(Tape& tape, Tensor features, const Batch& batch, std::span<const float> weights, double normalizer,
                 double* terms = nullptr) const;

  /// Returns the output head's weight, (V, C), or (classes, C).
  Tensor head() const { return is_gpt() ? gpt().head() : encoder_decoder().head(); }
  bool is_gpt() const { return std::holds_alternative<Gpt>(model_); }
  /// Returns whether the output head has labels instead of tokens. It is always trained in full.
  bool is_classifier() const { return config().classes > 0; }
  /// Both throw InputError if the model is of the other kind.
  const Gpt& gpt() const;
  const EncoderDecoder& encoder_decoder() const;

 private:
  using Model = std::variant<Gpt, EncoderDecoder>;
  static Model make(const Scope& s, const TransformerConfig& config);
  Tensor head_loss(Tape& tape, Tensor features, Tensor targets, const CrossEntropyOptions& options) const;

  ParameterStore parameters_;
  Model model_;
};

/// Throws InputError for a part of lora.targets that matches no layer of the model, and for one of lora.modules_to_save that matches no
/// parameter. A run that began with such a part keeps it.
void require_lora_matches(const LanguageModel& model, const LoraConfig& lora);

}  // namespace dikkat
