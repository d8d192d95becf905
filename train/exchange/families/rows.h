#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "train/exchange/family.h"

// The tables of families share these rows, and these ways to describe a family by its differences from another one. This header is private
// to the tables.
namespace dikkat::family_tables {

constexpr std::string_view key_of(const FixedKey& row) { return row.key; }
constexpr std::string_view key_of(const KeyName& row) { return row.theirs; }
constexpr std::string_view key_of(const NeededValue& row) { return row.key; }
constexpr std::string_view key_of(const TensorRule& row) { return row.ours; }

/// Returns a copy of `base` in which each row of `changes` replaces the row of the same key. It does not compile if `base` lacks the key.
template <class Row, std::size_t n, std::size_t m>
constexpr std::array<Row, n> changed(std::array<Row, n> base, const Row (&changes)[m]) {
  for (const Row& change : changes) {
    *std::find_if(base.begin(), base.end(), [&](const Row& row) { return key_of(row) == key_of(change); }) = change;
  }
  return base;
}

/// Returns a copy of `base` without the rows of these keys. It does not compile if `base` lacks one of them.
template <std::size_t m, class Row, std::size_t n>
constexpr std::array<Row, n - m> without(const std::array<Row, n>& base, const std::string_view (&keys)[m]) {
  std::array<Row, n - m> rest;
  auto to = rest.begin();
  for (const Row& row : base) {
    if (std::find(std::begin(keys), std::end(keys), key_of(row)) == std::end(keys)) {
      *to++ = row;
    }
  }
  return to == rest.end() ? rest : throw "a key that is not there";
}

/// Returns the rows of `own`, then those of `common`.
template <class Row, std::size_t n, std::size_t m>
constexpr std::array<Row, n + m> joined(const Row (&own)[n], const std::array<Row, m>& common) {
  std::array<Row, n + m> all;
  std::copy(std::begin(common), std::end(common), std::copy(std::begin(own), std::end(own), all.begin()));
  return all;
}

/// Returns the rows of `base`, then those of `own`.
template <class Row, std::size_t n, std::size_t m>
constexpr std::array<Row, n + m> extended(const std::array<Row, n>& base, const Row (&own)[m]) {
  std::array<Row, n + m> all;
  std::copy(std::begin(own), std::end(own), std::copy(std::begin(base), std::end(base), all.begin()));
  return all;
}

/// The keys of [model] that have the same value in all families.
inline constexpr auto kCommon = std::to_array<FixedKey>({
    {"classes", "0"},  // export_model.cpp exports the model of a classifier, and then its head
    {"norm_position", "\"pre\""},
    {"final_norm", "true"},
    {"logit_softcap", "0.0"},
    {"scale_embeddings", "false"},
    {"embedding_norm", "false"},
    {"residual_scalars", "false"},
    {"value_embeddings", "\"none\""},
    {"qk_norm_over", "\"head\""},
    {"embedding_scale", "1.0"},
    {"residual_scale", "1.0"},
    {"logit_scale", "1.0"},
    {"window", "0"},
    {"window_pattern", "0"},
    {"rope_theta_local", "0.0"},
    {"rope_share", "1.0"},
    {"rope_short_factors", "[]"},
    {"rope_long_factors", "[]"},
    {"rope_amplitude", "1.0"},
    {"rope_pattern", "0"},
});

inline constexpr NeededValue kNotQuantized{
    "quantization_config", "null", "",
    "dikkat reads f32, f16 and bf16 weights: take the model's original weights, or convert them in Python: "
    "AutoModelForCausalLM.from_pretrained(\"FOLDER\").dequantize().save_pretrained(\"OUT\", safe_serialization=True)"};

/// Keys of config.json about training, storage or sampling, which do not change what the model computes. RoPE's keys and layer_types are
/// read elsewhere.
inline constexpr auto kIgnoredKeys = std::to_array<std::string_view>({
    "architectures",
    "model_type",
    "_name_or_path",
    "name_or_path",
    "transformers_version",
    "transformers.js_config",
    "torch_dtype",
    "dtype",
    "use_cache",
    "use_bfloat16",
    "torchscript",
    "initializer_range",
    "pretraining_tp",
    "gradient_checkpointing",
    "is_llama_config",
    "attention_dropout",
    "hidden_dropout",
    "attn_pdrop",
    "embd_pdrop",
    "resid_pdrop",
    "reorder_and_upcast_attn",
    "n_ctx",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "layer_types",
    "max_window_layers",
    "sliding_window",
    "_attn_implementation",
    "attn_implementation",
    "_attn_implementation_autoset",
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "unk_token_id",
    "sep_token_id",
    "cls_token_id",
    "mask_token_id",
    "decoder_start_token_id",
    "task_specific_params",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "is_decoder",
    "id2label",
    "num_labels",
    "problem_type",
    "label2id",
    "return_dict",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "chunk_size_feed_forward",
    "max_length",
    "min_length",
    "do_sample",
    "temperature",
    "top_k",
    "top_p",
    "typical_p",
    "num_beams",
    "num_beam_groups",
    "num_return_sequences",
    "repetition_penalty",
    "length_penalty",
    "diversity_penalty",
    "remove_invalid_values",
    "unsloth_version",
    "unsloth_fixed",
});
/// Returns the family without its tables for GGUF, which has no architecture of its own for such models.
constexpr Family without_gguf(Family family) {
  family.gguf = {};
  family.gguf_needed = {};
  family.gguf_ignored = {};
  family.gguf_tensors = {};
  return family;
}

}  // namespace dikkat::family_tables
