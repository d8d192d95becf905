#pragma once

#include "train/exchange/families/rows.h"

// The family of Llama, whose shape most others have with a few differences. This header is private to the tables.
namespace dikkat::family_tables {

inline constexpr auto kLlama = joined(
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

// RoPE's keys are missing here, because they have several forms: hf_config.cpp and gguf_model.cpp read them.
inline constexpr auto kLlamaConfig = std::to_array<KeyName>({
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

inline constexpr auto kLlamaNeeds = std::to_array<NeededValue>({
    {"hidden_act", "\"silu\""},
    {"attention_bias", "false"},
    {"mlp_bias", "false"},
    {"is_causal", "true"},
    {"use_sliding_window", "false"},
    {"partial_rotary_factor", "1.0"},
    kNotQuantized,
});

inline constexpr auto kLlamaTensors = std::to_array<TensorRule>({
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
inline constexpr std::string_view kLlamaBuffers[] = {".rotary_emb.inv_freq"};

inline constexpr auto kLlamaGguf = std::to_array<KeyName>({
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
// RoPE's scaling (rope.scaling.type, rope.scaling.factor and the older rope.scale_linear) is read by gguf_model.cpp.
inline constexpr auto kLlamaGgufNeeds = std::to_array<NeededValue>({
    {"rope.dimension_count", "=head_size", "", "dikkat rotates all channels of a head"},
    {"attention.value_length", "=head_size", "", "in dikkat, values are as wide as keys"},
    {"attention.causal", "true"},
    {"attention.sliding_window", "0", "", "llama.cpp has no windows in this architecture, and dikkat would compute another model"},
    {"rope.scaling.attn_factor", "1.0"},
});
inline constexpr auto kLlamaGgufIgnored = std::to_array<std::string_view>({
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scale_linear",
    "rope.scaling.original_context_length",
    "rope.scaling.finetuned",
    "tensor_data_layout",
});

/// Tensors of GGUF's Llama-shaped architectures. "llama" rotates neighboring rows (rotary_pairs); the others rotate halves, as we do.
template <Layout layout>
inline constexpr auto kGgufTensors = std::to_array<TensorRule>({
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

inline constexpr Family kLlamaFamily{
    .name = "llama",
    .architecture = "LlamaForCausalLM",
    .classifier = "LlamaForSequenceClassification",
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

}  // namespace dikkat::family_tables
