#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/tape/parameters.h"
#include "layers/pass.h"
#include "layers/transformer_config.h"
#include "optim/parameter_group.h"
#include "optim/schedule.h"

namespace dikkat {

// The configuration of a run: one struct for each section of the TOML file, one member for each key; schema.cpp has a row for each.
// The values here are the defaults. A key that is added later needs the default that keeps the meaning of older files. A Derived key has a
// default that follows from other keys: resolve() computes it.

struct TokenizerConfig {
  std::string kind = "char";
  index vocab_size = 8192;  // of bpe
  index min_count = 1;      // of word
  std::string path;         // of a tokenizer that there is already

  bool operator==(const TokenizerConfig&) const = default;
};

struct DataConfig {
  std::vector<std::string> corpus;      // files and folders
  std::vector<std::string> validation;  // in place of val_fraction
  double val_fraction = 0.1;
  std::string text_field = "text";
  std::string pack = "stream";
  std::string invalid_utf8 = "refuse";
  std::string cache = "auto";

  bool operator==(const DataConfig&) const = default;
};

enum class OptimizerKind { adamw, muon };
template <>
struct Names<OptimizerKind> {
  static constexpr std::string_view of[] = {"adamw", "muon"};
};

struct OptimConfig {
  OptimizerKind kind = OptimizerKind::adamw;
  double learning_rate = 1e-3;
  Derived<double> min_lr{};  // learning_rate / 10
  Schedule::Kind schedule = Schedule::Kind::cosine;
  index warmup_steps = 100;
  Derived<index> decay_steps{};  // max_steps when the run starts
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double muon_momentum = 0.95;
  double grad_clip = 1.0;              // 0: off
  std::vector<ParameterGroup> groups;  // [[optim.groups]]

  bool operator==(const OptimConfig&) const = default;
};

struct TrainConfig {
  index batch_size = 12;
  index gradient_accumulation_steps = 1;
  index max_steps = 2000;
  index eval_interval = 250;
  index eval_tokens = 32768;  // 0: the whole validation part
  index checkpoint_interval = 250;
  index keep_last = 3;
  index log_interval = 10;
  double label_smoothing = 0.0;
  Recompute recompute = Recompute::none;
  bool async_save = true;
  std::string on_failed_save = "stop";
  std::string on_nonfinite = "stop";
  index max_skipped = 20;
  double spike_z = 0.0;  // 0: off
  index seed = 1337;
  std::string init_from;  // of a fine-tuning run: the checkpoint (RUN_DIR or FILE.h5) whose model, weights and tokenizer it starts with

  bool operator==(const TrainConfig&) const = default;
};

struct Config {
  TransformerConfig model;
  TokenizerConfig tokenizer;
  DataConfig data;
  OptimConfig optim;
  TrainConfig train;

  bool operator==(const Config&) const = default;
};

}  // namespace dikkat
