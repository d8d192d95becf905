#include "train/model/language_model.h"

#include <algorithm>

#include "autograd/ops/loss.h"
#include "layers/lora_config.h"
#include "train/model/pack_weights.h"

namespace dikkat {
namespace {

TransformerConfig for_tokenizer(TransformerConfig config, index tokens) {
  config.vocab_size.derive(tokens);
  require_input(config.vocab_size >= tokens, "model.vocab_size is ", *config.vocab_size, ", but the tokenizer has ", tokens,
                " tokens; set it to this number or more, or leave it out");
  return config;
}

}  // namespace

LanguageModel::Model LanguageModel::make(const Scope& s, const TransformerConfig& c) {
  switch (c.kind) {
    case ModelKind::gpt: return Gpt(s, c);
    case ModelKind::encoder_decoder: return EncoderDecoder(s, c);
  }
  fail("the model has an unknown kind");
}

LanguageModel::LanguageModel(const TransformerConfig& config, index tokenizer_vocab_size, const LoraConfig& lora)
    : model_(make(Scope(parameters_, &lora), for_tokenizer(config, tokenizer_vocab_size))) {
  if (lora.rank == 0) {
    return;
  }
  bool adapts = false;
  for (const ParameterStore::Entry* entry : parameters_.entries()) {
    if (entry->role == Role::adapter) {
      adapts = true;
    } else if (const bool is_head = head().record() == &entry->record;
               (is_head && is_classifier()) || is_saved(lora, entry->path, entry->role, is_head)) {
      parameters_.keep_with_adapters(entry->path);
    } else {
      parameters_.freeze(entry->path, can_be_packed(*entry) ? lora.base : PackedType::f32);
    }
  }
  if (!adapts) {
    std::string targets;
    for (const std::string& target : lora.targets) {
      targets += concat(targets.empty() ? "" : ", ", target);
    }
    fail_input("lora.targets is ", targets, ", which matches no linear layer's weight",
               lora.modules_to_save.empty() ? "" : " that lora.modules_to_save does not train in full",
               ": expected \"attention\", \"feed_forward\", \"all\", or a pattern such as h.*.attn.c_attn.weight");
  }
}

void require_lora_matches(const LanguageModel& model, const LoraConfig& lora) {
  if (lora.rank == 0) {
    return;
  }
  const auto& entries = model.parameters().entries();
  for (const std::string& target : lora.targets) {
    LoraConfig only = lora;
    only.targets = {target};
    const auto has_target = [&](const ParameterStore::Entry* entry) {
      return entry->role == Role::adapter && is_target(only, entry->path.substr(0, entry->path.rfind('.')) + ".weight");
    };
    require_input(std::ranges::any_of(entries, has_target), "lora.targets has \"", target,
                  "\", which matches no linear layer's weight: expected \"attention\", \"feed_forward\", \"all\", or a pattern such as "
                  "h.*.attn.c_attn.weight; leave it out");
  }
  for (const std::string& part : lora.modules_to_save) {
    const LoraConfig only{.modules_to_save = {part}};
    const auto is_its = [&](const ParameterStore::Entry* entry) {
      return entry->role != Role::adapter && is_saved(only, entry->path, entry->role, model.head().record() == &entry->record);
    };
    require_input(std::ranges::any_of(entries, is_its), "lora.modules_to_save has \"", part,
                  "\", which matches no parameter of the base: expected \"", kEmbeddingModule, "\", \"", kHeadModule,
                  "\", or a pattern of parameters' paths such as h.*.ln_1.weight; leave it out");
  }
}

const TransformerConfig& LanguageModel::config() const {
  return std::visit([](const auto& model) -> const TransformerConfig& { return model.config(); }, model_);
}

Tensor LanguageModel::features(Pass& pass, const Batch& batch) const {
  Tape& tape = pass.tape;
  const Shape shape{batch.rows, batch.lengths.cols};
  const Tensor inputs = tape.input<Token>(shape, batch.inputs);
  if (is_gpt()) {
    return batch.lengths.packed ? gpt().features(pass, inputs, tape.input<std::int32_t>(shape, batch.starts))
                                : gpt().features(pass, inputs);
  }
  const EncoderDecoder& model = encoder_decoder();
  const auto encoded = model.encode(pass, tape.input<Token>({batch.rows, batch.lengths.source_cols}, batch.source),
                                    tape.input<std::int32_t>({batch.rows}, batch.source_lengths));
  return model.features(pass, inputs, encoded);
}

Tensor LanguageModel::head_loss(Tape& tape, Tensor features, Tensor targets, const CrossEntropyOptions& options) const {
  tape.enter(Region::head);
  return linear_cross_entropy(features, head(), targets, options);
}

// NOLINTNEXTLINE(readability-non-const-parameter): terms are written
Tensor LanguageModel::loss(Pass& pass, const Batch& batch, double normalizer, double label_smoothing, double* terms,
                           const Teacher& teacher) const {
  Tape& tape = pass.tape;
  const Shape shape{batch.rows, batch.lengths.cols};
  const Tensor targets = tape.input<Token>(shape, batch.targets);
  const Tensor weights = tape.input<float>(shape, batch.weights);
  return head_loss(tape, features(pass, batch), targets,
                   {.weights = weights,
                    .normalizer = normalizer,
                    .label_smoothing = label_smoothing,
                    .softcap = config().logit_softcap,
                    .teacher = teacher,
                    .terms = terms,
                    .is_root = true});
}

// NOLINTNEXTLINE(readability-non-const-parameter): terms are written
Tensor LanguageModel::loss_of(Tape& tape, Tensor features, const Batch& batch, std::span<const float> weights, double normalizer,
                              double* terms) const {
  const Shape shape{batch.rows, batch.lengths.cols};
  const Tensor read = tape.recording() ? features : tape.borrow(features.shape(), features.dtype(), features.record()->data);
  return head_loss(tape, read, tape.input<Token>(shape, batch.targets),
                   {.weights = tape.input<float>(shape, weights),
                    .normalizer = normalizer,
                    .softcap = config().logit_softcap,
                    .terms = terms,
                    .is_root = true});
}

const Gpt& LanguageModel::gpt() const {
  const Gpt* model = std::get_if<Gpt>(&model_);
  require_input(model != nullptr, "the model is an encoder-decoder, expected a GPT");
  return *model;
}

const EncoderDecoder& LanguageModel::encoder_decoder() const {
  const auto* model = std::get_if<EncoderDecoder>(&model_);
  require_input(model != nullptr, "the model is a GPT, expected an encoder-decoder");
  return *model;
}

}  // namespace dikkat
