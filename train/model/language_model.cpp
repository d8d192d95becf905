#include "train/model/language_model.h"

#include "autograd/ops/loss.h"

namespace dikkat {
namespace {

index vocab_size_of(const ModelConfig& c, index tokenizer_vocab_size) {
  require_input(c.vocab_size == 0 || c.vocab_size >= tokenizer_vocab_size, "model.vocab_size is ", c.vocab_size, ", but the tokenizer has ",
                tokenizer_vocab_size, " tokens; set it to that or more, or leave it out");
  return c.vocab_size == 0 ? tokenizer_vocab_size : c.vocab_size;
}

/// What the kinds of models have in common. Keys that were left open mean a GPT-2.
template <class ModelKind>
ModelKind common(const ModelConfig& c, index vocab_size) {
  ModelKind model;
  model.n_layer = c.n_layer;
  model.n_head = c.n_head;
  model.n_embd = c.n_embd;
  model.n_hidden = c.n_hidden.value_or(0);
  model.block_size = c.block_size;
  model.vocab_size = vocab_size;
  model.dropout = c.dropout;
  model.bias = c.bias;
  model.qkv_bias = c.qkv_bias.value_or(c.bias);
  model.tie_embeddings = c.tie_embeddings;
  model.norm = c.norm.value_or("pre") == "pre" ? Norm::pre : Norm::post;
  model.final_norm = c.final_norm.value_or(model.norm == Norm::pre);
  model.activation = c.activation.value_or("gelu") == "gelu" ? Activation::gelu : Activation::relu;
  model.positions = c.positions.value_or("learned") == "learned" ? InputConfig::Positions::learned : InputConfig::Positions::sinusoidal;
  model.scale_embeddings = c.scale_embeddings.value_or(false);
  return model;
}

}  // namespace

LanguageModel::Model LanguageModel::make(const Scope& s, const ModelConfig& c, index vocab_size) {
  if (c.kind == "gpt") {
    return Gpt(s, common<GptConfig>(c, vocab_size));
  }
  require_input(c.kind == "encoder_decoder", "model.kind is '", c.kind, "', expected 'gpt' or 'encoder_decoder'");
  auto config = common<EncoderDecoderConfig>(c, vocab_size);
  config.n_encoder_layer = c.n_encoder_layer.value_or(c.n_layer);
  config.share_embeddings = c.share_embeddings;
  return EncoderDecoder(s, config);
}

LanguageModel::LanguageModel(const ModelConfig& config, index tokenizer_vocab_size)
    : model_(make(Scope(parameters_), config, vocab_size_of(config, tokenizer_vocab_size))) {}

index LanguageModel::block_size() const {
  return std::visit([](const auto& model) { return model.config().block_size; }, model_);
}
index LanguageModel::vocab_size() const {
  return std::visit([](const auto& model) { return model.config().vocab_size; }, model_);
}

// NOLINTNEXTLINE(readability-non-const-parameter): terms are written
Tensor LanguageModel::loss(Pass& pass, const Batch& batch, double normaliser, double label_smoothing, double* terms) const {
  Tape& tape = pass.tape;
  const Shape shape{batch.rows, batch.lengths.cols};
  const Tensor inputs = tape.input<Token>(shape, batch.inputs);
  const Tensor targets = tape.input<Token>(shape, batch.targets);
  const Tensor weights = tape.input<float>(shape, batch.weights);
  const CrossEntropyOptions options{.weights = weights, .normaliser = normaliser, .label_smoothing = label_smoothing, .terms = terms};
  const auto loss_of = [&](Tensor features, Tensor head) {
    tape.enter(Region::head);
    return linear_cross_entropy(features, head, targets, options);
  };
  if (is_gpt()) {
    return loss_of(gpt().features(pass, inputs), gpt().head());
  }
  const EncoderDecoder& model = encoder_decoder();
  const auto memory = model.encode(pass, tape.input<Token>({batch.rows, batch.lengths.source_cols}, batch.source),
                                   tape.input<std::int32_t>({batch.rows}, batch.source_lengths));
  return loss_of(model.features(pass, inputs, memory), model.head());
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

Recompute recompute_of(const TrainConfig& config) {
  return config.recompute == "block" ? Recompute::block : config.recompute == "cheap" ? Recompute::cheap : Recompute::none;
}

}  // namespace dikkat
