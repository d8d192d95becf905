#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/tape/parameters.h"
#include "layers/lora_config.h"
#include "layers/recompute.h"
#include "layers/transformer_config.h"
#include "optim/newton_schulz.h"
#include "optim/parameter_group.h"
#include "optim/update_schedule.h"
#include "train/config/chat_config.h"
#include "train/config/classify_config.h"
#include "train/config/data_config.h"
#include "train/config/embedding_config.h"
#include "train/config/preference_config.h"

namespace dikkat {

// The configuration of a run: one struct for each section of the TOML file, and one member for each key. schema.cpp has a row for each. The
// values here are the defaults. A new key needs a default that keeps the meaning of older files. A Defaulted key has a default that follows
// from other keys; resolve() computes it.

enum class OptimizerKind { adamw, muon, sgd };
template <>
struct Names<OptimizerKind> {
  static constexpr std::string_view of[] = {"adamw", "muon", "sgd"};
};

/// The inputs of matrix products: f32, or activations and weights rounded to bf16. Sums, stored weights and the optimizer's state are f32
/// in both cases.
enum class Precision { f32, bf16, auto_ };
template <>
struct Names<Precision> {
  static constexpr std::string_view of[] = {"f32", "bf16", "auto"};
};

struct OptimConfig {
  OptimizerKind kind = OptimizerKind::adamw;
  double learning_rate = 1e-3;
  Defaulted<double> min_lr{};        // default: learning_rate * min_lr_share
  Defaulted<double> min_lr_share{};  // default: 0.1, or min_lr / learning_rate if min_lr is set
  Schedule::Kind schedule = Schedule::Kind::cosine;
  index warmup_steps = 100;
  Defaulted<index> decay_steps{};                                // default: max_steps when the run starts; with wsd always max_steps
  double decay_share = 0.2;                                      // wsd only
  Schedule::DecayForm decay_form = Schedule::DecayForm::linear;  // wsd only
  double weight_decay = 0.1;
  UpdateSchedule::WeightDecay weight_decay_schedule = UpdateSchedule::WeightDecay::constant;
  bool cautious_decay = false;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double muon_momentum = 0.95;
  Defaulted<double> muon_momentum_start{};  // default: muon_momentum
  index muon_momentum_warmup_steps = 300;
  Defaulted<double> muon_momentum_end{};  // default: muon_momentum
  MuonCoefficients muon_coefficients = MuonCoefficients::jordan;
  Defaulted<index> muon_steps{};  // default: usual_steps(muon_coefficients)
  Precision muon_precision = Precision::auto_;
  bool muon_normalize = false;
  double muon_beta2 = 0.9;
  double sgd_momentum = 0.9;
  bool sgd_nesterov = false;
  double new_rows_lr_scale = 1;        // factors of the rate of rows in tables of tokens: those that `tokenizer extend` added,
  double old_rows_lr_scale = 1;        // and the others; 0: frozen
  double grad_clip = 1.0;              // 0: off
  double ema_decay = 0.0;              // decay of the moving average of the weights; 0: off
  std::vector<ParameterGroup> groups;  // [[optim.groups]]

  bool operator==(const OptimConfig&) const = default;
};

/// The reaction to a file of the run that cannot be written.
enum class OnFailedSave { stop, continue_ };
template <>
struct Names<OnFailedSave> {
  static constexpr std::string_view of[] = {"stop", "continue"};
};

/// The reaction to a step whose loss or gradient is not finite, or whose loss is a spike.
enum class OnNonfinite { stop, skip };
template <>
struct Names<OnNonfinite> {
  static constexpr std::string_view of[] = {"stop", "skip"};
};

/// The form that a run prepares its weights for: they are trained with the rounding of a q4_0 export, or exactly.
enum class Quantize { none, q4 };
template <>
struct Names<Quantize> {
  static constexpr std::string_view of[] = {"none", "q4"};
};

struct TrainConfig {
  index batch_size = 12;
  index gradient_accumulation_steps = 1;
  std::vector<std::string> accumulation_schedule;  // "STEP:COUNT" (accumulation.h)
  Defaulted<index> lanes{};                        // default: 1; in a new run, the number of processes
  double rank_timeout = 600;                       // seconds
  index max_steps = 2000;
  index eval_interval = 250;
  index eval_tokens = 32768;  // 0: the whole validation part
  index patience = 0;         // evaluations without a lower loss; 0: off
  index checkpoint_interval = 250;
  index keep_last = 3;
  index log_interval = 10;
  std::vector<std::string> sample_prompts;  // continued at each evaluation
  index sample_tokens = 100;                // tokens generated for each prompt
  double label_smoothing = 0.0;
  Recompute recompute = Recompute::none;
  Precision precision = Precision::f32;
  bool emulate_bf16 = false;
  Quantize quantize = Quantize::none;
  double quantize_share = 0.1;  // share of optim.decay_steps, at their end
  bool async_save = true;
  OnFailedSave on_failed_save = OnFailedSave::stop;
  OnNonfinite on_nonfinite = OnNonfinite::stop;
  index max_skipped = 20;
  double spike_z = 0.0;  // 0: off
  index seed = 1337;
  std::string init_from;  // for fine-tuning: the checkpoint (RUN_DIR or FILE.h5) with the model, weights and tokenizer

  bool operator==(const TrainConfig&) const = default;
};

/// Distillation: training on the distributions of a teacher, which `dikkat teach` has written.
struct DistillConfig {
  std::string file;        // empty: no teacher
  double share = 0.5;      // the share of the loss against the teacher
  double temperature = 1;  // temperature of both distributions

  bool is_on() const { return !file.empty(); }

  bool operator==(const DistillConfig&) const = default;
};

struct Config {
  TransformerConfig model;
  TokenizerConfig tokenizer;
  DataConfig data;
  OptimConfig optim;
  TrainConfig train;
  LoraConfig lora;
  ChatConfig chat;
  PreferenceConfig preference;
  ClassifyConfig classify;
  DistillConfig distill;
  EmbeddingConfig embedding;

  bool operator==(const Config&) const = default;
};

}  // namespace dikkat
