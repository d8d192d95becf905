#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/tape/parameters.h"
#include "layers/lora.h"
#include "layers/pass.h"
#include "layers/transformer_config.h"
#include "optim/newton_schulz.h"
#include "optim/parameter_group.h"
#include "optim/update_schedule.h"
#include "train/text/chat/chat_template.h"
#include "train/text/splitter.h"

namespace dikkat {

// The configuration of a run: one struct for each section of the TOML file, one member for each key; schema.cpp has a row for each.
// The values here are the defaults. A key that is added later needs the default that keeps the meaning of older files. A Derived key has a
// default that follows from other keys: resolve() computes it.

struct TokenizerConfig {
  std::string kind = "char";
  index vocab_size = 8192;             // of bpe
  Splitter splitter = Splitter::gpt2;  // of bpe
  index min_count = 1;                 // of word
  std::string path;                    // of a tokenizer that there is already

  bool operator==(const TokenizerConfig&) const = default;
};

/// How windows are cut: from the stream of all documents; so that none crosses from one document into the next; or so that short ones share
/// a window and do not see each other.
enum class Packing { stream, document, best_fit };
template <>
struct Names<Packing> {
  static constexpr std::string_view of[] = {"stream", "document", "best_fit"};
};

/// What happens with bytes that are not UTF-8: the text is refused, or each byte becomes U+FFFD.
enum class InvalidUtf8 { refuse, replace };
template <>
struct Names<InvalidUtf8> {
  static constexpr std::string_view of[] = {"refuse", "replace"};
};

/// One of several texts to learn from: a table of [[data.sources]].
struct DataSource {
  std::string name{};
  std::vector<std::string> corpus{};
  std::vector<std::string> validation{};  // in place of data.val_fraction
  double weight = 1;                      // its part of all windows, beside the other weights

  bool operator==(const DataSource&) const = default;
};

/// A text that is only evaluated: a table of [[data.evaluations]].
struct EvaluationSource {
  std::string name{};
  std::vector<std::string> corpus{};

  bool operator==(const EvaluationSource&) const = default;
};

struct DataConfig {
  std::vector<std::string> corpus;      // files and folders
  std::vector<std::string> validation;  // in place of val_fraction
  double val_fraction = 0.1;
  std::string text_field = "text";
  Packing pack = Packing::stream;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::refuse;
  std::string cache = "auto";
  Derived<index> window{};          // tokens of a window to learn from: model.block_size
  std::vector<DataSource> sources;  // in place of corpus and validation
  std::vector<EvaluationSource> evaluations;

  /// The sources; without any, corpus and validation as one without a name.
  std::vector<DataSource> all_sources() const;
  /// The files and folders that training reads, of all sources.
  std::vector<std::string> training_paths() const;
  /// Every member that holds files and folders.
  std::vector<std::vector<std::string>*> all_paths();

  bool operator==(const DataConfig&) const = default;
};

enum class OptimizerKind { adamw, muon, sgd };
template <>
struct Names<OptimizerKind> {
  static constexpr std::string_view of[] = {"adamw", "muon", "sgd"};
};

struct OptimConfig {
  OptimizerKind kind = OptimizerKind::adamw;
  double learning_rate = 1e-3;
  Derived<double> min_lr{};        // learning_rate * min_lr_share
  Derived<double> min_lr_share{};  // 0.1; min_lr / learning_rate where min_lr is set
  Schedule::Kind schedule = Schedule::Kind::cosine;
  index warmup_steps = 100;
  Derived<index> decay_steps{};                                  // max_steps when the run starts; of wsd always max_steps
  double decay_share = 0.2;                                      // of wsd
  Schedule::DecayForm decay_form = Schedule::DecayForm::linear;  // of wsd
  double weight_decay = 0.1;
  UpdateSchedule::WeightDecay weight_decay_schedule = UpdateSchedule::WeightDecay::constant;
  bool cautious_decay = false;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double muon_momentum = 0.95;
  Derived<double> muon_momentum_start{};  // muon_momentum
  index muon_momentum_warmup_steps = 300;
  Derived<double> muon_momentum_end{};  // muon_momentum
  MuonCoefficients muon_coefficients = MuonCoefficients::jordan;
  Derived<index> muon_steps{};  // usual_steps(muon_coefficients)
  bool muon_normalize = false;
  double muon_beta2 = 0.9;
  double sgd_momentum = 0.9;
  bool sgd_nesterov = false;
  double grad_clip = 1.0;              // 0: off
  double ema_decay = 0.0;              // of the average of the weights; 0: there is none
  std::vector<ParameterGroup> groups;  // [[optim.groups]]

  bool operator==(const OptimConfig&) const = default;
};

/// What happens if a file of the run cannot be written.
enum class OnFailedSave { stop, continue_ };
template <>
struct Names<OnFailedSave> {
  static constexpr std::string_view of[] = {"stop", "continue"};
};

/// What happens at a step whose loss or gradient is not finite, or whose loss is a spike.
enum class OnNonfinite { stop, skip };
template <>
struct Names<OnNonfinite> {
  static constexpr std::string_view of[] = {"stop", "skip"};
};

/// What matrix products read: f32, or activations and weights rounded to bf16. Sums, weights and the optimizer's state are f32 in both.
enum class Precision { f32, bf16, auto_ };
template <>
struct Names<Precision> {
  static constexpr std::string_view of[] = {"f32", "bf16", "auto"};
};

struct TrainConfig {
  index batch_size = 12;
  index gradient_accumulation_steps = 1;
  std::vector<std::string> accumulation_schedule;  // "STEP:COUNT"; accumulation.h
  Derived<index> lanes{};                          // 1; of a new run the number of processes
  double rank_timeout = 600;                       // seconds
  index max_steps = 2000;
  index eval_interval = 250;
  index eval_tokens = 32768;  // 0: the whole validation part
  index patience = 0;         // evaluations without a lower loss; 0: off
  index checkpoint_interval = 250;
  index keep_last = 3;
  index log_interval = 10;
  std::vector<std::string> sample_prompts;  // continued at each evaluation
  index sample_tokens = 100;                // of each
  double label_smoothing = 0.0;
  Recompute recompute = Recompute::none;
  Precision precision = Precision::f32;
  bool emulate_bf16 = false;
  bool async_save = true;
  OnFailedSave on_failed_save = OnFailedSave::stop;
  OnNonfinite on_nonfinite = OnNonfinite::stop;
  index max_skipped = 20;
  double spike_z = 0.0;  // 0: off
  index seed = 1337;
  std::string init_from;  // of a fine-tuning run: the checkpoint (RUN_DIR or FILE.h5) whose model, weights and tokenizer it starts with

  bool operator==(const TrainConfig&) const = default;
};

/// Conversations.
struct ChatConfig {
  TemplateName template_name = TemplateName::auto_;
  std::string system;
  std::string jinja;  // the template that came with the model, as its text in the Jinja language
  ScoredText loss = ScoredText::answers;
  Derived<ScoredText> eval_loss{};  // what evaluations score: loss

  ScoredText evaluated() const { return eval_loss.is_open() ? loss : ScoredText{eval_loss}; }

  bool operator==(const ChatConfig&) const = default;
};

struct Config {
  TransformerConfig model;
  TokenizerConfig tokenizer;
  DataConfig data;
  OptimConfig optim;
  TrainConfig train;
  LoraConfig lora;
  ChatConfig chat;

  bool operator==(const Config&) const = default;
};

/// The key that says how long windows are.
inline const char* window_key(const Config& config) { return config.data.window.is_set() ? "data.window" : "model.block_size"; }

}  // namespace dikkat
