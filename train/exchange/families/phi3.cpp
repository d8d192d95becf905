#include "train/exchange/families/families.h"
#include "train/exchange/families/llama_shape.h"

namespace dikkat::family_tables {
namespace {

/// Phi-3, Phi-3.5 and Phi-4-mini have Llama's shape. One tensor holds q, k and v, another gate and up; RoPE may be partial, and LongRoPE.
constexpr std::string_view kPhi3Coded[] = {"window", "rope_share", "rope_short_factors", "rope_long_factors", "rope_amplitude"};
constexpr auto kPhi3 = without(kLlama, {"window", "rope_share", "rope_short_factors", "rope_long_factors", "rope_amplitude"});
constexpr auto kPhi3Config =
    changed(kLlamaConfig, {{"max_position_embeddings", "block_size", "4096"}, {"rms_norm_eps", "norm_eps", "1e-5"}});
constexpr auto kPhi3Needs = joined<NeededValue>(
    {
        {"lm_head_bias", "false"},
        {"full_attn_mod", "1"},
        {"interpolate_factor", "1"},
    },
    without(kLlamaNeeds, {"use_sliding_window", "partial_rotary_factor"}));
/// Keys of windows and of RoPE, which hf_config.cpp and hf_rope.cpp read, and the names of Python classes.
constexpr auto kPhi3Ignored =
    joined<std::string_view>({"use_sliding_window", "partial_rotary_factor", "original_max_position_embeddings", "auto_map"}, kIgnoredKeys);

/// Returns the rule for the tensor with the rows of q, k and v. Those of q and k are in the order of partial RoPE.
constexpr TensorRule qkv_rule(std::string_view name) {
  return {"h.#.attn.c_attn.weight", {{{name, Layout::rotary_first}, {name, Layout::rotary_first}, {name}}}};
}
constexpr auto kPhi3Tensors = changed(
    without(kLlamaTensors, {"h.#.attn.c_attn.bias", "h.#.attn.q_norm.weight", "h.#.attn.k_norm.weight"}),
    {qkv_rule("model.layers.#.self_attn.qkv_proj.weight"), {"h.#.mlp.c_fc.weight", {{{"model.layers.#.mlp.gate_up_proj.weight"}}}}});
constexpr auto kPhi3GgufTensors =
    changed(without(kGgufTensors<Layout::same>, {"h.#.attn.c_attn.bias", "h.#.attn.q_norm.weight", "h.#.attn.k_norm.weight"}),
            {qkv_rule("blk.#.attn_qkv.weight"), {"h.#.mlp.c_fc.weight", {{{"blk.#.ffn_up.weight"}}}}});

constexpr std::string_view kPhi3GgufCoded[] = {"rope_share", "rope_short_factors", "rope_long_factors", "rope_amplitude"};
/// llama.cpp reads no window of this architecture, although files name one, and its heads are as wide together as the model.
constexpr FixedKey kPhi3Implied[] = {{"window", "0"}, {"head_size", kDerived}};
constexpr auto kPhi3GgufNeeds = without(kLlamaGgufNeeds, {"rope.dimension_count", "attention.sliding_window", "rope.scaling.attn_factor"});
/// Keys that gguf_model.cpp reads.
constexpr auto kPhi3GgufIgnored =
    joined<std::string_view>({"rope.dimension_count", "attention.sliding_window", "rope.scaling.attn_factor"}, kLlamaGgufIgnored);

}  // namespace

Family phi3_family() {
  Family family = kLlamaFamily;
  family.name = "phi3";
  family.architecture = "Phi3ForCausalLM";
  family.classifier = "Phi3ForSequenceClassification";
  family.fixed = kPhi3;
  family.coded = kPhi3Coded;
  family.config = kPhi3Config;
  family.needed = kPhi3Needs;
  family.ignored = kPhi3Ignored;
  family.tensors = kPhi3Tensors;
  family.gguf_needed = kPhi3GgufNeeds;
  family.gguf_ignored = kPhi3GgufIgnored;
  family.gguf_tensors = kPhi3GgufTensors;
  family.gguf_implied = kPhi3Implied;
  family.gguf_coded = kPhi3GgufCoded;
  return family;
}

}  // namespace dikkat::family_tables
