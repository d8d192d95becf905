#include "train/exchange/families/families.h"
#include "train/exchange/families/llama_shape.h"

namespace dikkat::family_tables {
namespace {

constexpr auto kOlmo2 = changed(kLlama, {{"norm_position", "\"branch\""}, {"qk_norm", "true"}, {"qk_norm_over", "\"row\""}});
constexpr auto kOlmo2Config = changed(kLlamaConfig, {{"rms_norm_eps", "norm_eps", "1e-5"}});
constexpr auto kOlmo2Tensors = changed(kLlamaTensors, {{"h.#.ln_1.weight", {{{"model.layers.#.post_attention_layernorm.weight"}}}},
                                                       {"h.#.ln_2.weight", {{{"model.layers.#.post_feedforward_layernorm.weight"}}}}});
constexpr auto kOlmo2GgufTensors = changed(kGgufTensors<Layout::same>, {{"h.#.ln_1.weight", {{{"blk.#.post_attention_norm.weight"}}}},
                                                                        {"h.#.ln_2.weight", {{{"blk.#.post_ffw_norm.weight"}}}}});

}  // namespace

Family olmo2_family() {
  Family family = kLlamaFamily;
  family.name = "olmo2";
  family.architecture = "Olmo2ForCausalLM";
  family.classifier = "";
  family.fixed = kOlmo2;
  family.config = kOlmo2Config;
  family.tensors = kOlmo2Tensors;
  family.gguf_tensors = kOlmo2GgufTensors;
  return family;
}

}  // namespace dikkat::family_tables
