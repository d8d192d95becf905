#include "train/config/schema.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/error.h"
#include "train/config/advice.h"
#include "train/config/foreign_names.h"
#include "train/config/members.h"
#include "train/config/rules.h"
#include "train/text/nearest_word.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat::schema {
namespace {

/// A row of the table. `Section` is the member of Config, `Member` the one of the section.
template <auto Section, auto Member>
constexpr Key row(std::string_view section, std::string_view name, Rule rule, std::string_view help) {
  using Field = std::remove_cvref_t<decltype((std::declval<Config&>().*Section).*Member)>;
  if (rule.choices.empty()) {
    rule.choices = choices_of<Field>();
  }
  Key key;
  static_cast<Setting&>(key) = {.section = section, .name = name, .help = help, .type = type_of<Field>(), .rule = rule};
  key.is_set = [](const Config&) { return true; };
  if constexpr (IsDerived<Field>::value) {
    using T = typename IsDerived<Field>::Value;
    key.get = [](const Config& config) {
      const Field& field = (config.*Section).*Member;
      return field.is_open() ? Value() : to_value<T>(field);
    };
    key.set = [](Config& config, const Value& value) { (config.*Section).*Member = from_value<T>(value); };
    key.is_set = [](const Config& config) { return ((config.*Section).*Member).is_set(); };
    key.derive = [](Config& config, const Value& value) { ((config.*Section).*Member).derive(from_value<T>(value)); };
  } else {
    key.get = [](const Config& config) { return to_value((config.*Section).*Member); };
    key.set = [](Config& config, const Value& value) { (config.*Section).*Member = from_value<Field>(value); };
  }
  return key;
}

/// The model is what a run trains, so it is fixed, unless its row says `changeable`.
template <auto Member>
constexpr Key model(std::string_view name, Rule rule, std::string_view help) {
  rule.fixed = true;
  return row<&Config::model, Member>("model", name, rule, help);
}
template <auto Member>
constexpr Key tokenizer(std::string_view name, Rule rule, std::string_view help) {
  return row<&Config::tokenizer, Member>("tokenizer", name, rule, help);
}
template <auto Member>
constexpr Key data(std::string_view name, Rule rule, std::string_view help) {
  return row<&Config::data, Member>("data", name, rule, help);
}
template <auto Member>
constexpr Key optim(std::string_view name, Rule rule, std::string_view help) {
  return row<&Config::optim, Member>("optim", name, rule, help);
}
template <auto Member>
constexpr Key train(std::string_view name, Rule rule, std::string_view help) {
  return row<&Config::train, Member>("train", name, rule, help);
}

template <auto Member>
constexpr Key lora(std::string_view name, Rule rule, std::string_view help) {
  rule.fixed = true;
  return row<&Config::lora, Member>("lora", name, rule, help);
}

template <auto Member>
constexpr Key chat(std::string_view name, std::string_view help, Rule rule = {}) {
  rule.fixed = true;
  return row<&Config::chat, Member>("chat", name, rule, help);
}

/// The default follows from other keys as `text` says; resolve() computes it.
constexpr Rule derived(Rule rule, std::string_view text) {
  rule.derived = text;
  return rule;
}
constexpr Key changeable(Key key) {
  key.rule.fixed = false;
  return key;
}
constexpr Rule fixed(Rule rule) {
  rule.fixed = true;
  return rule;
}

constexpr double kMostLanes = 1024;
constexpr double kMany = 1e6;             // keeps the product of three counts within an index
constexpr double kMostLayers = 1000;      // of a GPT, whose tensors a checkpoint still holds
constexpr double kMaxStep = 999'999'999;  // a checkpoint's name has nine digits
constexpr double kMaxVocab = 2'147'483'647;

// A new key is a member in config.h (of [model]: in layers/transformer_config.h) and a row here. A new section is a struct in config.h and
// a function for its rows above.
constexpr Key kKeys[] = {
    model<&TransformerConfig::kind>("kind", anything(),
                                    "The model: a GPT, which continues a text; or an encoder-decoder, which answers a source with a target "
                                    "and learns from pairs, one line SOURCE<TAB>TARGET each."),
    model<&TransformerConfig::n_layer>("n_layer", between(1, kMostLayers),
                                       "Number of blocks (attention and feed-forward); of an encoder-decoder, those of the decoder."),
    model<&TransformerConfig::n_encoder_layer>("n_encoder_layer", derived(between(1, kMostLayers), "n_layer"),
                                               "Number of blocks in the encoder of an encoder-decoder."),
    model<&TransformerConfig::n_head>("n_head", between(1, 1e4), "Attention heads of a block."),
    model<&TransformerConfig::n_kv_head>(
        "n_kv_head", derived(between(1, 1e4), "n_head"),
        "Heads of keys and values: fewer than n_head is grouped-query attention, where each serves n_head / "
        "n_kv_head heads of queries; 1 is multi-query attention."),
    model<&TransformerConfig::n_embd>("n_embd", between(1, kMany), "Width of the model: numbers per token between blocks."),
    model<&TransformerConfig::head_size>("head_size", derived(between(1, kMany), "n_embd / n_head"),
                                         "Width of an attention head; all heads together need not be as wide as n_embd."),
    model<&TransformerConfig::n_hidden>("n_hidden", derived(between(1, 4 * kMany), "4 n_embd, gated 8/3 n_embd in whole multiples of 64"),
                                        "Width inside the feed-forward, between its two layers."),
    model<&TransformerConfig::block_size>("block_size", between(1, kMany),
                                          "Context: the most tokens that the model sees at once; of an encoder-decoder, the longest source "
                                          "and the longest target."),
    changeable(
        model<&TransformerConfig::dropout>("dropout", from_to_below(0, 1), "Share of activations that training sets to 0; 0 is off.")),
    model<&TransformerConfig::bias>("bias", anything(), "Whether linear layers and layer norms have biases; RMSNorm has none."),
    model<&TransformerConfig::qkv_bias>("qkv_bias", derived(anything(), "bias"),
                                        "Whether the projections to query, key and value have biases."),
    model<&TransformerConfig::tie_embeddings>("tie_embeddings", anything(), "Whether the output head is the token embedding."),
    model<&TransformerConfig::share_embeddings>("share_embeddings", anything(), "Whether encoder and decoder have one token embedding."),
    model<&TransformerConfig::scale_embeddings>("scale_embeddings", derived(anything(), "false, of an encoder-decoder true"),
                                                "Whether token embeddings are multiplied by the square root of n_embd."),
    model<&TransformerConfig::positions>(
        "positions", derived(anything(), "learned, of an encoder-decoder sinusoidal"),
        "How the model knows a token's position: by a learned embedding, or sines and cosines, that are added "
        "to it; by rotating queries and keys in attention (rope); or by the causal mask alone (none)."),
    model<&TransformerConfig::rope_theta>("rope_theta", between(1, 1e12),
                                          "Base of RoPE's frequencies; a larger one suits a longer context."),
    model<&TransformerConfig::rope_scaling>(
        "rope_scaling", anything(),
        "How RoPE's frequencies are changed for a longer context: all divided by rope_factor (linear), or the low ones alone (llama3)."),
    model<&TransformerConfig::rope_factor>("rope_factor", between(1, 1e6), "What RoPE's frequencies are divided by."),
    model<&TransformerConfig::rope_low_freq_factor>(
        "rope_low_freq_factor", above_to(0, 1e6),
        "Frequencies with fewer turns than this within rope_original_context are divided by rope_factor."),
    model<&TransformerConfig::rope_high_freq_factor>(
        "rope_high_freq_factor", above_to(0, 1e6),
        "Frequencies with more turns than this within rope_original_context are kept; those between are mixed of both."),
    model<&TransformerConfig::rope_original_context>("rope_original_context", between(1, 1e9),
                                                     "Positions that the model knew before its context was made longer."),
    model<&TransformerConfig::norm_position>(
        "norm_position", derived(anything(), "pre, of an encoder-decoder post"),
        "A norm before each branch (pre, as GPT-2), or after each sum (post, as Vaswani et al. 2017)."),
    model<&TransformerConfig::final_norm>("final_norm", derived(anything(), "true where norm_position is pre"),
                                          "Whether a norm follows the last block."),
    model<&TransformerConfig::norm>(
        "norm", anything(), "Layer norm (GPT-2), or RMSNorm (Llama): divided by the root of the mean square alone, without a bias."),
    model<&TransformerConfig::norm_eps>("norm_eps", above_to(0, 1), "Added to the variance, or mean square, that a norm divides by."),
    model<&TransformerConfig::qk_norm>(
        "qk_norm", anything(), "Whether each head of queries and of keys is normalised (RMSNorm) before they are compared, as in Qwen3."),
    model<&TransformerConfig::activation>("activation", derived(anything(), "gelu, of an encoder-decoder relu"),
                                          "Activation of the feed-forward; gelu is GELU in its tanh form, relu2 is ReLU squared."),
    model<&TransformerConfig::gated>(
        "gated", anything(),
        "Whether the feed-forward is gated, as in Llama: down(f(gate(x)) * up(x)). With silu it is SwiGLU, with "
        "gelu GeGLU."),
    model<&TransformerConfig::logit_softcap>("logit_softcap", between(0, 40),
                                             "Logits z become c tanh(z / c) for this c, as in Gemma 2; 0 is off."),
    model<&TransformerConfig::embedding_norm>("embedding_norm", anything(),
                                              "Whether a norm follows the embedding, before the first block."),
    model<&TransformerConfig::residual_scalars>(
        "residual_scalars", anything(),
        "Whether each block reads a x + b x0 in place of x, where x0 is what the first block reads and a and b are learned, at first 1 and "
        "0."),
    model<&TransformerConfig::value_embeddings>(
        "value_embeddings", anything(),
        "Layers in which each token adds a learned row of its own to the values of self-attention, through a gate for each head: every "
        "other layer and the last (alternate), or all. Each such layer has a table as wide as its keys."),
    model<&TransformerConfig::zero_init_projections>(
        "zero_init_projections", anything(),
        "Whether the last layers of attention and of the feed-forward begin at 0, so that a new block passes on what it reads."),
    model<&TransformerConfig::zero_head>("zero_head", anything(), "Whether the output head begins at 0; it needs tie_embeddings = false."),
    model<&TransformerConfig::vocab_size>("vocab_size", derived(between(1, kMaxVocab), "the tokenizer's number of tokens"),
                                          "Rows of the token embedding: at least as many as the tokenizer has tokens."),

    tokenizer<&TokenizerConfig::kind>(
        "kind", fixed(one_of(kTokenizerNames)),
        "A token is a byte, a character (Unicode code point), a word (what stands between white space), or a "
        "piece of a word that byte pair encoding has learnt (GPT-2's way). A tokenizer from path keeps its own kind."),
    tokenizer<&TokenizerConfig::vocab_size>("vocab_size", fixed(between(257, 1 << 24)),
                                            "Of bpe: tokens to learn, the 256 bytes and <|endoftext|> among them."),
    tokenizer<&TokenizerConfig::splitter>(
        "splitter", fixed(anything()),
        "Of bpe: the rule by which texts are split into pieces, named by the models that have it. qwen2 is "
        "Qwen 3's too, and puts texts into Unicode's normal form C first."),
    tokenizer<&TokenizerConfig::min_count>("min_count", fixed(at_least(1)), "Of word: a word that is rarer in the corpus is <unk>."),
    tokenizer<&TokenizerConfig::path>(
        "path", fixed(anything()),
        "A tokenizer to take instead of making one from the corpus: a tokenizer.json, GPT-2's vocab.bpe beside "
        "its encoder.json, nanoGPT's characters as JSON, or a folder with one of these."),

    data<&DataConfig::corpus>("corpus", anything(),
                              "Text files, folders of text, patterns with * and ?, and - for standard input; .jsonl has a document a "
                              "line; .gz and .zst are unpacked; .bin are tokens of nanoGPT or llm.c. A relative path is looked up in the "
                              "current directory and, where it does not exist there, beside the configuration file."),
    data<&DataConfig::validation>("validation", anything(),
                                  "Texts to validate on, given as in corpus. All of corpus is then used for training."),
    data<&DataConfig::val_fraction>("val_fraction", fixed(from_to_below(0, 1)),
                                    "Share of the text, taken from its end, for validation; 0 trains on all of it. Without effect "
                                    "if validation is given."),
    data<&DataConfig::text_field>("text_field", fixed(not_empty()), "The field of a JSONL line that has the text."),
    data<&DataConfig::pack>(
        "pack", fixed(anything()),
        "How windows are cut: from the stream of all documents (stream); so that none crosses from one document into the next "
        "(document); or so that short documents share a window without seeing each other (best_fit). Conversations are "
        "always packed by best fit."),
    data<&DataConfig::invalid_utf8>("invalid_utf8", fixed(anything()),
                                    "What to do with bytes that are not UTF-8: refuse the text, or replace each by U+FFFD."),
    data<&DataConfig::window>(
        "window", fixed(derived(between(1, kMany), "model.block_size")),
        "Tokens of a window that is learnt from and evaluated, at most model.block_size. Shorter windows take less memory; "
        "the model keeps its context, model.block_size."),
    data<&DataConfig::cache>(
        "cache", not_empty(),
        "A folder to keep the tokens of texts in, so that the next run finds them; auto is ~/.cache/dikkat for texts of "
        "8 MB and more, off is memory."),

    optim<&OptimConfig::kind>("kind", fixed(anything()),
                              "The optimizer. muon makes the updates of hidden matrices orthogonal, and leaves all other parameters to "
                              "AdamW; it needs fewer steps, each of which takes longer where batches are small. sgd is gradient descent "
                              "with momentum."),
    optim<&OptimConfig::learning_rate>("learning_rate", above_to(0, 1), "Highest learning rate, reached after the warm-up."),
    optim<&OptimConfig::min_lr>("min_lr", derived(between(0, 1), "learning_rate * min_lr_share"),
                                "Learning rate at the end of a linear, cosine or wsd schedule."),
    optim<&OptimConfig::min_lr_share>(
        "min_lr_share", derived(between(0, 1), "0.1, or min_lr / learning_rate"),
        "The same as a share of learning_rate, in place of min_lr: it follows when the learning rate is changed."),
    optim<&OptimConfig::schedule>(
        "schedule", anything(),
        "How the learning rate falls after the warm-up: not at all (constant), to min_lr (linear, cosine), as 1 / sqrt(step), or to min_lr "
        "over the last decay_share of the steps (wsd: warm-up, stable, decay)."),
    optim<&OptimConfig::warmup_steps>("warmup_steps", between(0, kMaxStep),
                                      "Steps in which the learning rate rises linearly to its highest value; 0 is none."),
    optim<&OptimConfig::decay_steps>(
        "decay_steps", derived(between(1, kMaxStep), "max_steps when the run starts"),
        "Step at which the schedule reaches min_lr; a longer run stays there. With wsd it follows max_steps: a "
        "run that is extended goes back to the stable rate, and takes its decay at the new end."),
    optim<&OptimConfig::decay_share>("decay_share", above_to(0, 1), "Share of decay_steps in which wsd falls to min_lr."),
    optim<&OptimConfig::decay_form>("decay_form", anything(), "Whether wsd falls along a line, or as 1 - sqrt: fast at first (sqrt)."),
    optim<&OptimConfig::weight_decay>("weight_decay", between(0, 10),
                                      "Weight decay, times the learning rate; it applies to tensors with two or more dimensions."),
    optim<&OptimConfig::weight_decay_schedule>(
        "weight_decay_schedule", anything(),
        "What weight_decay is multiplied by: 1 (constant), the learning rate as a share of its peak (with_rate), or what falls from 1 to 0 "
        "at step decay_steps (linear, cosine)."),
    optim<&OptimConfig::cautious_decay>("cautious_decay", anything(),
                                        "Whether weight decay is for those weights alone that the update moves towards 0."),
    optim<&OptimConfig::beta1>("beta1", from_to_below(0, 1), "Decay rate of AdamW's running mean of gradients."),
    optim<&OptimConfig::beta2>("beta2", from_to_below(0, 1), "Decay rate of AdamW's running mean of squared gradients."),
    optim<&OptimConfig::eps>("eps", between(1e-30, 1), "Added to the denominator of AdamW's update, against division by 0."),
    optim<&OptimConfig::muon_momentum>("muon_momentum", from_to_below(0, 1),
                                       "Momentum of Muon: the decay rate of its running sum of gradients."),
    optim<&OptimConfig::muon_momentum_start>("muon_momentum_start", derived(from_to_below(0, 1), "muon_momentum"),
                                             "Momentum of Muon's first step, from which it rises linearly to muon_momentum."),
    optim<&OptimConfig::muon_momentum_warmup_steps>("muon_momentum_warmup_steps", between(0, kMaxStep),
                                                    "Steps from muon_momentum_start to muon_momentum."),
    optim<&OptimConfig::muon_momentum_end>(
        "muon_momentum_end", derived(from_to_below(0, 1), "muon_momentum"),
        "Momentum of Muon at step decay_steps: it moves there from muon_momentum while the learning rate falls to min_lr."),
    optim<&OptimConfig::muon_coefficients>(
        "muon_coefficients", anything(),
        "How Muon makes an update orthogonal: Keller Jordan's polynomial in every step, which leaves singular values between 0.7 and 1.2 "
        "(jordan); a polynomial for each step (polar_express); or after its rows were balanced, which saves a step (turbo)."),
    optim<&OptimConfig::muon_steps>("muon_steps", derived(between(1, 10), "5, of turbo 4"),
                                    "Newton-Schulz steps of an update of Muon; polar_express and turbo have polynomials for at most five."),
    optim<&OptimConfig::muon_normalize>(
        "muon_normalize", fixed(anything()),
        "Whether each row of Muon's orthogonal update, or each column of a wide matrix, is divided by the root of its running mean square "
        "(NorMuon)."),
    optim<&OptimConfig::muon_beta2>("muon_beta2", from_to_below(0, 1), "Decay rate of that running mean."),
    optim<&OptimConfig::sgd_momentum>("sgd_momentum", from_to_below(0, 1),
                                      "Momentum of SGD: the decay rate of its running sum of gradients; 0 is plain gradient descent."),
    optim<&OptimConfig::sgd_nesterov>("sgd_nesterov", anything(), "Whether the momentum of SGD is Nesterov's."),
    optim<&OptimConfig::grad_clip>("grad_clip", at_least(0), "Gradients with a global norm above this are scaled down to it; 0 is off."),
    optim<&OptimConfig::ema_decay>(
        "ema_decay", fixed(from_to_below(0, 1)),
        "Keeps a moving average of the weights (EMA), of which each step leaves this share, such as 0.999: evaluations, samples, exports "
        "and "
        "fine-tuning take the average, and training goes on from the weights themselves; 0 is off. At the beginning the share is smaller, "
        "min(ema_decay, (t - 1) / (t + 9)) at update t, so that the average follows the weights."),

    train<&TrainConfig::batch_size>("batch_size", between(1, kMany),
                                    "Windows of block_size tokens, or pairs, in one forward and backward pass."),
    train<&TrainConfig::gradient_accumulation_steps>("gradient_accumulation_steps", between(1, kMany),
                                                     "Forward and backward passes whose gradients are summed before each update."),
    train<&TrainConfig::accumulation_schedule>(
        "accumulation_schedule", anything(),
        "When another number of passes is summed, as STEP:COUNT, such as \"400:2\", \"800:4\": the batch "
        "grows during the run. A count holds from when STEP steps are done, so the log shows it first at step STEP + 1. "
        "Before the first of them it is gradient_accumulation_steps."),
    train<&TrainConfig::lanes>("lanes", derived(between(1, kMostLanes), "1, or the processes of the run when it starts"),
                               "Equal parts of a step's passes. Gradients are summed in each, and the parts by a fixed tree, so a run has "
                               "the same bits on any number of "
                               "processes that divides the lanes. A power of two that divides gradient_accumulation_steps."),
    train<&TrainConfig::rank_timeout>(
        "rank_timeout", between(1, 1e6),
        "Of several processes (mpirun): seconds without an answer from another one after which the run ends."),
    train<&TrainConfig::max_steps>("max_steps", between(1, kMaxStep), "Steps of the whole run; a step is one update of the weights."),
    train<&TrainConfig::eval_interval>("eval_interval", between(1, kMaxStep), "Steps from one evaluation to the next."),
    train<&TrainConfig::eval_tokens>(
        "eval_tokens", between(0, kMaxStep),
        "Tokens of the validation part that an evaluation measures, and as many of the training part, chosen anew each time; 0 is the "
        "whole "
        "validation part. The number is fixed by default, so that an evaluation takes the same time whatever the size of the corpus; "
        "`dikkat eval` always measures everything."),
    train<&TrainConfig::patience>(
        "patience", between(0, kMaxStep),
        "Evaluations in a row without a lower validation loss after which the run ends (early stopping); 0 is off. The best checkpoint "
        "is kept in any case. With few eval_tokens losses are noisy: use more, or more patience."),
    train<&TrainConfig::checkpoint_interval>("checkpoint_interval", between(1, kMaxStep), "Steps from one checkpoint to the next."),
    train<&TrainConfig::keep_last>("keep_last", between(1, kMany),
                                   "How many of the newest checkpoints are kept. The best one is kept too."),
    train<&TrainConfig::log_interval>("log_interval", between(1, kMaxStep), "Steps from one progress line to the next."),
    train<&TrainConfig::sample_prompts>("sample_prompts", anything(),
                                        "Beginnings of texts, such as \"Once\", \"The \": at each evaluation the model continues them, and "
                                        "metrics.jsonl, `dikkat report` and `dikkat watch` show what it wrote."),
    train<&TrainConfig::sample_tokens>("sample_tokens", between(1, kMany), "Tokens that it writes to each of them."),
    train<&TrainConfig::label_smoothing>("label_smoothing", from_to_below(0, 1),
                                         "Share of the target's probability that training spreads over all tokens; 0 is off."),
    train<&TrainConfig::recompute>(
        "recompute", anything(),
        "Activation checkpointing: what the backward pass recomputes instead of keeping it in memory, to the same bits. none: nothing; "
        "cheap: the feed-forward's activations, at little cost; block: whole blocks, at the cost of a forward pass."),
    train<&TrainConfig::precision>(
        "precision", anything(),
        "What matrix products read. bf16: activations and weights rounded to bf16, with sums, weights and optimizer state in f32; faster "
        "on some processors, and less memory. auto: bf16 where the processor multiplies it at twice the rate of f32; the run keeps what "
        "it chose when it started."),
    train<&TrainConfig::emulate_bf16>(
        "emulate_bf16", anything(),
        "Whether bf16 may be trained without the processor's instruction for it: multiplied in the same way, but no faster than f32."),
    train<&TrainConfig::async_save>(
        "async_save", anything(),
        "Whether checkpoints are written while training continues, from a copy of weights and optimizer state in memory."),
    train<&TrainConfig::on_failed_save>(
        "on_failed_save", anything(),
        "If a checkpoint or a line of metrics cannot be written (a full disk): end the run, or warn and continue until the next one. "
        "The last checkpoint of a run must be written either way."),
    train<&TrainConfig::on_nonfinite>(
        "on_nonfinite", anything(),
        "If a loss or gradient is not finite, or a loss is a spike (spike_z): end the run, or skip the update. "
        "The batch is written to RUN_DIR/bad-step-N.json either way."),
    train<&TrainConfig::max_skipped>("max_skipped", between(0, kMaxStep), "Updates that a run may skip before it ends."),
    train<&TrainConfig::spike_z>(
        "spike_z", at_least(0),
        "A loss is a spike if it is this many standard deviations above the mean of the last hundred steps or so; 0 is "
        "off, 6 is a good start."),
    train<&TrainConfig::seed>("seed", fixed(at_least(0)), "Seed of all random numbers: initial weights, order of the data, dropout."),
    train<&TrainConfig::init_from>("init_from", fixed(anything()),
                                   "Fine-tuning: the run directory (its checkpoint with the lowest validation loss) or checkpoint to start "
                                   "from (--init-from). The run takes over its "
                                   "weights, its tokenizer and every key of [model] that is not set."),

    lora<&LoraConfig::rank>(
        "rank", between(0, 1e4),
        "Rank of the adapters (LoRA) that are trained in place of the model's own weights, which stay as they are: a linear layer x W^T "
        "becomes x W^T + scale (x A^T) B^T, and rank is the number of A's rows. 0 trains the model itself. Adapters need init_from."),
    lora<&LoraConfig::alpha>("alpha", derived(above_to(0, 1e6), "2 rank"), "What adapters add is multiplied by alpha / rank."),
    lora<&LoraConfig::dropout>("dropout", from_to_below(0, 1), "Share of what adapters read that training sets to 0."),
    lora<&LoraConfig::decay>("decay", anything(),
                             "Whether optim.weight_decay applies to the adapters' matrices A and B, as in PEFT. Runs that began before "
                             "this key existed have false."),
    lora<&LoraConfig::rank_stabilized>(
        "rank_stabilized", anything(),
        "Whether what adapters add is multiplied by alpha / sqrt(rank) instead (rsLoRA), so that a higher rank learns as fast."),
    lora<&LoraConfig::targets>("targets", anything(),
                               "Which linear layers have adapters: attention, feed_forward, all, or patterns of their weights' paths, such "
                               "as h.*.attn.c_attn.weight."),
    lora<&LoraConfig::base>("base", anything(),
                            "How the matrices of the model lie in memory while its adapters are trained: f32 as they are, bf16 in half of "
                            "that, q8 in 8 bits with "
                            "a scale for each 32 (a bit more than a quarter), q4 in 4 bits (a seventh, and coarse). Adapters are trained "
                            "for the rounded matrices, "
                            "and merged into those that are not."),

    chat<&ChatConfig::template_name>(
        "template",
        "How a conversation is written as a text: ChatML, Llama 3's form, or in words (User:, Assistant:), each message with an end token. "
        "auto: the model's own template, if it is one that dikkat knows; without one, ChatML or Llama 3's if the tokenizer has their "
        "tokens, else plain."),
    chat<&ChatConfig::system>("system", "The system message of conversations that have none; empty: none."),
    chat<&ChatConfig::jinja>(
        "jinja",
        "The chat template that came with the model that the run started from, as its text in the Jinja language. It is kept so that "
        "exported files have it. Conversations are written in it if dikkat knows it and chat.template is auto; empty: the model had none."),
    chat<&ChatConfig::loss>(
        "loss",
        "What the loss is over: the answers with their end tokens (answers), the last answer of each conversation (last_answer), "
        "or everything (all)."),
    chat<&ChatConfig::eval_loss>(
        "eval_loss",
        "What the losses of evaluations are over, if that is not what the run learns. Runs that differ in loss are comparable if "
        "they have the same eval_loss.",
        derived(anything(), "loss")),
};

std::string bound(double value) {
  const auto whole = static_cast<index>(value);
  return static_cast<double>(whole) == value ? concat(whole) : concat(value);
}

std::string problem_with_choice(const Setting& key, std::string_view text) {
  if (std::ranges::find(key.rule.choices, text) != key.rule.choices.end()) {
    return "";
  }
  std::string_view nearest = nearest_word(key.rule.choices, text);
  for (const ForeignChoice& foreign : foreign_choices()) {
    if (foreign.key == key.path() && foreign.name == text) {
      nearest = foreign.ours;
    }
  }
  return concat(key.path(), " is ", in_quotes(text), ", expected ", key.expected(),
                nearest.empty() ? "" : concat("; did you mean \"", nearest, "\"?"));
}

std::string problem_with_text(const std::string& key, std::string_view text) {
  return is_utf8(text) && text.find('\0') == std::string_view::npos
             ? ""
             : concat(key, " is ", in_quotes(text), ", expected UTF-8 without a null character");
}

std::string problem_with_path(const std::string& key, std::string_view text) {
  if (text.empty()) {
    return concat(key, " holds an empty string, expected a text in each place");
  }
  if (text.find('\0') != std::string_view::npos) {
    return concat(key, " holds ", in_quotes(text), ", expected a path without a null character");
  }
  if (!is_utf8(text)) {
    return concat(key, " holds ", in_quotes(text), ", which is not valid UTF-8; a configuration cannot hold it: rename the file");
  }
  return "";
}

}  // namespace

bool Range::contains(double value) const {
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);  // NaN: never
}

std::string Range::text() const {
  const bool has_low = std::isfinite(low);
  const bool has_high = std::isfinite(high);
  if (has_low && has_high && !low_open && !high_open) {
    return concat("from ", bound(low), " to ", bound(high));
  }
  const std::string from = has_low ? concat(low_open ? "above " : "of at least ", bound(low)) : "";
  const std::string to = has_high ? concat(high_open ? "below " : "of at most ", bound(high)) : "";
  if (has_low && has_high) {
    return concat(from, high_open ? " and below " : " and at most ", bound(high));
  }
  return from + to;
}

std::string Setting::path() const { return concat(section, '.', name); }

std::string Setting::expected() const {
  if (!rule.choices.empty()) {
    std::string text = rule.choices.size() == 1 ? "" : "one of ";
    for (const std::string_view choice : rule.choices) {
      text += concat(choice == rule.choices.front() ? "" : ", ", '"', choice, '"');
    }
    return text;
  }
  const std::string range = rule.range.text();
  return concat(name_of(type), range.empty() ? "" : " ", range);
}

std::string Setting::problem_with(const Value& value) const {
  bool is_accepted = true;
  if (const auto* integer = std::get_if<index>(&value)) {
    is_accepted = rule.range.contains(static_cast<double>(*integer));
  } else if (const auto* number = std::get_if<double>(&value)) {
    is_accepted = std::isfinite(*number) && rule.range.contains(*number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    if (rule.not_empty && text->empty()) {
      return concat(path(), " is empty, expected ", expected());
    }
    return rule.choices.empty() ? problem_with_text(path(), *text) : problem_with_choice(*this, *text);
  } else if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& item : *list) {
      if (std::string problem = problem_with_path(path(), item); !problem.empty()) {
        return problem;
      }
    }
  }
  return is_accepted ? "" : concat(path(), " is ", to_toml(value), ", expected ", expected());
}

std::span<const Key> keys() { return kKeys; }

const Key* find_key(std::string_view section, std::string_view name) {
  for (const Key& key : kKeys) {
    if (key.section == section && key.name == name) {
      return &key;
    }
  }
  return nullptr;
}

bool is_section(std::string_view name) {
  return std::ranges::any_of(kKeys, [&](const Key& key) { return key.section == name; });
}

std::vector<std::string_view> sections() {
  std::vector<std::string_view> names;
  for (const Key& key : kKeys) {
    if (names.empty() || names.back() != key.section) {
      names.push_back(key.section);
    }
  }
  return names;
}

}  // namespace dikkat::schema
