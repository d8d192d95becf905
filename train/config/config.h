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
#include "train/choices/chat.h"
#include "train/choices/tokenizer.h"

namespace dikkat {

// The configuration of a run: one struct for each section of the TOML file, and one member for each key. schema.cpp has a row for each. The
// values here are the defaults. A new key needs a default that keeps the meaning of older files. A Defaulted key has a default that follows
// from other keys; resolve() computes it.

struct TokenizerConfig {
  std::string kind = "char";
  index vocab_size = 8192;             // bpe only
  Splitter splitter = Splitter::gpt2;  // bpe only
  index min_count = 1;                 // word only
  std::string path;                    // the path of an existing tokenizer

  bool operator==(const TokenizerConfig&) const = default;
};

/// How windows are cut: from the stream of all documents; within documents; or so that short documents share a window without seeing each
/// other.
enum class Packing { stream, document, best_fit };
template <>
struct Names<Packing> {
  static constexpr std::string_view of[] = {"stream", "document", "best_fit"};
};

/// The order of documents in the stream from which windows are cut: that of the corpus, or another one in each epoch.
enum class DocumentOrder { fixed, shuffled };
template <>
struct Names<DocumentOrder> {
  static constexpr std::string_view of[] = {"fixed", "shuffled"};
};

/// The validation part of a source of several files: a share of the files or the end of each, or the end of all of them.
enum class SplitPlace { spread, end };
template <>
struct Names<SplitPlace> {
  static constexpr std::string_view of[] = {"spread", "end"};
};

/// The treatment of bytes that are not UTF-8: the text is refused, or each byte becomes U+FFFD.
enum class InvalidUtf8 { refuse, replace };
template <>
struct Names<InvalidUtf8> {
  static constexpr std::string_view of[] = {"refuse", "replace"};
};

/// One of several sources to train on: a table of [[data.sources]].
struct DataSource {
  std::string name{};
  std::vector<std::string> corpus{};
  std::vector<std::string> validation{};  // used instead of data.val_fraction
  double weight = 1;                      // share of all windows: weight / sum of weights

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
  std::vector<std::string> validation;  // used instead of val_fraction
  double val_fraction = 0.1;
  SplitPlace split = SplitPlace::spread;
  std::string text_field = "text";
  Packing pack = Packing::stream;
  DocumentOrder order = DocumentOrder::fixed;  // order of the stream
  InvalidUtf8 invalid_utf8 = InvalidUtf8::refuse;
  std::string cache = "auto";
  Defaulted<index> window{};        // tokens of a window; default: model.block_size
  std::vector<DataSource> sources;  // used instead of corpus and validation
  std::vector<EvaluationSource> evaluations;

  /// Returns the sources. If there are none, returns corpus and validation as one source without a name.
  std::vector<DataSource> all_sources() const;
  /// Returns the files and folders of all sources that training reads.
  std::vector<std::string> training_paths() const;
  /// Returns every member that holds files and folders.
  std::vector<std::vector<std::string>*> all_paths();

  bool operator==(const DataConfig&) const = default;
};

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

/// How answers are drawn by default.
struct AnswerSampling {
  double temperature = 0.7;
  index top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;

  bool operator==(const AnswerSampling&) const = default;
};
/// Always takes the likeliest token.
inline AnswerSampling greedy() { return {.temperature = 0}; }

/// The formatting and the loss of conversations.
struct ChatConfig : AnswerSampling {
  std::string template_name = "auto";  // a TemplateName; before the run begins also a file
  std::string system;
  std::string jinja;      // the template that came with the model, as text in the Jinja language
  std::string date;       // what strftime_now() prints in a template
  std::string variables;  // a JSON object of a template's other variables
  ContentParts content_parts = ContentParts::by_template;
  ScoredText loss = ScoredText::answers;
  Defaulted<ScoredText> eval_loss{};  // the tokens that evaluations score; default: loss

  ScoredText evaluated() const { return eval_loss.is_open() ? loss : ScoredText{eval_loss}; }

  bool operator==(const ChatConfig&) const = default;
};

/// The loss of preference tuning. none: a run trains on texts and conversations as usual. auto: a new run chooses by its data: dpo for
/// pairs, kto for judged answers, and none otherwise.
enum class PreferenceMethod { none, auto_, dpo, ipo, orpo, simpo, kto };
template <>
struct Names<PreferenceMethod> {
  static constexpr std::string_view of[] = {"none", "auto", "dpo", "ipo", "orpo", "simpo", "kto"};
};

/// Preference tuning (train/run/objectives/preference_loss.h has the formulas).
struct PreferenceConfig {
  PreferenceMethod method = PreferenceMethod::none;
  Defaulted<double> beta{};    // default: 0.1; 2 for simpo
  Defaulted<double> gamma{};   // simpo only: the margin; default: beta / 2
  double label_smoothing = 0;  // dpo only: the share of pairs that are assumed to be labeled the wrong way round
  double good_weight = 1;      // kto only
  double bad_weight = 1;       // kto only
  double sft_share = 0;        // the share of the ordinary loss of chosen or good answers

  /// Returns whether a run trains on preferences. `auto` is settled before a run begins.
  bool is_on() const { return method != PreferenceMethod::none; }
  /// Returns whether the loss compares with a reference model.
  bool has_reference() const {
    return method == PreferenceMethod::dpo || method == PreferenceMethod::ipo || method == PreferenceMethod::kto;
  }

  /// Returns the share of the ordinary loss that is added. The loss of orpo includes that part itself.
  double ordinary_share() const { return method == PreferenceMethod::orpo ? 0 : sft_share; }

  bool operator==(const PreferenceConfig&) const = default;
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
  DistillConfig distill;

  bool operator==(const Config&) const = default;
};

/// Returns the key that sets the length of windows.
inline const char* window_key(const Config& config) { return config.data.window.is_set() ? "data.window" : "model.block_size"; }

}  // namespace dikkat
