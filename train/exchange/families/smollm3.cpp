#include "train/exchange/families/families.h"
#include "train/exchange/families/llama_shape.h"

namespace dikkat::family_tables {
namespace {

constexpr auto kSmolLm3 = without(kLlama, {"rope_pattern"});
constexpr auto kSmolLm3Config = changed(kLlamaConfig, {{"num_key_value_heads", "n_kv_head", "4"},
                                                       {"max_position_embeddings", "block_size", "32768"},
                                                       {"tie_word_embeddings", "tie_embeddings", "true"}});
/// Keys of layers without RoPE, which hf_config.cpp reads.
constexpr auto kSmolLm3Ignored = joined<std::string_view>({"no_rope_layers", "no_rope_layer_interval"}, kIgnoredKeys);
constexpr std::string_view kSmolLm3Coded[] = {"rope_pattern"};
/// The value that llama.cpp has in its code.
constexpr FixedKey kSmolLm3Implied[] = {{"rope_pattern", "4"}};

}  // namespace

Family smollm3_family() {
  Family family = kLlamaFamily;
  family.name = "smollm3";
  family.architecture = "SmolLM3ForCausalLM";
  family.classifier = "SmolLM3ForSequenceClassification";
  family.fixed = kSmolLm3;
  family.coded = kSmolLm3Coded;
  family.rope_theta = 2'000'000;
  family.config = kSmolLm3Config;
  family.ignored = kSmolLm3Ignored;
  family.gguf_implied = kSmolLm3Implied;
  return family;
}

}  // namespace dikkat::family_tables
