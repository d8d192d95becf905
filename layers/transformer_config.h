#pragma once

#include <vector>

#include "autograd/base/names.h"
#include "autograd/ops/linear.h"
#include "layers/defaulted.h"

namespace dikkat {

enum class ModelKind {
  gpt,              // continues a text
  encoder_decoder,  // answers a source with a target
};
template <>
struct Names<ModelKind> {
  static constexpr std::string_view of[] = {"gpt", "encoder_decoder"};
};

/// The way in which the model knows positions. A row of a learned table, or sines and cosines, is added to each token. Or attention rotates
/// queries and keys (RoPE; Su et al., arXiv 2104.09864). Or only the causal mask depends on positions.
enum class Positions { learned, sinusoidal, rope, none };
template <>
struct Names<Positions> {
  static constexpr std::string_view of[] = {"learned", "sinusoidal", "rope", "none"};
};

/// The change of RoPE's frequencies for a longer context. linear divides all by a factor. llama3 keeps the high ones and divides the low
/// ones, as Llama 3.1 does. longrope divides each by a number of its own (rope_short_factors), within the original context, as LongRoPE
/// does.
enum class RopeScaling { none, linear, llama3, longrope };
template <>
struct Names<RopeScaling> {
  static constexpr std::string_view of[] = {"none", "linear", "llama3", "longrope"};
};

enum class NormKind { layer_norm, rms_norm };
template <>
struct Names<NormKind> {
  static constexpr std::string_view of[] = {"layer_norm", "rms_norm"};
};

/// The place where a block normalizes. pre: x + branch(LN(x)), with one more norm after the last block (GPT-2). post: LN(x + branch(x))
/// (Vaswani et al. 2017; GPT-1). sandwich: x + LN(branch(LN(x))) (Gemma 3). branch: x + LN(branch(x)) (OLMo 2). The last two also have the
/// norm after the last block.
enum class NormPosition { pre, post, sandwich, branch };
template <>
struct Names<NormPosition> {
  static constexpr std::string_view of[] = {"pre", "post", "sandwich", "branch"};
};

/// The numbers that qk_norm normalizes at once: each head, or all heads of a row (OLMo 2).
enum class QkNormOver { head, row };
template <>
struct Names<QkNormOver> {
  static constexpr std::string_view of[] = {"head", "row"};
};

template <>
struct Names<Activation> {
  static constexpr std::string_view of[] = {"gelu", "relu", "relu2", "silu"};
};

/// The layers of a stack that add the tokens' rows to the values of self-attention: none; every other one, including the last; or all.
enum class ValueEmbeddings { none, alternate, all };
template <>
struct Names<ValueEmbeddings> {
  static constexpr std::string_view of[] = {"none", "alternate", "all"};
};

/// The description of a transformer. Gpt, EncoderDecoder and all their layers read it; it is also the [model] section of a configuration
/// file. Defaults are set here, or in with_defaults() if they follow from other members. To add a key: a member here, a row in
/// train/config/schema.cpp, and its use in a layer.
struct TransformerConfig {
  ModelKind kind = ModelKind::gpt;
  index n_layer = 4;                        // blocks; of an encoder-decoder, those of the decoder
  Defaulted<index> n_encoder_layer{};       // blocks of the encoder: n_layer
  index n_head = 4;                         // H, heads of queries
  Defaulted<index> n_kv_head{};             // heads of keys and values, divides n_head: n_head
  index n_embd = 128;                       // C
  Defaulted<index> head_size{};             // D: n_embd / n_head
  Defaulted<index> n_hidden{};              // width inside the feed-forward: 4 C, gated 8/3 C in whole multiples of 64
  index block_size = 64;                    // context length: most tokens of a sequence
  Defaulted<index> vocab_size{};            // V: the tokenizer's
  index classes = 0;                        // the output head has a row for each of so many labels; 0: it predicts the next token
  double dropout = 0;                       // probability for embeddings, attention weights and each branch, in training
  bool bias = true;                         // whether linear layers and layer norms have biases
  Defaulted<bool> qkv_bias{};               // whether query, key and value have biases: bias
  bool tie_embeddings = true;               // the output head is the token table (the decoder's)
  bool share_embeddings = true;             // encoder and decoder have one token table
  Defaulted<bool> scale_embeddings{};       // token rows times sqrt(C): in an encoder-decoder
  double embedding_scale = 1;               // a further factor of token rows
  Defaulted<Positions> positions{};         // learned, in an encoder-decoder sinusoidal
  Defaulted<NormPosition> norm_position{};  // pre, in an encoder-decoder post
  Defaulted<bool> final_norm{};             // a norm after the last block: unless norm_position is post
  NormKind norm = NormKind::layer_norm;
  double norm_eps = 1e-5;  // added to the variance, or to the mean square
  bool qk_norm = false;    // RMSNorm of queries and keys, with the scales q_norm and k_norm
  QkNormOver qk_norm_over = QkNormOver::head;
  Defaulted<double> attention_scale{};  // factor of the scores: 1 / sqrt(D)
  index window = 0;                     // positions that a token of a GPT sees at most, its own included; 0: all up to its own
  index window_pattern = 0;             // in each group of so many layers the last one has no window; 0: all have it
  double rope_theta = 10'000;           // pair d of a head turns by theta^(-2 d / D) radians for each position
  RopeScaling rope_scaling = RopeScaling::none;
  double rope_factor = 8;                    // for linear and llama3; for longrope: the longer context, divided by the original one
  double rope_low_freq_factor = 1;           // for llama3, as Llama 3.1 has them: frequencies that turn less often than this
  double rope_high_freq_factor = 4;          // within rope_original_context are divided, those that turn more often than this are kept
  index rope_original_context = 8'192;       // for llama3 and longrope: positions before scaling
  double rope_theta_local = 0;               // the base in layers with a window, which then are not scaled; 0: as the others
  double rope_share = 1;                     // share of a head's pairs that is rotated, the first ones
  std::vector<double> rope_short_factors{};  // divisors of these pairs' frequencies, in addition to rope_scaling; empty: none
  // The divisors of longrope beyond the original context. No layer reads them, because such positions are refused. Exports contain them.
  std::vector<double> rope_long_factors{};
  Defaulted<double> rope_amplitude{};  // factor of cosines and sines: 1, for longrope sqrt(1 + ln rope_factor / ln rope_original_context)
  index rope_pattern = 0;              // in each group of so many layers the last one has no RoPE; 0: all have it
  Defaulted<Activation> activation{};  // the feed-forward's: gelu, in an encoder-decoder relu
  bool gated = false;                  // the feed-forward is c_proj(f(gate) * up), with gate | up from c_fc
  double residual_scale = 1;           // factor of a branch, before it is added to the residual stream
  double logit_scale = 1;              // factor of the logits, before the softcap
  double logit_softcap = 0;            // logits z become softcap tanh(z / softcap); 0: they are not changed

  // Options that help small models (nanochat, modded-nanogpt).
  bool embedding_norm = false;                               // the model's norm follows the embedding
  bool residual_scalars = false;                             // x becomes l x + l0 x0 before each block; x0 is the input of the first one
  ValueEmbeddings value_embeddings = ValueEmbeddings::none;  // v becomes v + 2 sigmoid(W x[:12]) e[token], in each head
  bool zero_init_projections = false;                        // the last layer of a branch begins at 0, so a block begins as x
  bool zero_head = false;                                    // an output head that is not the token table begins at 0

  bool operator==(const TransformerConfig&) const = default;
};

/// Computes all defaults that follow from other members. vocab_size follows from the tokenizer and stays open.
TransformerConfig with_defaults(TransformerConfig config);

/// Does what with_defaults() does, but for a model of this kind. Throws Error for a configuration that does not describe a model: heads
/// that do not divide the width, sizes below 1, dropout outside of [0, 1), no vocab_size, and the like.
TransformerConfig checked(TransformerConfig config, ModelKind kind);

// Standard deviations of initial weights. For a GPT they are those of GPT-2: 0.02, and 0.02 / sqrt(2 n_layer) for the last layer of a
// branch. For an encoder-decoder they are those of Glorot and Bengio (2010): variance 2 / (in + out). zero_init_projections and zero_head
// make some of them 0.

/// Returns that of a linear layer from `in` to `out`.
double weight_std(const TransformerConfig& config, index in, index out);
/// Returns that of the last layer of a branch, whose output is added to the residual stream.
double branch_end_std(const TransformerConfig& config, index in, index out);
/// Returns that of an output head that is not the token table.
double head_std(const TransformerConfig& config);
/// Returns that of the rows of the tables of tokens and positions. With an encoder-decoder the variance is 1 / C; the rows are multiplied
/// by sqrt(C), so the stack's input has variance 1.
double embedding_std(const TransformerConfig& config);

/// Returns the window of self-attention in layer `layer`; 0: none.
index window_of(const TransformerConfig& config, index layer);
/// Returns whether self-attention in layer `layer` rotates queries and keys.
bool has_rope(const TransformerConfig& config, index layer);
/// Returns how many numbers of a head RoPE rotates: two for each pair.
index rotated_size(const TransformerConfig& config);

/// Returns whether self-attention in layer `layer` of a stack of `layers` has value embeddings.
bool has_value_embedding(const TransformerConfig& config, index layer, index layers);
/// Returns how many of the first channels of x the gate of a value embedding reads.
index value_gate_channels(const TransformerConfig& config);

}  // namespace dikkat
