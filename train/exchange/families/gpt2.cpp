#include "train/exchange/families/families.h"
#include "train/exchange/families/rows.h"

namespace dikkat::family_tables {
namespace {

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

constexpr NeededValue kGpt2GgufNeeds[] = {{"attention.causal", "true"}};
constexpr std::string_view kGpt2GgufIgnored[] = {"tensor_data_layout"};
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

}  // namespace

Family gpt2_family() {
  return {
      .name = "gpt2",
      .architecture = "GPT2LMHeadModel",
      .classifier = "GPT2ForSequenceClassification",
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
}

}  // namespace dikkat::family_tables

namespace dikkat {

std::span<const TensorRule> llmc_tensor_rules() { return family_tables::kLlmcTensors; }
std::span<const TensorRule> nanogpt_tensor_rules() { return family_tables::kGpt2Tensors<Layout::same>; }

}  // namespace dikkat
