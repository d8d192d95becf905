#include "train/exchange/family.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

// A family that resembles another one is described by its differences.

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
constexpr auto kCommon = std::to_array<FixedKey>({
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
    {"rope_pattern", "0"},
});

// The families of Llama's shape: llama, qwen2, qwen3, mistral.

constexpr auto kLlama = joined(
    {
        {"norm", "\"rms_norm\""},
        {"positions", "\"rope\""},
        {"activation", "\"silu\""},
        {"gated", "true"},
        {"bias", "false"},
        {"qkv_bias", "false"},
        {"qk_norm", "false"},
    },
    kCommon);
constexpr auto kQwen2 = changed(kLlama, {{"qkv_bias", "true"}});
constexpr auto kQwen3 = changed(kLlama, {{"qk_norm", "true"}});
constexpr auto kMistral = without(kLlama, {"window"});
constexpr auto kSmolLm3 = without(kLlama, {"rope_pattern"});
constexpr auto kGranite = without(kLlama, {"embedding_scale", "residual_scale", "logit_scale"});
constexpr auto kOlmo2 = changed(kLlama, {{"norm_position", "\"branch\""}, {"qk_norm", "true"}, {"qk_norm_over", "\"row\""}});
constexpr auto kGemma3 = without(
    changed(kLlama, {{"norm_position", "\"sandwich\""}, {"qk_norm", "true"}, {"activation", "\"gelu\""}, {"scale_embeddings", "true"}}),
    {"window", "window_pattern", "rope_theta_local"});

// RoPE's keys are missing here, because they have several forms: hf_config.cpp and gguf_model.cpp read them.
constexpr auto kLlamaConfig = std::to_array<KeyName>({
    {"vocab_size", "vocab_size", kRequired},
    {"hidden_size", "n_embd", kRequired},
    {"intermediate_size", "n_hidden", kRequired},
    {"num_hidden_layers", "n_layer", kRequired},
    {"num_attention_heads", "n_head", kRequired},
    {"num_key_value_heads", "n_kv_head", kDerived},
    {"head_dim", "head_size", kDerived},
    {"max_position_embeddings", "block_size", "2048"},
    {"rms_norm_eps", "norm_eps", "1e-6"},
    {"tie_word_embeddings", "tie_embeddings", "false"},
});
constexpr auto kQwen2Config =
    changed(kLlamaConfig, {{"num_key_value_heads", "n_kv_head", "32"}, {"max_position_embeddings", "block_size", "32768"}});
constexpr auto kQwen3Config = changed(kQwen2Config, {{"head_dim", "head_size", "128"}});
constexpr auto kMistralConfig =
    changed(kLlamaConfig, {{"num_key_value_heads", "n_kv_head", "8"}, {"max_position_embeddings", "block_size", "131072"}});
constexpr auto kOlmo2Config = kLlamaConfig;
constexpr auto kSmolLm3Config = changed(kLlamaConfig, {{"num_key_value_heads", "n_kv_head", "4"},
                                                       {"max_position_embeddings", "block_size", "32768"},
                                                       {"tie_word_embeddings", "tie_embeddings", "true"}});
constexpr auto kGraniteConfig = joined<KeyName>(
    {
        {"embedding_multiplier", "embedding_scale", "1.0"},
        {"attention_multiplier", "attention_scale", "1.0"},
        {"residual_multiplier", "residual_scale", "1.0"},
        {"logits_scaling", "logit_scale", "1.0", Form::inverse},
    },
    kLlamaConfig);
// Here intermediate_size is the width of experts, which a dense model does not have.
constexpr auto kGraniteHybridConfig =
    joined<KeyName>({{"shared_intermediate_size", "n_hidden", kRequired}}, without(kGraniteConfig, {"intermediate_size"}));
constexpr auto kGemma3Config = joined<KeyName>({{"query_pre_attn_scalar", "attention_scale", "256", Form::inverse_root}},
                                               changed(kLlamaConfig, {{"num_key_value_heads", "n_kv_head", "4"},
                                                                      {"head_dim", "head_size", "256"},
                                                                      {"max_position_embeddings", "block_size", "131072"},
                                                                      {"tie_word_embeddings", "tie_embeddings", "true"}}));
constexpr NeededValue kNotQuantized{
    "quantization_config", "null", "",
    "dikkat reads f32, f16 and bf16 weights: take the model's original weights, or convert them in Python: "
    "AutoModelForCausalLM.from_pretrained(\"FOLDER\").dequantize().save_pretrained(\"OUT\", safe_serialization=True)"};
constexpr auto kLlamaNeeds = std::to_array<NeededValue>({
    {"hidden_act", "\"silu\""},
    {"attention_bias", "false"},
    {"mlp_bias", "false"},
    {"is_causal", "true"},
    {"use_sliding_window", "false"},
    {"partial_rotary_factor", "1.0"},
    kNotQuantized,
});
constexpr auto kMistralNeeds = without(kLlamaNeeds, {"use_sliding_window"});
constexpr auto kGraniteHybridNeeds = joined<NeededValue>(
    {
        {"num_local_experts", "0", "", "dikkat does not have mixtures of experts"},
        {"position_embedding_type", "\"rope\"", "", "dikkat reads Granite 4's models that have only attention"},
        {"normalization_function", "\"rmsnorm\""},
    },
    kLlamaNeeds);
constexpr auto kGemma3Needs = joined<NeededValue>(
    {
        {"hidden_activation", "\"gelu_pytorch_tanh\""},
        {"use_bidirectional_attention", "false", "", "this model embeds texts, and dikkat has only causal ones"},
        {"attn_logit_softcapping", "null", "", "dikkat does not have a softcap of scores"},
        {"final_logit_softcapping", "null", "", "Gemma 3 has no softcap; dikkat does not read Gemma 2"},
    },
    without(kLlamaNeeds, {"hidden_act", "use_sliding_window"}));
/// Keys of config.json about training, storage or sampling, which do not change what the model computes. RoPE's keys and layer_types are
/// read elsewhere.
constexpr auto kIgnoredKeys = std::to_array<std::string_view>({
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
/// Keys of windows and of layers without RoPE, which hf_config.cpp reads.
constexpr auto kGemma3Ignored =
    joined<std::string_view>({"sliding_window_pattern", "_sliding_window_pattern", "rope_local_base_freq"}, kIgnoredKeys);
constexpr auto kSmolLm3Ignored = joined<std::string_view>({"no_rope_layers", "no_rope_layer_interval"}, kIgnoredKeys);
/// Keys of experts and of state-space layers, which a model of attention layers without experts does not have.
constexpr auto kGraniteHybridIgnored = joined<std::string_view>(
    {
        "intermediate_size",
        "num_experts_per_tok",
        "output_router_logits",
        "router_aux_loss_coef",
        "init_method",
        "logits_to_keep",
        "mamba_chunk_size",
        "mamba_conv_bias",
        "mamba_d_conv",
        "mamba_d_head",
        "mamba_d_state",
        "mamba_expand",
        "mamba_n_groups",
        "mamba_n_heads",
        "mamba_proj_bias",
        "shared_expert_config",
    },
    kIgnoredKeys);
constexpr std::string_view kMistralCoded[] = {"window"};
constexpr std::string_view kSmolLm3Coded[] = {"rope_pattern"};
constexpr std::string_view kGemma3Coded[] = {"window", "window_pattern", "rope_theta_local"};

constexpr auto kLlamaTensors = std::to_array<TensorRule>({
    {"wte.weight", {{{"model.embed_tokens.weight"}}}},
    {"h.#.ln_1.weight", {{{"model.layers.#.input_layernorm.weight"}}}},
    {"h.#.attn.c_attn.weight",
     {{{"model.layers.#.self_attn.q_proj.weight"},
       {"model.layers.#.self_attn.k_proj.weight"},
       {"model.layers.#.self_attn.v_proj.weight"}}}},
    {"h.#.attn.c_attn.bias",
     {{{"model.layers.#.self_attn.q_proj.bias"}, {"model.layers.#.self_attn.k_proj.bias"}, {"model.layers.#.self_attn.v_proj.bias"}}}},
    {"h.#.attn.q_norm.weight", {{{"model.layers.#.self_attn.q_norm.weight"}}}},
    {"h.#.attn.k_norm.weight", {{{"model.layers.#.self_attn.k_norm.weight"}}}},
    {"h.#.attn.c_proj.weight", {{{"model.layers.#.self_attn.o_proj.weight"}}}},
    {"h.#.ln_2.weight", {{{"model.layers.#.post_attention_layernorm.weight"}}}},
    {"h.#.mlp.c_fc.weight", {{{"model.layers.#.mlp.gate_proj.weight"}, {"model.layers.#.mlp.up_proj.weight"}}}},
    {"h.#.mlp.c_proj.weight", {{{"model.layers.#.mlp.down_proj.weight"}}}},
    {"ln_f.weight", {{{"model.norm.weight"}}}},
    {"lm_head.weight", {{{"lm_head.weight"}}}},
});
constexpr std::string_view kLlamaBuffers[] = {".rotary_emb.inv_freq"};
constexpr auto kGraniteHybridTensors =
    changed(kLlamaTensors, {{"h.#.mlp.c_fc.weight", {{{"model.layers.#.shared_mlp.input_linear.weight"}}}},
                            {"h.#.mlp.c_proj.weight", {{{"model.layers.#.shared_mlp.output_linear.weight"}}}}});
constexpr auto kOlmo2Tensors = changed(kLlamaTensors, {{"h.#.ln_1.weight", {{{"model.layers.#.post_attention_layernorm.weight"}}}},
                                                       {"h.#.ln_2.weight", {{{"model.layers.#.post_feedforward_layernorm.weight"}}}}});
constexpr auto kGemma3Tensors = extended<TensorRule>(
    changed(kLlamaTensors, {{"h.#.ln_1.weight", {{{"model.layers.#.input_layernorm.weight", Layout::less_one}}}},
                            {"h.#.attn.q_norm.weight", {{{"model.layers.#.self_attn.q_norm.weight", Layout::less_one}}}},
                            {"h.#.attn.k_norm.weight", {{{"model.layers.#.self_attn.k_norm.weight", Layout::less_one}}}},
                            {"h.#.ln_2.weight", {{{"model.layers.#.pre_feedforward_layernorm.weight", Layout::less_one}}}},
                            {"ln_f.weight", {{{"model.norm.weight", Layout::less_one}}}}}),
    {
        {"h.#.ln_1_out.weight", {{{"model.layers.#.post_attention_layernorm.weight", Layout::less_one}}}},
        {"h.#.ln_2_out.weight", {{{"model.layers.#.post_feedforward_layernorm.weight", Layout::less_one}}}},
    });

constexpr auto kLlamaGguf = std::to_array<KeyName>({
    {"vocab_size", "vocab_size", kDerived},
    {"context_length", "block_size", kRequired},
    {"embedding_length", "n_embd", kRequired},
    {"block_count", "n_layer", kRequired},
    {"feed_forward_length", "n_hidden", kRequired},
    {"attention.head_count", "n_head", kRequired},
    {"attention.head_count_kv", "n_kv_head", kDerived},
    {"attention.key_length", "head_size", kDerived},
    {"attention.layer_norm_rms_epsilon", "norm_eps", kRequired},
    {"rope.freq_base", "rope_theta", "10000.0"},
});
constexpr auto kGraniteGguf = joined<KeyName>(
    {
        {"embedding_scale", "embedding_scale", "1.0"},
        {"attention.scale", "attention_scale", kDerived},
        {"residual_scale", "residual_scale", "1.0"},
        {"logit_scale", "logit_scale", "1.0", Form::inverse},
    },
    kLlamaGguf);
constexpr auto kGemma3Gguf = extended<KeyName>(kLlamaGguf, {{"attention.sliding_window", "window", kRequired}});
/// The values that llama.cpp fixes in its code for these architectures.
constexpr FixedKey kSmolLm3Implied[] = {{"rope_pattern", "4"}};
constexpr FixedKey kGemma3Implied[] = {{"window_pattern", "6"}, {"rope_theta_local", "10000.0"}, {"attention_scale", kDerived}};
// RoPE's scaling (rope.scaling.type, rope.scaling.factor and the older rope.scale_linear) is read by gguf_model.cpp.
constexpr auto kLlamaGgufNeeds = std::to_array<NeededValue>({
    {"rope.dimension_count", "=head_size", "", "dikkat rotates all channels of a head"},
    {"attention.value_length", "=head_size", "", "in dikkat, values are as wide as keys"},
    {"attention.causal", "true"},
    {"attention.sliding_window", "0", "", "llama.cpp has no windows in this architecture, and dikkat would compute another model"},
    {"rope.scaling.attn_factor", "1.0"},
});
constexpr auto kGemma3GgufNeeds =
    joined<NeededValue>({{"rope.freq_base_swa", "10000.0"}}, without(kLlamaGgufNeeds, {"attention.sliding_window"}));
constexpr std::string_view kLlamaGgufIgnored[] = {"rope.scaling.type",      "rope.scaling.factor",
                                                  "rope.scale_linear",      "rope.scaling.original_context_length",
                                                  "rope.scaling.finetuned", "tensor_data_layout"};
constexpr NeededValue kGpt2GgufNeeds[] = {{"attention.causal", "true"}};
constexpr std::string_view kGpt2GgufIgnored[] = {"tensor_data_layout"};

/// Tensors of GGUF's Llama-shaped architectures. "llama" rotates neighbouring rows (rotary_pairs); the others rotate halves, as we do.
template <Layout layout>
constexpr auto kGgufTensors = std::to_array<TensorRule>({
    {"wte.weight", {{{"token_embd.weight"}}}},
    {"h.#.ln_1.weight", {{{"blk.#.attn_norm.weight"}}}},
    {"h.#.attn.c_attn.weight", {{{"blk.#.attn_q.weight", layout}, {"blk.#.attn_k.weight", layout}, {"blk.#.attn_v.weight"}}}},
    {"h.#.attn.c_attn.bias", {{{"blk.#.attn_q.bias", layout}, {"blk.#.attn_k.bias", layout}, {"blk.#.attn_v.bias"}}}},
    {"h.#.attn.q_norm.weight", {{{"blk.#.attn_q_norm.weight"}}}},
    {"h.#.attn.k_norm.weight", {{{"blk.#.attn_k_norm.weight"}}}},
    {"h.#.attn.c_proj.weight", {{{"blk.#.attn_output.weight"}}}},
    {"h.#.ln_2.weight", {{{"blk.#.ffn_norm.weight"}}}},
    {"h.#.mlp.c_fc.weight", {{{"blk.#.ffn_gate.weight"}, {"blk.#.ffn_up.weight"}}}},
    {"h.#.mlp.c_proj.weight", {{{"blk.#.ffn_down.weight"}}}},
    {"ln_f.weight", {{{"output_norm.weight"}}}},
    {"lm_head.weight", {{{"output.weight"}}}},
});
constexpr auto kOlmo2GgufTensors = changed(kGgufTensors<Layout::same>, {{"h.#.ln_1.weight", {{{"blk.#.post_attention_norm.weight"}}}},
                                                                        {"h.#.ln_2.weight", {{{"blk.#.post_ffw_norm.weight"}}}}});
// GGUF's norms have 1 added, as ours.
constexpr auto kGemma3GgufTensors = extended<TensorRule>(
    kGgufTensors<Layout::same>,
    {{"h.#.ln_1_out.weight", {{{"blk.#.post_attention_norm.weight"}}}}, {"h.#.ln_2_out.weight", {{{"blk.#.post_ffw_norm.weight"}}}}});

// GPT-2, also in llm.c's files and nanoGPT's checkpoints.

constexpr auto kGpt2 = joined(
    {
        {"norm", "\"layer_norm\""},
        {"positions", "\"learned\""},
        {"activation", "\"gelu\""},
        {"gated", "false"},
        {"bias", "true"},
        {"qkv_bias", "true"},
        {"qk_norm", "false"},
    },
    kCommon);
constexpr KeyName kGpt2Config[] = {
    {"vocab_size", "vocab_size", kRequired},
    {"n_embd", "n_embd", kRequired},
    {"n_inner", "n_hidden", kDerived},
    {"n_layer", "n_layer", kRequired},
    {"n_head", "n_head", kRequired},
    {"n_positions", "block_size", "1024"},
    {"layer_norm_epsilon", "norm_eps", "1e-5"},
    {"tie_word_embeddings", "tie_embeddings", "true"},
};
constexpr NeededValue kGpt2Needs[] = {
    {"activation_function", "\"gelu_new\""},
    {"scale_attn_weights", "true"},
    {"scale_attn_by_inverse_layer_idx", "false"},
    {"add_cross_attention", "false"},
    kNotQuantized,
};
template <Layout layout>
constexpr TensorRule kGpt2Tensors[] = {
    {"wte.weight", {{{"transformer.wte.weight"}}}},
    {"wpe.weight", {{{"transformer.wpe.weight"}}}},
    {"h.#.ln_1.weight", {{{"transformer.h.#.ln_1.weight"}}}},
    {"h.#.ln_1.bias", {{{"transformer.h.#.ln_1.bias"}}}},
    {"h.#.attn.c_attn.weight", {{{"transformer.h.#.attn.c_attn.weight", layout}}}},
    {"h.#.attn.c_attn.bias", {{{"transformer.h.#.attn.c_attn.bias"}}}},
    {"h.#.attn.c_proj.weight", {{{"transformer.h.#.attn.c_proj.weight", layout}}}},
    {"h.#.attn.c_proj.bias", {{{"transformer.h.#.attn.c_proj.bias"}}}},
    {"h.#.ln_2.weight", {{{"transformer.h.#.ln_2.weight"}}}},
    {"h.#.ln_2.bias", {{{"transformer.h.#.ln_2.bias"}}}},
    {"h.#.mlp.c_fc.weight", {{{"transformer.h.#.mlp.c_fc.weight", layout}}}},
    {"h.#.mlp.c_fc.bias", {{{"transformer.h.#.mlp.c_fc.bias"}}}},
    {"h.#.mlp.c_proj.weight", {{{"transformer.h.#.mlp.c_proj.weight", layout}}}},
    {"h.#.mlp.c_proj.bias", {{{"transformer.h.#.mlp.c_proj.bias"}}}},
    {"ln_f.weight", {{{"transformer.ln_f.weight"}}}},
    {"ln_f.bias", {{{"transformer.ln_f.bias"}}}},
    {"lm_head.weight", {{{"lm_head.weight"}}}},
};
constexpr std::string_view kGpt2Buffers[] = {".attn.bias", ".attn.masked_bias"};

constexpr KeyName kGpt2Gguf[] = {
    {"vocab_size", "vocab_size", kDerived},
    {"context_length", "block_size", kRequired},
    {"embedding_length", "n_embd", kRequired},
    {"block_count", "n_layer", kRequired},
    {"feed_forward_length", "n_hidden", kDerived},
    {"attention.head_count", "n_head", kRequired},
    {"attention.layer_norm_epsilon", "norm_eps", kRequired},
};
constexpr TensorRule kGpt2GgufTensors[] = {
    {"wte.weight", {{{"token_embd.weight"}}}},
    {"wpe.weight", {{{"position_embd.weight"}}}},
    {"h.#.ln_1.weight", {{{"blk.#.attn_norm.weight"}}}},
    {"h.#.ln_1.bias", {{{"blk.#.attn_norm.bias"}}}},
    {"h.#.attn.c_attn.weight", {{{"blk.#.attn_qkv.weight"}}}},
    {"h.#.attn.c_attn.bias", {{{"blk.#.attn_qkv.bias"}}}},
    {"h.#.attn.c_proj.weight", {{{"blk.#.attn_output.weight"}}}},
    {"h.#.attn.c_proj.bias", {{{"blk.#.attn_output.bias"}}}},
    {"h.#.ln_2.weight", {{{"blk.#.ffn_norm.weight"}}}},
    {"h.#.ln_2.bias", {{{"blk.#.ffn_norm.bias"}}}},
    {"h.#.mlp.c_fc.weight", {{{"blk.#.ffn_up.weight"}}}},
    {"h.#.mlp.c_fc.bias", {{{"blk.#.ffn_up.bias"}}}},
    {"h.#.mlp.c_proj.weight", {{{"blk.#.ffn_down.weight"}}}},
    {"h.#.mlp.c_proj.bias", {{{"blk.#.ffn_down.bias"}}}},
    {"ln_f.weight", {{{"output_norm.weight"}}}},
    {"ln_f.bias", {{{"output_norm.bias"}}}},
    {"lm_head.weight", {{{"output.weight"}}}},
};
constexpr TensorRule kLlmcTensors[] = {
    {"wte.weight", {{{"wte"}}}},
    {"wpe.weight", {{{"wpe"}}}},
    {"h.#.ln_1.weight", {{{"ln1w"}}}},
    {"h.#.ln_1.bias", {{{"ln1b"}}}},
    {"h.#.attn.c_attn.weight", {{{"qkvw"}}}},
    {"h.#.attn.c_attn.bias", {{{"qkvb"}}}},
    {"h.#.attn.c_proj.weight", {{{"attprojw"}}}},
    {"h.#.attn.c_proj.bias", {{{"attprojb"}}}},
    {"h.#.ln_2.weight", {{{"ln2w"}}}},
    {"h.#.ln_2.bias", {{{"ln2b"}}}},
    {"h.#.mlp.c_fc.weight", {{{"fcw"}}}},
    {"h.#.mlp.c_fc.bias", {{{"fcb"}}}},
    {"h.#.mlp.c_proj.weight", {{{"fcprojw"}}}},
    {"h.#.mlp.c_proj.bias", {{{"fcprojb"}}}},
    {"ln_f.weight", {{{"lnfw"}}}},
    {"ln_f.bias", {{{"lnfb"}}}},
};

constexpr Family kGpt2Family{
    .name = "gpt2",
    .architecture = "GPT2LMHeadModel",
    .fixed = kGpt2,
    .config = kGpt2Config,
    .needed = kGpt2Needs,
    .ignored = kIgnoredKeys,
    .tensors = kGpt2Tensors<Layout::transposed>,
    .prefix = "transformer.",
    .buffers = kGpt2Buffers,
    .gguf = kGpt2Gguf,
    .gguf_needed = kGpt2GgufNeeds,
    .gguf_ignored = kGpt2GgufIgnored,
    .gguf_tensors = kGpt2GgufTensors,
    .has_all_biases = true,
};
constexpr Family kLlamaFamily{
    .name = "llama",
    .architecture = "LlamaForCausalLM",
    .fixed = kLlama,
    .config = kLlamaConfig,
    .needed = kLlamaNeeds,
    .ignored = kIgnoredKeys,
    .tensors = kLlamaTensors,
    .prefix = "model.",
    .buffers = kLlamaBuffers,
    .gguf = kLlamaGguf,
    .gguf_needed = kLlamaGgufNeeds,
    .gguf_ignored = kLlamaGgufIgnored,
    .gguf_tensors = kGgufTensors<Layout::rotary_pairs>,
};
constexpr Family kQwen2Family = [] {
  Family family = kLlamaFamily;
  family.name = "qwen2";
  family.architecture = "Qwen2ForCausalLM";
  family.fixed = kQwen2;
  family.config = kQwen2Config;
  family.gguf_tensors = kGgufTensors<Layout::same>;
  return family;
}();
constexpr Family kQwen3Family = [] {
  Family family = kQwen2Family;
  family.name = "qwen3";
  family.architecture = "Qwen3ForCausalLM";
  family.fixed = kQwen3;
  family.config = kQwen3Config;
  return family;
}();
/// Mistral differs from Llama in its defaults and its window. GGUF has no such architecture.
constexpr Family kMistralFamily = [] {
  Family family = kLlamaFamily;
  family.name = "mistral";
  family.architecture = "MistralForCausalLM";
  family.fixed = kMistral;
  family.coded = kMistralCoded;
  family.config = kMistralConfig;
  family.needed = kMistralNeeds;
  family.gguf = {};
  family.gguf_needed = {};
  family.gguf_ignored = {};
  family.gguf_tensors = {};
  return family;
}();

constexpr Family kSmolLm3Family = [] {
  Family family = kLlamaFamily;
  family.name = "smollm3";
  family.architecture = "SmolLM3ForCausalLM";
  family.fixed = kSmolLm3;
  family.coded = kSmolLm3Coded;
  family.rope_theta = 2'000'000;
  family.config = kSmolLm3Config;
  family.ignored = kSmolLm3Ignored;
  family.gguf_implied = kSmolLm3Implied;
  return family;
}();
constexpr Family kGraniteFamily = [] {
  Family family = kLlamaFamily;
  family.name = "granite";
  family.architecture = "GraniteForCausalLM";
  family.fixed = kGranite;
  family.config = kGraniteConfig;
  family.gguf = kGraniteGguf;
  return family;
}();
/// The class of Granite 4.0, whose dense models with only attention are Granites with other names. GGUF has them as granite.
constexpr Family kGraniteHybridFamily = [] {
  Family family = kGraniteFamily;
  family.name = "granitemoehybrid";
  family.architecture = "GraniteMoeHybridForCausalLM";
  family.kind_of_layer = "attention";
  family.config = kGraniteHybridConfig;
  family.needed = kGraniteHybridNeeds;
  family.ignored = kGraniteHybridIgnored;
  family.tensors = kGraniteHybridTensors;
  family.gguf = {};
  family.gguf_needed = {};
  family.gguf_ignored = {};
  family.gguf_tensors = {};
  return family;
}();
constexpr Family kOlmo2Family = [] {
  Family family = kLlamaFamily;
  family.name = "olmo2";
  family.architecture = "Olmo2ForCausalLM";
  family.fixed = kOlmo2;
  family.config = kOlmo2Config;
  family.tensors = kOlmo2Tensors;
  family.gguf_tensors = kOlmo2GgufTensors;
  return family;
}();
constexpr Family kGemma3Family = [] {
  Family family = kLlamaFamily;
  family.name = "gemma3_text";
  family.architecture = "Gemma3ForCausalLM";
  family.fixed = kGemma3;
  family.coded = kGemma3Coded;
  family.rope_theta = 1'000'000;
  family.config = kGemma3Config;
  family.needed = kGemma3Needs;
  family.ignored = kGemma3Ignored;
  family.tensors = kGemma3Tensors;
  family.gguf_name = "gemma3";
  family.gguf = kGemma3Gguf;
  family.gguf_needed = kGemma3GgufNeeds;
  family.gguf_tensors = kGemma3GgufTensors;
  family.gguf_implied = kGemma3Implied;
  return family;
}();

// A model is exported as the first family that has it. So a Mistral without a window is a Llama, and so is a SmolLM3 with RoPE everywhere.
constexpr Family kFamilies[] = {kGpt2Family,    kLlamaFamily,   kQwen2Family,         kQwen3Family, kMistralFamily,
                                kSmolLm3Family, kGraniteFamily, kGraniteHybridFamily, kOlmo2Family, kGemma3Family};

}  // namespace

std::span<const Family> families() { return kFamilies; }

std::string family_names() {
  std::string names;
  for (const Family& family : kFamilies) {
    names += concat(names.empty() ? "" : ", ", family.name);
  }
  return names;
}

const Family* family_named(std::string_view name) {
  for (const Family& family : kFamilies) {
    if (family.name == name) {
      return &family;
    }
  }
  return nullptr;
}

const Family* family_of_gguf(std::string_view architecture) {
  for (const Family& family : kFamilies) {
    if (!family.gguf.empty() && gguf_name_of(family) == architecture) {
      return &family;
    }
  }
  return nullptr;
}

bool is_coded(const Family& family, std::string_view key) { return std::ranges::find(family.coded, key) != family.coded.end(); }

double ours_of(Form form, double theirs) {
  switch (form) {
    case Form::same: return theirs;
    case Form::inverse: return 1 / theirs;
    case Form::inverse_root: return 1 / std::sqrt(theirs);
  }
  return theirs;
}

double theirs_of(Form form, double ours) {
  if (form == Form::same) {
    return ours;
  }
  return std::stod(fmt::format("{:.15g}", form == Form::inverse ? 1 / ours : 1 / (ours * ours)));
}

std::span<const TensorRule> llmc_tensor_rules() { return kLlmcTensors; }
std::span<const TensorRule> nanogpt_tensor_rules() { return kGpt2Tensors<Layout::same>; }

}  // namespace dikkat
