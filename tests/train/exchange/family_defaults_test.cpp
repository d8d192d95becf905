#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/exchange/family.h"
#include "train/exchange/hf_config.h"

// A config.json without a key means what the class in transformers means without it, or it is refused.
namespace dikkat {
namespace {

using nlohmann::json;

/// A configuration class of transformers (src/transformers/models/*/configuration_*.py, releases 4.53 to 5.0) with all its defaults that
/// change what a model computes.
struct ConfigClass {
  const char* family;
  const char* name;
  const char* defaults;
  /// Values with which dikkat reads the model, where it does not read the class's defaults.
  const char* readable = "{}";
};

constexpr ConfigClass kClasses[] = {
    {"gpt2", "GPT2Config",
     R"({"vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": null,
         "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "scale_attn_weights": true, "tie_word_embeddings": true,
         "scale_attn_by_inverse_layer_idx": false, "add_cross_attention": false})"},
    {"llama", "LlamaConfig",
     R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": null, "head_dim": null, "hidden_act": "silu", "max_position_embeddings": 2048, "rms_norm_eps": 1e-6,
         "tie_word_embeddings": false, "rope_theta": 10000.0, "rope_scaling": null, "attention_bias": false, "mlp_bias": false})"},
    {"qwen2", "Qwen2Config",
     R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 32, "hidden_act": "silu", "max_position_embeddings": 32768, "rms_norm_eps": 1e-6,
         "tie_word_embeddings": false, "rope_theta": 10000.0, "rope_scaling": null, "use_sliding_window": false, "sliding_window": 4096,
         "max_window_layers": 28, "layer_types": null})"},
    {"qwen3", "Qwen3Config",
     R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 32, "head_dim": 128, "hidden_act": "silu", "max_position_embeddings": 32768, "rms_norm_eps": 1e-6,
         "tie_word_embeddings": false, "rope_theta": 10000.0, "rope_scaling": null, "attention_bias": false,
         "use_sliding_window": false, "sliding_window": 4096, "max_window_layers": 28, "layer_types": null})"},
    {"mistral", "MistralConfig",
     R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 8, "head_dim": null, "hidden_act": "silu", "max_position_embeddings": 131072, "rms_norm_eps": 1e-6,
         "tie_word_embeddings": false, "rope_theta": 10000.0, "sliding_window": 4096})"},
    {"smollm3", "SmolLM3Config",
     R"({"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16,
         "num_key_value_heads": 4, "hidden_act": "silu", "max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 2000000.0,
         "rope_scaling": null, "use_sliding_window": false, "sliding_window": null, "no_rope_layers": null, "no_rope_layer_interval": 4,
         "layer_types": null, "attention_bias": false, "mlp_bias": false, "tie_word_embeddings": true})"},
    {"granite", "GraniteConfig",
     R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048, "rms_norm_eps": 1e-6,
         "tie_word_embeddings": false, "rope_theta": 10000.0, "rope_scaling": null, "attention_bias": false, "mlp_bias": false,
         "embedding_multiplier": 1.0, "logits_scaling": 1.0, "residual_multiplier": 1.0, "attention_multiplier": 1.0})"},
    {"granitemoehybrid", "GraniteMoeHybridConfig",
     R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 2, "num_attention_heads": 32,
         "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048, "rms_norm_eps": 1e-6,
         "tie_word_embeddings": false, "rope_theta": 10000.0, "rope_scaling": null, "attention_bias": false, "embedding_multiplier": 1.0,
         "logits_scaling": 1.0, "residual_multiplier": 1.0, "attention_multiplier": 1.0, "num_local_experts": 8,
         "shared_intermediate_size": 1024, "position_embedding_type": null, "layer_types": null})",
     R"({"num_local_experts": 0, "position_embedding_type": "rope", "layer_types": ["attention", "attention"]})"},
    {"olmo2", "Olmo2Config",
     R"({"vocab_size": 50304, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
         "tie_word_embeddings": false, "rope_theta": 10000.0, "rope_scaling": null, "attention_bias": false})"},
    {"gemma3_text", "Gemma3TextConfig",
     R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8,
         "num_key_value_heads": 4, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "max_position_embeddings": 131072,
         "rms_norm_eps": 1e-6, "tie_word_embeddings": true, "rope_theta": 1000000.0, "attention_bias": false,
         "query_pre_attn_scalar": 256, "sliding_window": 4096, "final_logit_softcapping": null, "attn_logit_softcapping": null,
         "rope_scaling": null, "rope_local_base_freq": 10000.0, "sliding_window_pattern": 6, "use_bidirectional_attention": false})"},
    {"phi3", "Phi3Config",
     R"({"vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 4096, "original_max_position_embeddings": 4096,
         "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "rope_theta": 10000.0, "rope_scaling": null, "partial_rotary_factor": 1.0,
         "sliding_window": null})"},
};

/// The model of a config.json, or the message that refuses it.
struct Reading {
  TransformerConfig model{};
  std::string error{};
};
Reading read_config(const json& file) {
  try {
    return {.model = read_hf_config(file.dump(), "config.json").model};
  } catch (const InputError& error) {
    return {.error = error.what()};
  }
}

TEST(FamilyDefaults, AreThoseOfTheClasses) {
  for (const ConfigClass& of : kClasses) {
    const json defaults = json::parse(of.defaults);
    json file = defaults;
    file.update(json::parse(of.readable));
    file["model_type"] = of.family;
    ASSERT_EQ(read_config(file).error, "") << of.name;
    for (const auto& [key, value] : defaults.items()) {
      json with = file, without = file;
      with[key] = value;
      without.erase(key);
      const Reading same = read_config(with), found = read_config(without);
      const bool is_refused = found.error.find(key) != std::string::npos;
      EXPECT_TRUE(is_refused || (found.error.empty() && same.error.empty() && found.model == same.model))
          << of.name << '.' << key << " = " << value << ": " << found.error << same.error;
    }
  }
}

// Each key of a table is in the class, or changes nothing by being absent.
TEST(FamilyDefaults, CoverEveryFamilyAndKey) {
  for (const Family& family : families()) {
    const auto* const of = std::ranges::find_if(kClasses, [&](const ConfigClass& one) { return one.family == family.name; });
    ASSERT_NE(of, std::end(kClasses)) << family.name;
    const json defaults = json::parse(of->defaults);
    for (const KeyName& key : family.config) {
      EXPECT_TRUE(defaults.contains(key.theirs) || key.absent == kDerived) << of->name << '.' << key.theirs;
    }
    for (const NeededValue& needed : family.needed) {
      EXPECT_TRUE(defaults.contains(needed.key) || needed.absent.empty()) << of->name << '.' << needed.key;
    }
  }
}

// null is None in Python: as many heads of keys as of queries, and no number where one is needed.
TEST(FamilyDefaults, NullIsNotAMissingKey) {
  json file = json::parse(kClasses[2].defaults);
  file["model_type"] = "qwen2";
  file["num_attention_heads"] = 64;
  file["num_key_value_heads"] = nullptr;
  EXPECT_EQ(*read_config(file).model.n_kv_head, 64);
  file.erase("num_key_value_heads");
  EXPECT_EQ(*read_config(file).model.n_kv_head, 32);
  file["rms_norm_eps"] = nullptr;
  EXPECT_NE(read_config(file).error.find("rms_norm_eps"), std::string::npos);
}

}  // namespace
}  // namespace dikkat
