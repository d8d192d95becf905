#pragma once

#include "autograd/base/names.h"
#include "autograd/ops/linear.h"
#include "layers/derived.h"

namespace dikkat {

enum class ModelKind {
  gpt,              // continues a text
  encoder_decoder,  // answers a source with a target
};
template <>
struct Names<ModelKind> {
  static constexpr std::string_view of[] = {"gpt", "encoder_decoder"};
};

/// How a position is encoded: as a row of a learned table, or by sines and cosines.
enum class Positions { learned, sinusoidal };
template <>
struct Names<Positions> {
  static constexpr std::string_view of[] = {"learned", "sinusoidal"};
};

/// Where a block normalises. pre: x + branch(LN(x)), with one more norm after the last block (GPT-2). post: LN(x + branch(x)) (Vaswani et
/// al. 2017; GPT-1).
enum class NormPosition { pre, post };
template <>
struct Names<NormPosition> {
  static constexpr std::string_view of[] = {"pre", "post"};
};

template <>
struct Names<Activation> {
  static constexpr std::string_view of[] = {"gelu", "relu"};
};

/// The description of a transformer. Gpt, EncoderDecoder and all their layers read it; it is also the [model] section of a configuration
/// file. Defaults stand here, or in with_defaults() if they follow from other members. To add a key: a member here, a row in
/// train/config/schema.cpp, and its use in a layer.
struct TransformerConfig {
  ModelKind kind = ModelKind::gpt;
  index n_layer = 4;                      // blocks; of an encoder-decoder, those of the decoder
  Derived<index> n_encoder_layer{};       // blocks of the encoder: n_layer
  index n_head = 4;                       // H, divides n_embd
  index n_embd = 128;                     // C
  Derived<index> n_hidden{};              // width inside the feed-forward: 4 C
  index block_size = 64;                  // context length: most tokens of a sequence
  Derived<index> vocab_size{};            // V: the tokenizer's
  double dropout = 0;                     // of embeddings, of attention weights and of each branch, in training
  bool bias = true;                       // of linear layers and norms
  Derived<bool> qkv_bias{};               // of query, key and value: bias
  bool tie_embeddings = true;             // the output head is the token table (the decoder's)
  bool share_embeddings = true;           // encoder and decoder have one token table
  Derived<bool> scale_embeddings{};       // token rows times sqrt(C): in an encoder-decoder
  Derived<Positions> positions{};         // learned, in an encoder-decoder sinusoidal
  Derived<NormPosition> norm_position{};  // pre, in an encoder-decoder post
  Derived<bool> final_norm{};             // a norm after the last block: with norm_position pre
  Derived<Activation> activation{};       // of the feed-forward: gelu, in an encoder-decoder relu

  bool operator==(const TransformerConfig&) const = default;
};

/// Computes all defaults that follow from other members. vocab_size follows from the tokenizer and stays open.
TransformerConfig with_defaults(TransformerConfig config);

/// with_defaults() for a model of this kind. Throws Error for a configuration that describes no model: heads that do not divide the width,
/// sizes below 1, dropout outside of [0, 1), no vocab_size.
TransformerConfig checked(TransformerConfig config, ModelKind kind);

// Standard deviations of initial weights. For a GPT those of GPT-2: 0.02, and 0.02 / sqrt(2 n_layer) for the last layer of a branch. For an
// encoder-decoder those of Glorot and Bengio (2010): variance 2 / (in + out).

/// Of a linear layer from `in` to `out`.
double weight_std(const TransformerConfig& config, index in, index out);
/// The same for the last layer of a branch, whose output is added to the residual stream.
double branch_end_std(const TransformerConfig& config, index in, index out);
/// Of rows of the tables of tokens and positions. For an encoder-decoder the variance is 1 / C; the rows are multiplied by sqrt(C), so the
/// stack's input has variance 1.
double embedding_std(const TransformerConfig& config);

}  // namespace dikkat
