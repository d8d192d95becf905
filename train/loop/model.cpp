#include "train/loop/model.h"

namespace dikkat {
namespace {

GptConfig gpt_config(const ModelConfig& c, index tokenizer_vocab_size) {
  require_input(c.kind == "gpt", "model.kind is '", c.kind, "', expected 'gpt'");
  require_input(c.vocab_size == 0 || c.vocab_size >= tokenizer_vocab_size, "model.vocab_size is ", c.vocab_size, ", but the tokenizer has ",
                tokenizer_vocab_size, " tokens; set it to that or more, or leave it out");
  return {.n_layer = c.n_layer,
          .n_head = c.n_head,
          .n_embd = c.n_embd,
          .block_size = c.block_size,
          .vocab_size = c.vocab_size == 0 ? tokenizer_vocab_size : c.vocab_size,
          .dropout = c.dropout,
          .bias = c.bias,
          .qkv_bias = c.qkv_bias.value_or(c.bias),
          .tie_embeddings = c.tie_embeddings};
}

}  // namespace

LanguageModel::LanguageModel(const ModelConfig& config, index tokenizer_vocab_size)
    : gpt_(Scope(parameters_), gpt_config(config, tokenizer_vocab_size)) {}

}  // namespace dikkat
