#include "train/exchange/families/families.h"
#include "train/exchange/families/llama_shape.h"

namespace dikkat::family_tables {
namespace {

constexpr auto kGranite = without(kLlama, {"embedding_scale", "residual_scale", "logit_scale"});
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
constexpr auto kGraniteHybridNeeds = joined<NeededValue>(
    {
        {"num_local_experts", "0", "8", "dikkat does not have mixtures of experts"},
        {"position_embedding_type", "\"rope\"", "null", "dikkat reads Granite 4's models that have only attention, with RoPE"},
        {"normalization_function", "\"rmsnorm\""},
    },
    kLlamaNeeds);
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
constexpr auto kGraniteHybridTensors =
    changed(kLlamaTensors, {{"h.#.mlp.c_fc.weight", {{{"model.layers.#.shared_mlp.input_linear.weight"}}}},
                            {"h.#.mlp.c_proj.weight", {{{"model.layers.#.shared_mlp.output_linear.weight"}}}}});
constexpr auto kGraniteGguf = joined<KeyName>(
    {
        {"embedding_scale", "embedding_scale", "1.0"},
        {"attention.scale", "attention_scale", kDerived},
        {"residual_scale", "residual_scale", "1.0"},
        {"logit_scale", "logit_scale", "1.0", Form::inverse},
    },
    kLlamaGguf);

}  // namespace

Family granite_family() {
  Family family = kLlamaFamily;
  family.name = "granite";
  family.architecture = "GraniteForCausalLM";
  family.classifier = "";
  family.fixed = kGranite;
  family.config = kGraniteConfig;
  family.gguf = kGraniteGguf;
  return family;
}

/// Returns the family of Granite 4.0, whose dense models with only attention are Granites with other names. GGUF has them as granite.
Family granite_hybrid_family() {
  Family family = granite_family();
  family.name = "granitemoehybrid";
  family.architecture = "GraniteMoeHybridForCausalLM";
  family.kind_of_layer = "attention";
  family.needs_layer_types = true;
  family.config = kGraniteHybridConfig;
  family.needed = kGraniteHybridNeeds;
  family.ignored = kGraniteHybridIgnored;
  family.tensors = kGraniteHybridTensors;
  return without_gguf(family);
}

}  // namespace dikkat::family_tables
