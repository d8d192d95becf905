#include "train/config/schema.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/error.h"
#include "train/choices/tokenizer.h"
#include "train/config/members.h"
#include "train/config/rules.h"

namespace dikkat::schema {
namespace {

/// Makes a row of the table. `Section` is a member of Config, and `Member` a member of that section.
template <auto Section, auto Member>
constexpr Key row(std::string_view section, std::string_view name, Rule rule, std::string_view help) {
  using Field = std::remove_cvref_t<decltype((std::declval<Config&>().*Section).*Member)>;
  if (rule.choices.empty()) {
    rule.choices = choices_of<Field>();
  }
  Key key;
  static_cast<Setting&>(key) = {.section = section, .name = name, .help = help, .type = type_of<Field>(), .rule = rule};
  key.is_set = [](const Config&) { return true; };
  if constexpr (IsDefaulted<Field>::value) {
    using T = typename IsDefaulted<Field>::Value;
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

/// Makes a key of [model]. It is fixed when the run starts, unless its row is `changeable`.
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

template <auto Member>
constexpr Key preference(std::string_view name, Rule rule, std::string_view help) {
  rule.fixed = true;
  return row<&Config::preference, Member>("preference", name, rule, help);
}

template <auto Member>
constexpr Key classify(std::string_view name, Rule rule, std::string_view help) {
  rule.fixed = true;
  return row<&Config::classify, Member>("classify", name, rule, help);
}

template <auto Member>
constexpr Key distill(std::string_view name, Rule rule, std::string_view help) {
  rule.fixed = true;
  return row<&Config::distill, Member>("distill", name, rule, help);
}

template <auto Member>
constexpr Key embedding(std::string_view name, Rule rule, std::string_view help) {
  rule.fixed = true;
  return row<&Config::embedding, Member>("embedding", name, rule, help);
}

/// Marks a key whose default follows from other keys, as `text` describes; resolve() computes it.
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
constexpr double kMostLayers = 1000;      // a checkpoint can hold the tensors of this many layers
constexpr double kMaxStep = 999'999'999;  // a checkpoint's name has nine digits
constexpr double kMaxVocab = 2'147'483'647;

// A new key is a member in config.h (of [model]: in layers/transformer_config.h) and a row here. A new section is a struct in config.h and
// a function for its rows above.
constexpr Key kKeys[] = {
    model<&TransformerConfig::kind>("kind", anything(),
                                    "The kind of model. gpt continues a text. encoder_decoder turns a source text into a target text; it "
                                    "is trained on pairs, one SOURCE<TAB>TARGET on each line."),
    model<&TransformerConfig::n_layer>("n_layer", between(1, kMostLayers),
                                       "Number of blocks (attention and feed-forward); in an encoder-decoder, those of the decoder."),
    model<&TransformerConfig::n_encoder_layer>("n_encoder_layer", derived(between(1, kMostLayers), "n_layer"),
                                               "Number of encoder blocks in an encoder-decoder."),
    model<&TransformerConfig::n_head>("n_head", between(1, 1e4), "Number of attention heads in each block."),
    model<&TransformerConfig::n_kv_head>(
        "n_kv_head", derived(between(1, 1e4), "n_head"),
        "Number of key and value heads. Fewer than n_head give grouped-query attention: each one serves n_head / n_kv_head query heads. "
        "1 gives multi-query attention."),
    model<&TransformerConfig::n_embd>("n_embd", between(1, kMany), "Width of the model: the numbers per token between blocks."),
    model<&TransformerConfig::head_size>("head_size", derived(between(1, kMany), "n_embd / n_head"),
                                         "Width of an attention head; the heads together may be narrower or wider than n_embd."),
    model<&TransformerConfig::n_hidden>("n_hidden",
                                        derived(between(1, 4 * kMany), "4 n_embd; if gated, 8/3 n_embd rounded up to a multiple of 64"),
                                        "Width of the feed-forward network's hidden layer."),
    model<&TransformerConfig::block_size>("block_size", between(1, kMany),
                                          "Context: the largest number of tokens that the model sees at once. In an encoder-decoder it "
                                          "limits the source and the target."),
    model<&TransformerConfig::classes>("classes", between(0, 1e5),
                                       "Number of labels of a classifier, whose output head has a row for each; 0: the model predicts the "
                                       "next token. A run with classify.field sets it."),
    changeable(model<&TransformerConfig::dropout>("dropout", from_to_below(0, 1),
                                                  "Share of activations that are set to 0 at random in training; 0 turns dropout off.")),
    model<&TransformerConfig::bias>("bias", anything(), "Whether linear layers and layer norms have biases; RMSNorm never has one."),
    model<&TransformerConfig::qkv_bias>("qkv_bias", derived(anything(), "bias"),
                                        "Whether the projections to queries, keys and values have biases."),
    model<&TransformerConfig::tie_embeddings>("tie_embeddings", anything(),
                                              "Whether the output head uses the token embedding as its weights."),
    model<&TransformerConfig::share_embeddings>("share_embeddings", anything(),
                                                "Whether the encoder and the decoder share one token embedding."),
    model<&TransformerConfig::scale_embeddings>("scale_embeddings", derived(anything(), "false; true for an encoder-decoder"),
                                                "Whether token embeddings are multiplied by the square root of n_embd."),
    model<&TransformerConfig::embedding_scale>("embedding_scale", above_to(0, 1e6),
                                               "Number by which token embeddings are multiplied, besides scale_embeddings (Granite)."),
    model<&TransformerConfig::positions>(
        "positions", derived(anything(), "learned; sinusoidal for an encoder-decoder"),
        "How the model knows a token's position. learned and sinusoidal add a position embedding to the token embedding; rope rotates "
        "queries and keys in attention; none leaves only the causal mask."),
    model<&TransformerConfig::rope_theta>("rope_theta", between(1, 1e12),
                                          "Base of RoPE's frequencies; a larger base suits a longer context."),
    model<&TransformerConfig::rope_scaling>(
        "rope_scaling", anything(),
        "How RoPE's frequencies are adapted to a longer context. linear divides all of them by rope_factor; llama3 divides only the low "
        "ones; longrope divides each by its number in rope_short_factors, as in Phi-4-mini, and reads at most rope_original_context "
        "tokens."),
    model<&TransformerConfig::rope_factor>("rope_factor", between(1, 1e6),
                                           "Divisor of RoPE's frequencies (rope_scaling linear and llama3). With longrope: how many times "
                                           "as long the context may become, which sets rope_amplitude."),
    model<&TransformerConfig::rope_low_freq_factor>(
        "rope_low_freq_factor", above_to(0, 1e6),
        "Frequencies with fewer turns than this within rope_original_context are divided by rope_factor (llama3)."),
    model<&TransformerConfig::rope_high_freq_factor>(
        "rope_high_freq_factor", above_to(0, 1e6),
        "Frequencies with more turns than this within rope_original_context are kept (llama3); those between the two limits are "
        "interpolated."),
    model<&TransformerConfig::rope_original_context>("rope_original_context", between(1, 1e9),
                                                     "Context length with which the model was trained before its context was extended."),
    model<&TransformerConfig::rope_theta_local>("rope_theta_local", between(0, 1e12),
                                                "Base of RoPE's frequencies in layers with a window, as in Gemma 3; rope_scaling, "
                                                "rope_short_factors and rope_amplitude then do not "
                                                "apply to them. 0: they are rotated as the other layers."),
    model<&TransformerConfig::rope_share>(
        "rope_share", above_to(0, 1),
        "Share of each head that RoPE rotates, the first pairs; below 1 it is partial, as in Phi-4-mini. A pair is a number of the head's "
        "first half and the one at the same place in the second half."),
    model<&TransformerConfig::rope_short_factors>(
        "rope_short_factors", above_to(0, 1e6),
        "Numbers that divide RoPE's frequencies, one for each pair that rotates (rope_share of head_size / 2), besides rope_scaling; "
        "LongRoPE's short factors. Empty: none."),
    model<&TransformerConfig::rope_long_factors>(
        "rope_long_factors", above_to(0, 1e6),
        "LongRoPE's factors for texts that are longer than rope_original_context. dikkat refuses such texts; it keeps the numbers for "
        "exported files, so that other programs can read the long context."),
    model<&TransformerConfig::rope_amplitude>(
        "rope_amplitude", derived(above_to(0, 1e3), "1; with longrope sqrt(1 + ln(rope_factor) / ln(rope_original_context))"),
        "Number by which RoPE's cosines and sines are multiplied, and so the queries' and keys' rotated numbers."),
    model<&TransformerConfig::rope_pattern>(
        "rope_pattern", between(0, kMostLayers),
        "Size of groups of layers whose last one has no positions, as in SmolLM3 (4); 0: RoPE rotates in all layers."),
    model<&TransformerConfig::window>(
        "window", between(0, 1e9),
        "Sliding window: number of tokens that a token sees in attention, the last one being itself. 0: it sees all tokens before it. "
        "Training, prompts and sampling then take time in proportion to the window. Not for an encoder-decoder."),
    model<&TransformerConfig::window_pattern>(
        "window_pattern", between(0, kMostLayers),
        "Size of groups of layers whose last one has no window, as in Gemma 3 (6); 0: all layers have the window."),
    model<&TransformerConfig::norm_position>("norm_position", derived(anything(), "pre; post for an encoder-decoder"),
                                             "Where the norms are: before each branch (pre, as in GPT-2), after each sum (post, as in "
                                             "Vaswani et al. 2017), before and after each "
                                             "branch (sandwich, as in Gemma 3), or only after it (branch, as in OLMo 2)."),
    model<&TransformerConfig::final_norm>("final_norm", derived(anything(), "true unless norm_position is post"),
                                          "Whether a norm follows the last block."),
    model<&TransformerConfig::norm>(
        "norm", anything(),
        "Layer norm, as in GPT-2, or RMSNorm, as in Llama, which only divides by the root mean square and has no bias."),
    model<&TransformerConfig::norm_eps>("norm_eps", above_to(0, 1),
                                        "Number that a norm adds to the variance, or to the mean square, before it takes the root."),
    model<&TransformerConfig::qk_norm>("qk_norm", anything(),
                                       "Whether queries and keys are normalized (RMSNorm) before attention, as in Qwen 3."),
    model<&TransformerConfig::qk_norm_over>("qk_norm_over", anything(),
                                            "What qk_norm normalizes at once: each head, or the row of all heads, as in OLMo 2."),
    model<&TransformerConfig::attention_scale>("attention_scale", derived(above_to(0, 1e6), "1 / sqrt(head_size)"),
                                               "Number by which the products of queries and keys are multiplied before the softmax."),
    model<&TransformerConfig::activation>("activation", derived(anything(), "gelu; relu for an encoder-decoder"),
                                          "Activation of the feed-forward; gelu is GELU in its tanh form, relu2 is ReLU squared."),
    model<&TransformerConfig::gated>(
        "gated", anything(),
        "Whether the feed-forward is gated, as in Llama: down(f(gate(x)) * up(x)). This is SwiGLU with silu, and GeGLU with gelu."),
    model<&TransformerConfig::residual_scale>(
        "residual_scale", above_to(0, 1e6),
        "Number by which each branch is multiplied before it is added to the residual stream (Granite)."),
    model<&TransformerConfig::logit_scale>("logit_scale", above_to(0, 1e6),
                                           "Number by which the logits are multiplied, before logit_softcap (Granite)."),
    model<&TransformerConfig::logit_softcap>("logit_softcap", between(0, 40),
                                             "Soft cap c of the logits, as in Gemma 2: z becomes c tanh(z / c); 0 turns it off."),
    model<&TransformerConfig::embedding_norm>("embedding_norm", anything(),
                                              "Whether a norm follows the embedding and precedes the first block."),
    model<&TransformerConfig::residual_scalars>(
        "residual_scalars", anything(),
        "Whether each block reads a x + b x0 instead of x. x0 is the input of the first block; a and b are learned, and start at 1 and 0."),
    model<&TransformerConfig::value_embeddings>(
        "value_embeddings", anything(),
        "Layers with value embeddings: every other layer and the last (alternate), or all. In such a layer, each token's row of a learned "
        "table is added to the values of self-attention, through a gate for each head. The table is as wide as the layer's keys."),
    model<&TransformerConfig::zero_init_projections>(
        "zero_init_projections", anything(),
        "Whether the output projections of attention and feed-forward start at 0, so that a new block passes its input on unchanged."),
    model<&TransformerConfig::zero_head>("zero_head", anything(), "Whether the output head starts at 0; needs tie_embeddings = false."),
    model<&TransformerConfig::vocab_size>("vocab_size", derived(between(1, kMaxVocab), "the tokenizer's number of tokens"),
                                          "Number of rows of the token embedding, at least the number of the tokenizer's tokens."),

    tokenizer<&TokenizerConfig::kind>(
        "kind", fixed(one_of(kTokenizerNames)),
        "Kind of token: a byte, a character (Unicode code point), a word (text between white space), a symbol (text between single spaces, "
        "of which none is unknown), or a piece of text that byte pair encoding has learned, as in GPT-2 (bpe). A tokenizer from path keeps "
        "its own kind."),
    tokenizer<&TokenizerConfig::vocab_size>("vocab_size", fixed(between(257, 1 << 24)),
                                            "Number of tokens that bpe learns, including the 256 bytes and <|endoftext|>."),
    tokenizer<&TokenizerConfig::splitter>(
        "splitter", fixed(anything()),
        "Rule by which bpe splits a text into pieces, named after a model that uses it. Qwen 3 uses qwen2 too; this rule first converts "
        "the text to Unicode's normal form C."),
    tokenizer<&TokenizerConfig::min_count>(
        "min_count", fixed(at_least(1)), "Smallest number of times that a word must occur in the corpus (word); rarer words become <unk>."),
    tokenizer<&TokenizerConfig::path>(
        "path", fixed(anything()),
        "Existing tokenizer to use instead of learning one from the corpus: a tokenizer.json, GPT-2's vocab.bpe next to its "
        "encoder.json, nanoGPT's meta.pkl, or a folder with one of these."),

    data<&DataConfig::corpus>(
        "corpus", anything(),
        "Texts to train on: files, folders, patterns with * and ?, or - for standard input. A .jsonl file has one "
        "document on each line, a JSON array one in each object, and a table one in each row; .gz and .zst files are "
        "decompressed; .bin files hold tokens of nanoGPT or llm.c. A relative path that does not exist in the current "
        "directory is looked up next to the configuration file."),
    data<&DataConfig::validation>("validation", anything(),
                                  "Texts to validate on, given as in corpus. All of corpus is then used for training."),
    data<&DataConfig::val_fraction>("val_fraction", fixed(from_to_below(0, 1)),
                                    "Share of the text that is used for validation; 0 trains on all of it. It has no effect if validation "
                                    "is given."),
    data<&DataConfig::split>(
        "split", fixed(anything()),
        "Where the validation part of several files is: spread over all of them, as the end of each large file and every so many small "
        "ones (spread), or at the end of the last ones (end). Of one file, it is always the end."),
    data<&DataConfig::text_field>("text_field", fixed(not_empty()), "Field that holds the text in each object of a file of JSON."),
    data<&DataConfig::columns>(
        "columns", fixed(anything()),
        "Columns of tables (.csv, .tsv), or fields of JSON objects, as [\"prompt=question\", \"completion=answer\"]; only these are read. "
        "Without it, columns with usual names are found."),
    data<&DataConfig::pack>(
        "pack", fixed(anything()),
        "How documents are cut into windows: as one stream (stream); so that no window crosses a document boundary (document); or so that "
        "short documents also share a window, without seeing each other (best_fit). Conversations are always packed by best fit."),
    data<&DataConfig::order>(
        "order", fixed(anything()),
        "Order of documents in the stream from which windows are cut: that of the corpus in every epoch (fixed), or another one in each "
        "epoch (shuffled), so that a document has other neighbors each time. Windows are drawn in random order in any case."),
    data<&DataConfig::invalid_utf8>("invalid_utf8", fixed(anything()),
                                    "How to treat bytes that are not UTF-8: refuse the text, or replace each by U+FFFD."),
    data<&DataConfig::window>(
        "window", fixed(derived(between(1, kMany), "model.block_size")),
        "Length of the windows in training and evaluation, in tokens; at most model.block_size. Shorter windows take less memory, and the "
        "model keeps its context of model.block_size tokens."),
    data<&DataConfig::cache>(
        "cache", not_empty(),
        "Folder that keeps the tokens of texts for later runs. auto: ~/.cache/dikkat, for texts of 8 MB or more; off: tokens are kept only "
        "in memory."),

    optim<&OptimConfig::kind>("kind", fixed(anything()),
                              "Optimizer. muon makes the updates of hidden matrices orthogonal, and uses AdamW for all other parameters; "
                              "it needs fewer steps, but each takes longer if batches are small. sgd is gradient descent with momentum."),
    optim<&OptimConfig::learning_rate>("learning_rate", above_to(0, 1), "Peak learning rate, reached after the warm-up."),
    optim<&OptimConfig::min_lr>("min_lr", derived(between(0, 1), "learning_rate * min_lr_share"),
                                "Learning rate at the end of a linear, cosine or wsd schedule."),
    optim<&OptimConfig::min_lr_share>(
        "min_lr_share", derived(between(0, 1), "0.1, or min_lr / learning_rate"),
        "Final learning rate as a share of learning_rate. Set it instead of min_lr, so that the final rate follows learning_rate."),
    optim<&OptimConfig::schedule>(
        "schedule", anything(),
        "How the learning rate falls after the warm-up: not at all (constant), to min_lr (linear, cosine), as 1 / sqrt(step) "
        "(inverse_sqrt), or to min_lr over the last decay_share of the steps (wsd: warm-up, stable, decay)."),
    optim<&OptimConfig::warmup_steps>("warmup_steps", between(0, kMaxStep),
                                      "Steps in which the learning rate rises linearly to its peak; 0 means no warm-up."),
    optim<&OptimConfig::decay_steps>(
        "decay_steps", derived(between(1, kMaxStep), "max_steps when the run starts"),
        "Step at which the schedule reaches min_lr; a longer run stays at min_lr. With wsd it follows max_steps: a run that is extended "
        "returns to the stable rate and decays at the new end."),
    optim<&OptimConfig::decay_share>("decay_share", above_to(0, 1), "Share of decay_steps in which wsd lowers the rate to min_lr."),
    optim<&OptimConfig::decay_form>("decay_form", anything(),
                                    "Shape of the decay of wsd: a line (linear), or 1 - sqrt, fast at first (sqrt)."),
    optim<&OptimConfig::weight_decay>("weight_decay", between(0, 10),
                                      "Weight decay, multiplied by the learning rate. It applies to tensors with two or more dimensions."),
    optim<&OptimConfig::weight_decay_schedule>(
        "weight_decay_schedule", anything(),
        "Factor of weight_decay: 1 (constant), the learning rate as a share of its peak (with_rate), or a factor that falls from 1 to 0 "
        "at step decay_steps (linear, cosine)."),
    optim<&OptimConfig::cautious_decay>("cautious_decay", anything(),
                                        "Whether weight decay applies only to weights that the update moves towards 0."),
    optim<&OptimConfig::beta1>("beta1", from_to_below(0, 1), "Decay rate of AdamW's running mean of gradients."),
    optim<&OptimConfig::beta2>("beta2", from_to_below(0, 1), "Decay rate of AdamW's running mean of squared gradients."),
    optim<&OptimConfig::eps>("eps", between(1e-30, 1), "Number added to the denominator of AdamW's update, to avoid division by 0."),
    optim<&OptimConfig::muon_momentum>("muon_momentum", from_to_below(0, 1),
                                       "Momentum of Muon: the decay rate of its running sum of gradients."),
    optim<&OptimConfig::muon_momentum_start>("muon_momentum_start", derived(from_to_below(0, 1), "muon_momentum"),
                                             "Momentum of Muon at the first step; it rises linearly to muon_momentum."),
    optim<&OptimConfig::muon_momentum_warmup_steps>("muon_momentum_warmup_steps", between(0, kMaxStep),
                                                    "Steps in which Muon's momentum goes from muon_momentum_start to muon_momentum."),
    optim<&OptimConfig::muon_momentum_end>(
        "muon_momentum_end", derived(from_to_below(0, 1), "muon_momentum"),
        "Momentum of Muon at step decay_steps. It moves there from muon_momentum while the learning rate falls to min_lr."),
    optim<&OptimConfig::muon_coefficients>(
        "muon_coefficients", anything(),
        "Polynomials with which Muon makes an update orthogonal. jordan: Keller Jordan's polynomial in every step, which leaves singular "
        "values between 0.7 and 1.2; polar_express: a different one for each step; turbo: the rows are balanced first, which saves a "
        "step."),
    optim<&OptimConfig::muon_steps>("muon_steps", derived(between(1, 10), "5; 4 for turbo"),
                                    "Newton-Schulz steps in each update of Muon; at most 5 for polar_express and turbo."),
    optim<&OptimConfig::muon_precision>(
        "muon_precision", anything(),
        "Precision of the products in Muon's Newton-Schulz steps. bf16 rounds their operands; sums and the matrices between them stay in "
        "f32. auto: that of train.precision; the run keeps the choice made when it started. Runs that are older than this key have f32."),
    optim<&OptimConfig::muon_normalize>(
        "muon_normalize", fixed(anything()),
        "Whether each row of Muon's orthogonal update, or each column of a wide matrix, is divided by the root of its running mean square "
        "(NorMuon)."),
    optim<&OptimConfig::muon_beta2>("muon_beta2", from_to_below(0, 1), "Decay rate of the running mean square of muon_normalize."),
    optim<&OptimConfig::sgd_momentum>("sgd_momentum", from_to_below(0, 1),
                                      "Momentum of SGD: the decay rate of its running sum of gradients; 0 is plain gradient descent."),
    optim<&OptimConfig::sgd_nesterov>("sgd_nesterov", anything(), "Whether SGD uses Nesterov momentum."),
    optim<&OptimConfig::new_rows_lr_scale>(
        "new_rows_lr_scale", above_to(0, 1000),
        "Factor of the learning rate for the rows of new tokens (`dikkat tokenizer extend`) in the embedding and the head."),
    optim<&OptimConfig::old_rows_lr_scale>(
        "old_rows_lr_scale", between(0, 1000),
        "Factor of the learning rate for the other rows of these matrices; 0 freezes them, as PEFT's trainable_token_indices does."),
    optim<&OptimConfig::grad_clip>("grad_clip", at_least(0),
                                   "Largest global norm of the gradients; larger ones are scaled down to it. 0 turns clipping off."),
    optim<&OptimConfig::ema_decay>(
        "ema_decay", fixed(from_to_below(0, 1)),
        "Decay of a moving average of the weights (EMA), for example 0.999; 0 turns it off. Evaluations, samples, exports and fine-tuning "
        "use the average, and training continues from the raw weights. At update t the decay is min(ema_decay, (t - 1) / (t + 9)), so "
        "that the average follows the weights closely at the beginning."),

    train<&TrainConfig::batch_size>("batch_size", between(1, kMany),
                                    "Size of a micro-batch: the windows, or pairs, in one forward and backward pass."),
    train<&TrainConfig::gradient_accumulation_steps>("gradient_accumulation_steps", between(1, kMany),
                                                     "Micro-batches in each step; their gradients are summed before the update."),
    train<&TrainConfig::accumulation_schedule>(
        "accumulation_schedule", anything(),
        "Changes of the number of micro-batches during the run, as STEP:COUNT, for example \"400:2\", \"800:4\". A count applies once STEP "
        "steps are done, so the log shows it first at step STEP + 1. Until the first change, gradient_accumulation_steps applies."),
    train<&TrainConfig::lanes>("lanes", derived(between(1, kMostLanes), "1, or the number of processes when the run starts"),
                               "Number of equal parts into which a step's micro-batches are divided. Gradients are summed within each "
                               "part, and the parts are added in a fixed order, so a run has the same bits on any number of processes "
                               "that divides the lanes. It must be a power of two that divides gradient_accumulation_steps."),
    train<&TrainConfig::rank_timeout>("rank_timeout", between(1, 1e6),
                                      "Seconds to wait for an answer from another process (mpirun) before the run ends."),
    train<&TrainConfig::max_steps>("max_steps", between(1, kMaxStep), "Number of steps in the whole run; a step is one weight update."),
    train<&TrainConfig::eval_interval>("eval_interval", between(1, kMaxStep), "Steps from one evaluation to the next."),
    train<&TrainConfig::eval_tokens>(
        "eval_tokens", between(0, kMaxStep),
        "Validation tokens per evaluation, and as many training tokens, chosen anew each time; 0 uses the whole validation part. The "
        "number does not grow with the corpus, so an evaluation takes the same time for any corpus. `dikkat eval` always uses everything."),
    train<&TrainConfig::patience>("patience", between(0, kMaxStep),
                                  "Number of evaluations in a row without a lower validation loss after which the run ends (early "
                                  "stopping); 0 turns it off. The best "
                                  "checkpoint is always kept. Losses are noisy with few eval_tokens: raise eval_tokens or patience."),
    train<&TrainConfig::checkpoint_interval>("checkpoint_interval", between(1, kMaxStep), "Steps from one checkpoint to the next."),
    train<&TrainConfig::keep_last>("keep_last", between(1, kMany), "Number of newest checkpoints to keep. The best one is kept as well."),
    train<&TrainConfig::log_interval>("log_interval", between(1, kMaxStep), "Steps from one progress line to the next."),
    train<&TrainConfig::sample_prompts>("sample_prompts", anything(),
                                        "Prompts that the model continues at each evaluation, such as \"Once\", \"The \". metrics.jsonl, "
                                        "`dikkat report` and `dikkat watch` show the samples."),
    train<&TrainConfig::sample_tokens>("sample_tokens", between(1, kMany), "Number of tokens to generate for each of sample_prompts."),
    train<&TrainConfig::label_smoothing>("label_smoothing", from_to_below(0, 1),
                                         "Share of the target's probability that training spreads over all tokens; 0 turns it off."),
    train<&TrainConfig::recompute>(
        "recompute", anything(),
        "Activation checkpointing: what the backward pass recomputes to save memory; results have the same bits. none: nothing; cheap: the "
        "feed-forward's activations, at little cost; block: whole blocks, at the cost of one more forward pass."),
    train<&TrainConfig::precision>(
        "precision", anything(),
        "Precision of the inputs of matrix products. bf16 rounds activations and weights; sums, stored weights and optimizer state stay in "
        "f32. It takes less memory, and is faster on some processors. auto chooses bf16 if the processor multiplies it at twice the rate "
        "of f32; the run keeps the choice made when it started."),
    train<&TrainConfig::emulate_bf16>(
        "emulate_bf16", anything(),
        "Whether bf16 may be used on a processor without instructions for it. Products are computed in the same way, but no faster than "
        "f32."),
    train<&TrainConfig::quantize>(
        "quantize", fixed(anything()),
        "Rounding that the weights are trained for. q4: in the last steps (quantize_share), passes use the matrices as an export to q4_0 "
        "rounds them, and updates change the exact ones. The export then can lose less. Every evaluation of the run measures the rounded "
        "matrices; `dikkat eval` measures the exact ones, or with --weights q4 the rounded ones."),
    train<&TrainConfig::quantize_share>(
        "quantize_share", above_to(0, 1),
        "Share of optim.decay_steps, at their end, in which quantize rounds. A step takes a little longer there."),
    train<&TrainConfig::async_save>(
        "async_save", anything(),
        "Whether checkpoints are written while training continues, from a copy of the weights and the optimizer state in memory."),
    train<&TrainConfig::on_failed_save>(
        "on_failed_save", anything(),
        "What to do if a checkpoint or a line of metrics cannot be written, for example on a full disk: end the run (stop), or warn and "
        "continue (continue). If the last checkpoint of a run cannot be written, the run always fails."),
    train<&TrainConfig::on_nonfinite>(
        "on_nonfinite", anything(),
        "What to do if a loss or gradient is not finite, or a loss is a spike (spike_z): end the run, or skip the update. The batch is "
        "written to RUN_DIR/bad-step-N.json in both cases."),
    train<&TrainConfig::max_skipped>("max_skipped", between(0, kMaxStep), "Number of updates that a run may skip before it ends."),
    train<&TrainConfig::spike_z>("spike_z", at_least(0),
                                 "Limit for spikes: a loss is a spike if it is this many standard deviations above the mean of about the "
                                 "last hundred steps. 0 turns "
                                 "the check off; 6 is a good start."),
    train<&TrainConfig::seed>("seed", fixed(at_least(0)), "Seed of all random numbers: initial weights, order of the data, dropout."),
    train<&TrainConfig::init_from>("init_from", fixed(anything()),
                                   "Checkpoint to fine-tune (--init-from): a file, or a run directory, which stands for its checkpoint "
                                   "with the lowest validation loss. The run takes over its weights, its tokenizer and every key of "
                                   "[model] that is not set."),

    lora<&LoraConfig::rank>(
        "rank", between(0, 1e4),
        "Rank of the adapters (LoRA) that are trained while the model's own weights are frozen; 0 trains the model itself. A linear layer "
        "x W^T becomes x W^T + scale (x A^T) B^T, and rank is the number of rows of A. Adapters need train.init_from."),
    lora<&LoraConfig::alpha>("alpha", derived(above_to(0, 1e6), "2 rank"),
                             "Strength of the adapters: their output is scaled by alpha / rank."),
    lora<&LoraConfig::dropout>("dropout", from_to_below(0, 1), "Share of the adapters' inputs that are set to 0 at random in training."),
    lora<&LoraConfig::decay>("decay", anything(),
                             "Whether optim.weight_decay applies to the adapters' matrices A and B, as in PEFT. Runs that are older than "
                             "this key have false."),
    lora<&LoraConfig::rank_stabilized>(
        "rank_stabilized", anything(),
        "Whether the adapters' output is scaled by alpha / sqrt(rank) instead of alpha / rank (rsLoRA), so that a higher rank learns as "
        "fast."),
    lora<&LoraConfig::targets>(
        "targets", anything(),
        "Linear layers that have adapters: attention, feed_forward, all, or patterns for the paths of their weights, "
        "such as h.*.attn.c_attn.weight."),
    lora<&LoraConfig::modules_to_save>(
        "modules_to_save", anything(),
        "What is trained in full beside the adapters, and stored with them: embedding (of tokens, and of learned positions), head (with "
        "model.tie_embeddings the same matrix as the embedding), or patterns for paths of parameters, such as h.*.ln_1.weight."),
    lora<&LoraConfig::base>("base", anything(),
                            "Format of the model's frozen matrices in memory while adapters are trained. f32: unchanged; bf16: half the "
                            "memory; q8: 8 bits with a scale for every 32 numbers, a bit more than a quarter; q4: 4 bits, about a seventh, "
                            "and coarse. Adapters are trained with the rounded matrices, and merged into the original ones."),

    chat<&ChatConfig::template_name>(
        "template",
        "Template in which a conversation is written as text: chatml, llama3, plain (User:, Assistant:), or a file in the Jinja language. "
        "auto: the model's own template; if it has none, ChatML or Llama 3's if the tokenizer has their tokens, otherwise plain. A run "
        "keeps the text of a file or of the model's own template in chat.jinja, and has own here."),
    chat<&ChatConfig::system>("system", "System message for conversations that have none; empty adds none."),
    chat<&ChatConfig::jinja>(
        "jinja",
        "Chat template of the model that the run started from, as text in the Jinja language; empty if the model had none. Exported files "
        "contain it. With chat.template auto or own, conversations are written in it."),
    chat<&ChatConfig::date>(
        "date",
        "Date that a template prints (strftime_now), such as 2026-03-09 or 2026-03-09 14:05. If the template asks for it, a new run "
        "stores the day on which it begins, so that it has the same bits on another day."),
    chat<&ChatConfig::variables>("variables",
                                 "Other variables of the template, as a JSON object: {\"enable_thinking\": false}. The model's page names "
                                 "them."),
    chat<&ChatConfig::content_parts>(
        "content_parts",
        "Reading of a message whose content is a list of text parts. by_template: a template that handles lists gets the list; others get "
        "one text, with a line break between parts. glued: one text without a separator, as in runs that are older than this key."),
    changeable(chat<&ChatConfig::temperature>("temperature",
                                              "Temperature of answers in chat, if none is given. An imported model has that of its "
                                              "generation_config.json. Exported files contain it.",
                                              between(0, 1000))),
    changeable(
        chat<&ChatConfig::top_k>("top_k", "Answers in chat are drawn among so many likeliest tokens; 0: among all.", between(0, 1e9))),
    changeable(chat<&ChatConfig::top_p>(
        "top_p", "Answers in chat are drawn among the likeliest tokens whose probabilities add up to this; 1: among all.", between(0, 1))),
    changeable(chat<&ChatConfig::min_p>(
        "min_p", "Answers in chat are drawn among tokens at least so many times as likely as the likeliest; 0: among all.", between(0, 1))),
    changeable(chat<&ChatConfig::repetition_penalty>(
        "repetition_penalty", "Above 1: answers in chat have tokens that the conversation already has less often.", between(0, 1000))),
    chat<&ChatConfig::loss>(
        "loss",
        "Tokens that training scores: the answers with their end tokens (answers), the last answer of each conversation (last_answer), or "
        "everything (all)."),
    chat<&ChatConfig::eval_loss>(
        "eval_loss",
        "Tokens that evaluations score, if not those of loss. Runs with different values of loss are comparable if they have the same "
        "eval_loss.",
        derived(anything(), "loss")),

    preference<&PreferenceConfig::method>(
        "method", anything(),
        "Loss of preference tuning. dpo, ipo, orpo and simpo read pairs of a chosen and a rejected answer; kto reads answers with a label, "
        "or pairs. none: no preferences. auto: dpo for pairs, kto for answers with a label, and none for everything else; a run keeps the "
        "choice made when it started."),
    preference<&PreferenceConfig::beta>(
        "beta", derived(above_to(0, 1e3), "0.1; 2 for simpo"),
        "Strength of the comparison. For dpo and kto, the factor of log-probability ratios in rewards: a lower value lets the model move "
        "further from the reference. For ipo, the target of the difference is 1 / (2 beta). For orpo, the weight of the odds ratio. For "
        "simpo, the factor of mean log-probabilities."),
    preference<&PreferenceConfig::gamma>("gamma", derived(between(0, 1e3), "beta / 2"),
                                         "Margin by which the chosen answer's reward should exceed the other's (simpo)."),
    preference<&PreferenceConfig::label_smoothing>(
        "label_smoothing", between(0, 0.5),
        "Share of pairs that are assumed to be labeled the wrong way round (dpo; conservative DPO); 0 trusts all labels."),
    preference<&PreferenceConfig::good_weight>(
        "good_weight", between(0, 1e3),
        "Weight of the loss of good answers (kto). With fewer good than bad answers, raise it, so that "
        "weight times number is about equal for both, or up to a third more for good ones."),
    preference<&PreferenceConfig::bad_weight>("bad_weight", between(0, 1e3), "Weight of the loss of bad answers (kto)."),
    preference<&PreferenceConfig::sft_share>(
        "sft_share", from_to_below(0, 1),
        "Share of the ordinary loss of chosen or good answers, per token, in the loss: (1 - share) preference loss + share ordinary loss. "
        "It "
        "keeps the chosen answers' probabilities from falling. orpo includes the ordinary loss anyway."),

    classify<&ClassifyConfig::field>(
        "field", anything(),
        "Column or key with the label of a text, or a list of several; empty: the run does not learn labels. A table's column of texts is "
        "that of data.text_field or data.columns."),
    classify<&ClassifyConfig::labels>(
        "labels", anything(),
        "Names of the labels, in the order of the head's rows. A new run finds them in the text, and sorts them by their bytes."),
    classify<&ClassifyConfig::several>("several", derived(anything(), "true if a text has a list of labels"),
                                       "Whether a text may have several labels, or none, each with a probability of its own."),
    classify<&ClassifyConfig::weights>(
        "weights", anything(),
        "Weights of labels in the loss. none: all texts count the same. balanced: each label counts as much as any other, so that rare "
        "ones are learned; probabilities of rare labels are then too high."),

    changeable(distill<&DistillConfig::file>("file", anything(),
                                             "Folder of a teacher's distributions for the training text, as dikkat teach writes it; empty: "
                                             "no distillation. It must belong to the "
                                             "same tokens. A resumed run can name another path of the same file.")),
    distill<&DistillConfig::share>(
        "share", above_to(0, 1),
        "Share of the loss against the teacher: (1 - share) ordinary loss + share temperature^2 cross-entropy "
        "against the teacher's likeliest tokens and one bin for all others. Evaluations measure the ordinary loss."),
    distill<&DistillConfig::temperature>(
        "temperature", above_to(0, 10),
        "Temperature of the teacher's and the student's distribution; above 1, unlikely tokens count more. The file must have it (dikkat "
        "teach --temperature)."),

    embedding<&EmbeddingConfig::batch>(
        "batch", between(0, 1 << 20),
        "Pairs of texts of a step, which are compared with each other; 0: the run does not train vectors. It must be a multiple of "
        "train.batch_size * train.gradient_accumulation_steps, the rows of a step: more rows take less memory. More pairs make better "
        "vectors."),
    embedding<&EmbeddingConfig::pooling>(
        "pooling", anything(), "How a text's features become its vector: their mean over all positions, or those of the last position."),
    embedding<&EmbeddingConfig::temperature>(
        "temperature", above_to(0, 10),
        "Cosines are divided by it in the loss. A lower one makes the wrong texts that are most similar count more."),
};

std::string bound(double value) {
  const auto whole = static_cast<index>(value);
  return static_cast<double>(whole) == value ? concat(whole) : concat(value);
}

std::string problem_with_text(const std::string& key, std::string_view text) {
  return is_utf8(text) && text.find('\0') == std::string_view::npos
             ? ""
             : concat(key, " is ", in_quotes(text), ", expected UTF-8 without a null character");
}

std::string problem_with_path(const std::string& key, std::string_view text) {
  if (text.empty()) {
    return concat(key, " holds an empty string, expected a text or path in each place");
  }
  if (text.find('\0') != std::string_view::npos) {
    return concat(key, " holds ", in_quotes(text), ", expected a path without a null character");
  }
  if (!is_utf8(text)) {
    return concat(key, " holds ", in_quotes(text), ", expected valid UTF-8, as in all of a configuration; rename the file");
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

std::string Setting::mismatch(std::string_view given) const { return concat(path(), " is ", given, ", expected ", expected()); }

std::string Setting::problem_with(const Value& value) const {
  bool is_accepted = true;
  if (const auto* integer = std::get_if<index>(&value)) {
    is_accepted = rule.range.contains(static_cast<double>(*integer));
  } else if (const auto* number = std::get_if<double>(&value)) {
    is_accepted = std::isfinite(*number) && rule.range.contains(*number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    if (rule.not_empty && text->empty()) {
      return mismatch("empty");
    }
    if (rule.choices.empty()) {
      return problem_with_text(path(), *text);
    }
    return std::ranges::find(rule.choices, *text) != rule.choices.end() ? "" : mismatch(in_quotes(*text));
  } else if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& item : *list) {
      if (std::string problem = problem_with_path(path(), item); !problem.empty()) {
        return problem;
      }
    }
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    is_accepted = std::ranges::all_of(*numbers, [this](double one) { return std::isfinite(one) && rule.range.contains(one); });
  }
  return is_accepted ? "" : mismatch(to_toml(value));
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
