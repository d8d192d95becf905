#include "train/assistant/recipe.h"

#include <algorithm>

#include "train/assistant/assumptions.h"

namespace dikkat::assistant {
namespace {

/// Returns what chats and preferences share.
Edits tuning(Precision precision) {
  return {{"optim.schedule", Schedule::Kind::linear}, {"optim.min_lr", 0.0},         {"optim.weight_decay", 0.0}, {"optim.beta2", 0.99},
          {"train.eval_tokens", index{65536}},        {"train.precision", precision}};
}

}  // namespace

Edits joined(std::initializer_list<Edits> lists) {
  Edits all;
  for (const Edits& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

Edits length_of(index steps, double step_seconds) {
  const auto of_time = static_cast<index>(std::clamp(kSecondsOfSaves / step_seconds, 1.0, 1e9));
  return {{"train.max_steps", steps},
          {"optim.warmup_steps", std::max<index>(1, steps / kWarmupPart)},
          {"train.eval_interval", ceil_div(steps, kEvaluations)},
          {"train.checkpoint_interval", std::min(of_time, ceil_div(steps, kCheckpoints))}};
}

Edits pretraining(const Size& size, index vocab_size, bool is_read_often, Precision precision) {
  return {{"model.bias", false},
          {"model.norm", NormKind::rms_norm},
          {"model.norm_eps", 1e-6, "1e-6"},
          {"model.activation", Activation::silu},
          {"model.gated", true},
          {"model.positions", Positions::rope},
          {"model.qk_norm", true},
          {"tokenizer.kind", "bpe"},
          {"optim.kind", OptimizerKind::muon},
          {"optim.muon_coefficients", MuonCoefficients::turbo},
          {"optim.muon_normalize", true},
          {"optim.schedule", Schedule::Kind::wsd},
          {"optim.decay_share", 0.8},
          {"optim.min_lr_share", 0.0},
          {"optim.beta1", 0.8},
          {"optim.beta2", 0.95},
          {"train.eval_tokens", index{65536}},
          {"model.n_layer", size.n_layer},
          {"model.n_embd", size.n_embd},
          {"model.n_head", size.n_head},
          {"model.block_size", size.block_size},
          {"model.dropout", is_read_often ? 0.1 : 0.0},
          {"tokenizer.vocab_size", vocab_size},
          {"optim.learning_rate", 6e-3},
          {"optim.weight_decay", is_read_often ? 0.8 : 0.4},
          {"train.batch_size", size.batch_size},
          {"train.precision", precision}};
}

Edits Tuning::chats() const {
  return joined({tuning(precision), of_model, {{"optim.learning_rate", chat_rate}, {"train.batch_size", chat_rows}}});
}

Edits Tuning::preferences() const {
  return joined(
      {tuning(precision),
       of_model,
       {{"preference.method", PreferenceMethod::auto_}, {"optim.learning_rate", preference_rate}, {"train.batch_size", pair_rows}}});
}

Tuning tuning_of_new(const Size& size, index vocab_size, Precision precision) {
  const bool is_large = static_cast<double>(size.parameters(vocab_size)) >= kLargeNewModel;
  return {.precision = precision,
          .chat_rate = is_large ? 3e-4 : 1e-3,
          .preference_rate = is_large ? 5e-6 : 2e-5,
          .chat_rows = size.batch_size,
          .pair_rows = std::max<index>(1, size.batch_size / 4)};
}

Tuning tuning_of_trained(const TransformerConfig& model, index window, Precision precision) {
  const bool is_large = Size{.n_layer = model.n_layer, .n_embd = model.n_embd}.parameters(0) > kLargeTrainedModel;
  const bool has_no_table = model.positions == Positions::rope || model.positions == Positions::none;
  Tuning recipe{.precision = precision,
                .chat_rate = is_large ? 5e-4 : 3e-4,
                .preference_rate = is_large ? 5e-5 : 1e-5,
                .chat_rows = kTuningRows,
                .pair_rows = kTuningPairRows};
  if (window < model.block_size && has_no_table) {
    recipe.of_model.emplace_back("data.window", window);
  }
  if (is_large) {
    recipe.of_model.emplace_back("lora.rank", index{16});
  }
  return recipe;
}

}  // namespace dikkat::assistant
