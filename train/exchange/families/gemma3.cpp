#include "train/exchange/families/families.h"
#include "train/exchange/families/llama_shape.h"

namespace dikkat::family_tables {
namespace {

constexpr auto kGemma3 = without(
    changed(kLlama, {{"norm_position", "\"sandwich\""}, {"qk_norm", "true"}, {"activation", "\"gelu\""}, {"scale_embeddings", "true"}}),
    {"window", "window_pattern", "rope_theta_local"});
constexpr auto kGemma3Config = joined<KeyName>({{"query_pre_attn_scalar", "attention_scale", "256", Form::inverse_root}},
                                               changed(kLlamaConfig, {{"num_key_value_heads", "n_kv_head", "4"},
                                                                      {"head_dim", "head_size", "256"},
                                                                      {"max_position_embeddings", "block_size", "131072"},
                                                                      {"tie_word_embeddings", "tie_embeddings", "true"}}));
constexpr auto kGemma3Needs = joined<NeededValue>(
    {
        {"hidden_activation", "\"gelu_pytorch_tanh\""},
        {"use_bidirectional_attention", "false", "", "this model embeds texts, and dikkat has only causal ones"},
        {"attn_logit_softcapping", "null", "", "dikkat does not have a softcap of scores"},
        {"final_logit_softcapping", "null", "", "Gemma 3 has no softcap; dikkat does not read Gemma 2"},
    },
    without(kLlamaNeeds, {"hidden_act", "use_sliding_window"}));
/// Keys of windows, which hf_config.cpp reads.
constexpr auto kGemma3Ignored =
    joined<std::string_view>({"sliding_window_pattern", "_sliding_window_pattern", "rope_local_base_freq"}, kIgnoredKeys);
constexpr std::string_view kGemma3Coded[] = {"window", "window_pattern", "rope_theta_local"};
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
constexpr auto kGemma3Gguf = extended<KeyName>(kLlamaGguf, {{"attention.sliding_window", "window", kRequired}});
/// The values that llama.cpp has in its code.
constexpr FixedKey kGemma3Implied[] = {{"window_pattern", "6"}, {"rope_theta_local", "10000.0"}, {"attention_scale", kDerived}};
constexpr auto kGemma3GgufNeeds =
    joined<NeededValue>({{"rope.freq_base_swa", "10000.0"}}, without(kLlamaGgufNeeds, {"attention.sliding_window"}));
// GGUF's norms have 1 added, as ours.
constexpr auto kGemma3GgufTensors = extended<TensorRule>(
    kGgufTensors<Layout::same>,
    {{"h.#.ln_1_out.weight", {{{"blk.#.post_attention_norm.weight"}}}}, {"h.#.ln_2_out.weight", {{{"blk.#.post_ffw_norm.weight"}}}}});

}  // namespace

Family gemma3_family() {
  Family family = kLlamaFamily;
  family.name = "gemma3_text";
  family.architecture = "Gemma3ForCausalLM";
  family.classifier = "Gemma3TextForSequenceClassification";
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
}

}  // namespace dikkat::family_tables
