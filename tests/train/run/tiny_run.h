#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/run/trainer.h"

namespace dikkat {

inline std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void write_file(const std::filesystem::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

/// Returns about 3,000 characters: words in an order that never repeats for long.
inline std::string tiny_text() {
  const std::vector<std::string> words = {"the ", "lamp ", "turns ", "and ", "ships ", "go ", "by ", "at ", "night.\n"};
  const RandomStream stream(7, "tiny text", 0);
  std::string text;
  for (index i = 0; i < 600; ++i) {
    text += words[stream.word(i) % words.size()];
  }
  return text;
}

/// Returns a run with all that could break exact resume: dropout, accumulation, clipping, warm-up, evaluation, epochs that end mid-step.
inline Config tiny_config(const std::filesystem::path& corpus) {
  Config c = parse_config(R"(
    [model]
    n_layer = 2
    n_head = 2
    n_embd = 16
    block_size = 24
    dropout = 0.1
    [optim]
    learning_rate = 1e-2
    warmup_steps = 5
    grad_clip = 0.5
    [train]
    batch_size = 5
    gradient_accumulation_steps = 3
    max_steps = 20
    eval_interval = 6
    eval_tokens = 240
    checkpoint_interval = 4
    keep_last = 2
  )",
                          "tiny");
  c.data.corpus = {corpus.string()};
  resolve(c);
  return c;
}

/// Sets every part of the Llama family. Three query heads share one key head, and the head size is not derived from the width.
inline void make_llama(Config& c) {
  c.model.n_head = 3;
  c.model.n_kv_head = 1;
  c.model.head_size = 6;
  c.model.n_hidden = 40;
  c.model.bias = false;
  c.model.qkv_bias = true;
  c.model.positions = Positions::rope;
  c.model.rope_scaling = RopeScaling::llama3;
  c.model.rope_original_context = 12;
  c.model.norm = NormKind::rms_norm;
  c.model.qk_norm = true;
  c.model.activation = Activation::silu;
  c.model.gated = true;
  c.model.logit_softcap = 20;
  resolve(c);
}

/// Returns 60 pairs of different lengths.
inline std::string tiny_pairs() {
  const std::vector<std::string> words = {"the", "lamp", "turns", "and", "ships", "go", "by"};
  const RandomStream stream(7, "tiny pairs", 0);
  std::string text;
  index at = 0;
  for (index pair = 0; pair < 60; ++pair) {
    for (const char* end : {"\t", "\n"}) {
      const index length = 1 + stream.word(at++) % 11;
      for (index i = 0; i < length; ++i) {
        text += (i > 0 ? " " : "") + words[stream.word(at++) % words.size()];
      }
      text += end;
    }
  }
  return text;
}

/// Does what tiny_config() does, but for an encoder-decoder.
inline Config tiny_pairs_config(const std::filesystem::path& corpus) {
  Config c = parse_config(R"(
    [model]
    kind = "encoder_decoder"
    n_layer = 2
    n_encoder_layer = 1
    n_head = 2
    n_embd = 16
    block_size = 16
    dropout = 0.1
    [tokenizer]
    kind = "word"
    [optim]
    schedule = "inverse_sqrt"
    learning_rate = 1e-2
    warmup_steps = 5
    grad_clip = 0.5
    [train]
    label_smoothing = 0.1
    batch_size = 5
    gradient_accumulation_steps = 3
    max_steps = 20
    eval_interval = 6
    eval_tokens = 30
    checkpoint_interval = 4
    keep_last = 2
  )",
                          "tiny pairs");
  c.data.corpus = {corpus.string()};
  resolve(c);
  return c;
}

/// Returns a stop function that returns true after `count` calls.
inline std::function<bool()> after(int count) {
  return [count]() mutable { return --count < 0; };
}

inline bool never() { return false; }

/// Returns the lines of steps and evaluations in the metrics, without times.
inline std::vector<std::string> timeless_metrics(const std::filesystem::path& run) {
  std::vector<std::string> lines;
  std::ifstream file(run / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(R"({"event":"step")") || line.starts_with(R"({"event":"eval")")) {
      lines.push_back(line.substr(0, line.find(",\"ms\":")));
    }
  }
  return lines;
}

}  // namespace dikkat
