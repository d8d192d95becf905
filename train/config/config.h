#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

// What a run is made of: one member per key of the TOML file, one struct per section; schema.cpp has a row for each. The value
// written here is what a file that lacks the key means, so a key that is added later starts with the value that reproduces what
// older files did. An optional is a key whose default depends on other keys: resolve() fills it in.

struct ModelConfig {
  std::string kind = "gpt";
  index n_layer = 4;
  std::optional<index> n_encoder_layer{};  // n_layer
  index n_head = 4;
  index n_embd = 128;
  std::optional<index> n_hidden{};  // 4 n_embd
  index block_size = 64;
  double dropout = 0.0;
  bool bias = true;
  std::optional<bool> qkv_bias{};  // bias
  bool tie_embeddings = true;
  bool share_embeddings = true;
  std::optional<bool> scale_embeddings{};   // of an encoder-decoder
  std::optional<std::string> positions{};   // learned, of an encoder-decoder sinusoidal
  std::optional<std::string> norm{};        // pre, of an encoder-decoder post
  std::optional<bool> final_norm{};         // with norm = pre
  std::optional<std::string> activation{};  // gelu, of an encoder-decoder relu
  index vocab_size = 0;                     // 0: the tokenizer's

  bool operator==(const ModelConfig&) const = default;
};

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

struct OptimConfig {
  double learning_rate = 1e-3;
  std::optional<double> min_lr{};  // learning_rate / 10
  std::string schedule = "cosine";
  index warmup_steps = 100;
  std::optional<index> decay_steps{};  // max_steps of the first run
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double grad_clip = 1.0;  // 0: off

  bool operator==(const OptimConfig&) const = default;
};

struct TrainConfig {
  index batch_size = 12;
  index gradient_accumulation_steps = 1;
  index max_steps = 2000;
  index eval_interval = 250;
  index eval_batches = 0;  // 0: the whole validation part
  index checkpoint_interval = 250;
  index keep_last = 3;
  index log_interval = 10;
  double label_smoothing = 0.0;
  std::string recompute = "none";
  bool async_save = true;
  std::string on_failed_save = "stop";
  std::string on_nonfinite = "stop";
  index max_skipped = 20;
  double spike_z = 0.0;  // 0: off
  index seed = 1337;

  bool operator==(const TrainConfig&) const = default;
};

struct Config {
  ModelConfig model;
  TokenizerConfig tokenizer;
  DataConfig data;
  OptimConfig optim;
  TrainConfig train;

  bool operator==(const Config&) const = default;
};

}  // namespace dikkat
