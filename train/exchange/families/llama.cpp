#include "train/exchange/families/families.h"
#include "train/exchange/families/llama_shape.h"

namespace dikkat::family_tables {
namespace {

constexpr auto kQwen2 = changed(kLlama, {{"qkv_bias", "true"}});
constexpr auto kQwen3 = changed(kLlama, {{"qk_norm", "true"}});
constexpr auto kMistral = without(kLlama, {"window"});
constexpr auto kQwen2Config =
    changed(kLlamaConfig, {{"num_key_value_heads", "n_kv_head", "32"}, {"max_position_embeddings", "block_size", "32768"}});
constexpr auto kQwen3Config = changed(kQwen2Config, {{"head_dim", "head_size", "128"}});
constexpr auto kMistralConfig =
    changed(kLlamaConfig, {{"num_key_value_heads", "n_kv_head", "8"}, {"max_position_embeddings", "block_size", "131072"}});
constexpr auto kMistralNeeds = without(kLlamaNeeds, {"use_sliding_window"});
constexpr std::string_view kMistralCoded[] = {"window"};

}  // namespace

Family llama_family() { return kLlamaFamily; }

Family qwen2_family() {
  Family family = kLlamaFamily;
  family.name = "qwen2";
  family.architecture = "Qwen2ForCausalLM";
  family.classifier = "Qwen2ForSequenceClassification";
  family.fixed = kQwen2;
  family.config = kQwen2Config;
  family.gguf_tensors = kGgufTensors<Layout::same>;
  return family;
}

Family qwen3_family() {
  Family family = qwen2_family();
  family.name = "qwen3";
  family.architecture = "Qwen3ForCausalLM";
  family.classifier = "Qwen3ForSequenceClassification";
  family.fixed = kQwen3;
  family.config = kQwen3Config;
  return family;
}

/// Mistral differs from Llama in its defaults and its window.
Family mistral_family() {
  Family family = kLlamaFamily;
  family.name = "mistral";
  family.architecture = "MistralForCausalLM";
  family.classifier = "MistralForSequenceClassification";
  family.fixed = kMistral;
  family.coded = kMistralCoded;
  family.window = 4096;
  family.config = kMistralConfig;
  family.needed = kMistralNeeds;
  return without_gguf(family);
}

}  // namespace dikkat::family_tables
