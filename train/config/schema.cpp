#include "train/config/schema.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "autograd/base/error.h"
#include "train/config/advice.h"
#include "train/config/foreign_names.h"

namespace dikkat::schema {
namespace {

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>) {
    return Type::boolean;
  } else if constexpr (std::is_same_v<T, index> || std::is_same_v<T, std::optional<index>>) {
    return Type::integer;
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>>) {
    return Type::number;
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::optional<std::string>>) {
    return Type::text;
  } else {
    static_assert(std::is_same_v<T, std::vector<std::string>>, "a key of a new type: extend Value");
    return Type::list;
  }
}

template <class T>
Value read(const T& member) {
  return member;
}
template <class T>
Value read(const std::optional<T>& member) {
  return member ? Value(*member) : Value();
}
template <class T>
void write(T& member, const Value& value) {
  member = std::get<T>(value);
}
template <class T>
void write(std::optional<T>& member, const Value& value) {
  member = std::get<T>(value);
}

/// A row of the table. `Section` is the member of Config, `Member` the one of the section.
template <auto Section, auto Member>
constexpr Key row(std::string_view section, std::string_view name, Rule rule, std::string_view help) {
  using Field = std::remove_cvref_t<decltype((std::declval<Config&>().*Section).*Member)>;
  return {.section = section,
          .name = name,
          .help = help,
          .type = type_of<Field>(),
          .rule = rule,
          .get = [](const Config& config) { return read((config.*Section).*Member); },
          .set = [](Config& config, const Value& value) { write((config.*Section).*Member, value); }};
}

template <auto Member>
constexpr Key model(std::string_view name, Rule rule, std::string_view help) {
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

constexpr Rule anything() { return {}; }
constexpr Rule at_least(double low) { return {.range = {.low = low}}; }
constexpr Rule between(double low, double high) { return {.range = {.low = low, .high = high}}; }
constexpr Rule from_to_below(double low, double high) { return {.range = {.low = low, .high = high, .high_open = true}}; }
constexpr Rule above_to(double low, double high) { return {.range = {.low = low, .high = high, .low_open = true}}; }
constexpr Rule one_of(std::span<const std::string_view> choices) { return {.choices = choices}; }
/// The default is `from` of the other keys, in words `text`.
constexpr Rule derived(Rule rule, std::string_view text, Value (*from)(const Config&)) {
  rule.derived = {.text = text, .from = from};
  return rule;
}
constexpr Rule fixed(Rule rule) {
  rule.fixed = true;
  return rule;
}

constexpr double kMany = 1e6;             // keeps the product of three counts within an index
constexpr double kMostLayers = 1000;      // of a GPT, whose tensors a checkpoint still holds
constexpr double kMaxStep = 999'999'999;  // a checkpoint's name has nine digits
constexpr double kMaxVocab = 2'147'483'647;

constexpr std::string_view kModels[] = {"gpt", "encoder_decoder"};
constexpr std::string_view kPositions[] = {"learned", "sinusoidal"};
constexpr std::string_view kNorms[] = {"pre", "post"};
constexpr std::string_view kActivations[] = {"gelu", "relu"};
constexpr std::string_view kTokenizers[] = {"byte", "char", "word", "bpe"};
constexpr std::string_view kPacks[] = {"stream", "document"};
constexpr std::string_view kInvalids[] = {"refuse", "replace"};
constexpr std::string_view kOnNonfinite[] = {"stop", "skip"};
constexpr std::string_view kOnFailedSave[] = {"stop", "continue"};
constexpr std::string_view kRecomputes[] = {"none", "cheap", "block"};
constexpr std::string_view kSchedules[] = {"constant", "linear", "cosine", "inverse_sqrt"};

bool is_gpt(const Config& config) { return config.model.kind == "gpt"; }
Value layers(const Config& config) { return config.model.n_layer; }
Value four_widths(const Config& config) { return 4 * config.model.n_embd; }
Value positions(const Config& config) { return std::string(is_gpt(config) ? "learned" : "sinusoidal"); }
Value norm(const Config& config) { return std::string(is_gpt(config) ? "pre" : "post"); }
Value is_pre_norm(const Config& config) { return config.model.norm.value_or(is_gpt(config) ? "pre" : "post") == "pre"; }
Value activation(const Config& config) { return std::string(is_gpt(config) ? "gelu" : "relu"); }
Value is_encoder_decoder(const Config& config) { return !is_gpt(config); }
Value bias(const Config& config) { return config.model.bias; }
Value tenth(const Config& config) { return config.optim.learning_rate / 10; }
Value whole_run(const Config& config) { return config.train.max_steps; }

// A new key is a member in config.h and a row here; a new section is a struct there, and above a function for its rows.
constexpr Key kKeys[] = {
    model<&ModelConfig::kind>("kind", fixed(one_of(kModels)),
                              "What is built: a GPT, which goes on with a text; or an encoder-decoder, which answers a source with a "
                              "target and learns from pairs, a line SOURCE<TAB>TARGET each."),
    model<&ModelConfig::n_layer>("n_layer", fixed(between(1, kMostLayers)),
                                 "Blocks of attention and feed-forward, one after another; of an encoder-decoder those of the decoder."),
    model<&ModelConfig::n_encoder_layer>("n_encoder_layer", fixed(derived(between(1, kMostLayers), "as n_layer", layers)),
                                         "Blocks of an encoder-decoder's encoder."),
    model<&ModelConfig::n_head>("n_head", fixed(between(1, 1e4)), "Attention heads of a block; they share the width evenly."),
    model<&ModelConfig::n_embd>("n_embd", fixed(between(1, kMany)), "Width: the numbers that stand for a token between blocks."),
    model<&ModelConfig::n_hidden>("n_hidden", fixed(derived(between(1, 4 * kMany), "4 n_embd", four_widths)),
                                  "Width between the two layers of a feed-forward."),
    model<&ModelConfig::block_size>("block_size", fixed(between(1, kMany)),
                                    "Tokens that the model sees at once; of an encoder-decoder the longest source, and target."),
    model<&ModelConfig::dropout>("dropout", from_to_below(0, 1), "Share of activations that training sets to 0; 0 is off."),
    model<&ModelConfig::bias>("bias", fixed(anything()), "Whether linear layers and layer norms have biases."),
    model<&ModelConfig::qkv_bias>("qkv_bias", fixed(derived(anything(), "as bias", bias)), "Whether query, key and value have biases."),
    model<&ModelConfig::tie_embeddings>("tie_embeddings", fixed(anything()), "Whether the output head is the token embedding."),
    model<&ModelConfig::share_embeddings>("share_embeddings", fixed(anything()), "Whether encoder and decoder have one token embedding."),
    model<&ModelConfig::scale_embeddings>("scale_embeddings", fixed(derived(anything(), "for an encoder-decoder", is_encoder_decoder)),
                                          "Whether token embeddings are multiplied by the square root of n_embd."),
    model<&ModelConfig::positions>("positions", fixed(derived(one_of(kPositions), "learned, of an encoder-decoder sinusoidal", positions)),
                                   "How a token's place is told: by an embedding, or by sines and cosines."),
    model<&ModelConfig::norm>("norm", fixed(derived(one_of(kNorms), "pre, of an encoder-decoder post", norm)),
                              "Layer norm before each branch (GPT-2), or after the sum (Vaswani et al. 2017)."),
    model<&ModelConfig::final_norm>("final_norm", fixed(derived(anything(), "with norm = \"pre\"", is_pre_norm)),
                                    "Whether there is a layer norm after the last block."),
    model<&ModelConfig::activation>("activation", fixed(derived(one_of(kActivations), "gelu, of an encoder-decoder relu", activation)),
                                    "Of the feed-forward."),
    model<&ModelConfig::vocab_size>("vocab_size", fixed(between(0, kMaxVocab)), "At least the tokenizer's; 0 is the tokenizer's."),

    tokenizer<&TokenizerConfig::kind>("kind", fixed(one_of(kTokenizers)),
                                      "A token is a byte, a character (Unicode code point), a word (what stands between white space), or a "
                                      "piece of a word that byte pair encoding has learnt (GPT-2's way)."),
    tokenizer<&TokenizerConfig::vocab_size>("vocab_size", fixed(between(257, 1 << 24)),
                                            "Of bpe: tokens to learn, the 256 bytes and <|endoftext|> among them."),
    tokenizer<&TokenizerConfig::min_count>("min_count", fixed(at_least(1)), "Of word: a word that is rarer in the corpus is <unk>."),
    tokenizer<&TokenizerConfig::path>(
        "path", fixed(anything()),
        "A tokenizer to take instead of making one from the corpus: a tokenizer.json, GPT-2's vocab.bpe beside "
        "its encoder.json, nanoGPT's characters as JSON, or a folder with one of these."),

    data<&DataConfig::corpus>("corpus", anything(),
                              "Text files, folders of text, patterns with * and ?, and - for standard input; .jsonl has a document a "
                              "line; .gz and .zst are unpacked; .bin are tokens of nanoGPT or llm.c. A relative path is looked up in the "
                              "current directory and, where it does not exist there, beside the configuration file."),
    data<&DataConfig::validation>("validation", anything(), "The same, to validate on; all of corpus is then trained on."),
    data<&DataConfig::val_fraction>("val_fraction", fixed(from_to_below(0, 1)),
                                    "Share of the text, its end, kept for validation; 0 trains on all of it. Of no effect where "
                                    "validation is given."),
    data<&DataConfig::text_field>("text_field", fixed(anything()), "The field of a line of JSONL that has the text."),
    data<&DataConfig::pack>("pack", fixed(one_of(kPacks)),
                            "Whether windows are cut from the stream of all documents, or none crosses from one document into the next."),
    data<&DataConfig::invalid_utf8>("invalid_utf8", fixed(one_of(kInvalids)),
                                    "What becomes of bytes that are not UTF-8: the text is refused, or each is U+FFFD."),
    data<&DataConfig::cache>(
        "cache", anything(),
        "A folder to keep the tokens of texts in, so that the next run finds them; auto is ~/.cache/dikkat for texts of "
        "8 MB and more, off is memory."),

    optim<&OptimConfig::learning_rate>("learning_rate", above_to(0, 1), "Highest learning rate, reached after the warm-up."),
    optim<&OptimConfig::min_lr>("min_lr", derived(between(0, 1), "learning_rate / 10", tenth), "Where a linear or cosine schedule ends."),
    optim<&OptimConfig::schedule>(
        "schedule", one_of(kSchedules),
        "How the learning rate falls after the warm-up: not at all, to min_lr in a line or in half a cosine, or as 1 / sqrt(step)."),
    optim<&OptimConfig::warmup_steps>("warmup_steps", between(0, kMaxStep), "Steps in which the rate rises to learning_rate; 0 is none."),
    optim<&OptimConfig::decay_steps>("decay_steps", derived(between(1, kMaxStep), "max_steps when the run starts", whole_run),
                                     "Step at which the schedule reaches min_lr; a longer run stays there."),
    optim<&OptimConfig::weight_decay>("weight_decay", between(0, 10), "AdamW's decay of tensors with two or more dimensions."),
    optim<&OptimConfig::beta1>("beta1", from_to_below(0, 1), "AdamW's memory of gradients."),
    optim<&OptimConfig::beta2>("beta2", from_to_below(0, 1), "AdamW's memory of squared gradients."),
    optim<&OptimConfig::eps>("eps", between(1e-30, 1), "AdamW's term against division by 0."),
    optim<&OptimConfig::grad_clip>("grad_clip", at_least(0), "Longest gradient, as a global norm; 0 is off."),

    train<&TrainConfig::batch_size>("batch_size", between(1, kMany), "Windows of block_size tokens, or pairs, in one pass."),
    train<&TrainConfig::gradient_accumulation_steps>("gradient_accumulation_steps", between(1, kMany),
                                                     "Passes, forward and backward, whose gradients make up one step."),
    train<&TrainConfig::max_steps>("max_steps", between(1, kMaxStep), "Steps of the whole run; a step is one update of the weights."),
    train<&TrainConfig::eval_interval>("eval_interval", between(1, kMaxStep), "Steps from one evaluation to the next."),
    train<&TrainConfig::eval_batches>("eval_batches", between(0, kMaxStep), "Batches of an evaluation; 0 is the whole validation part."),
    train<&TrainConfig::checkpoint_interval>("checkpoint_interval", between(1, kMaxStep), "Steps from one checkpoint to the next."),
    train<&TrainConfig::keep_last>("keep_last", between(1, kMany), "Newest checkpoints that are kept; the best is kept too."),
    train<&TrainConfig::log_interval>("log_interval", between(1, kMaxStep), "Steps from one progress line to the next."),
    train<&TrainConfig::label_smoothing>("label_smoothing", from_to_below(0, 1),
                                         "Share of the target's probability that training spreads over all tokens; 0 is off."),
    train<&TrainConfig::recompute>("recompute", one_of(kRecomputes),
                                   "What backward makes again for want of memory, to the same bits: nothing; the feed-forward's "
                                   "activations, which cost little; whole blocks, which cost a forward pass."),
    train<&TrainConfig::async_save>(
        "async_save", anything(), "Whether checkpoints are written while training goes on, from a copy of weights and moments in memory."),
    train<&TrainConfig::on_failed_save>("on_failed_save", one_of(kOnFailedSave),
                                        "When a checkpoint or a line of metrics cannot be written (a full disk): the run ends, or says so "
                                        "and goes on to the next one. The last "
                                        "checkpoint of a run must be written either way."),
    train<&TrainConfig::on_nonfinite>(
        "on_nonfinite", one_of(kOnNonfinite),
        "When a loss or gradient is not finite, or a loss is a spike: the run ends, or the update is left out. "
        "The batch is written to RUN_DIR/bad-step-N.json either way."),
    train<&TrainConfig::max_skipped>("max_skipped", between(0, kMaxStep), "Updates that a run may leave out before it ends."),
    train<&TrainConfig::spike_z>(
        "spike_z", at_least(0),
        "A loss is a spike when it is this many standard deviations above those of the last hundred steps or so; 0 is "
        "off, 6 a start."),
    train<&TrainConfig::seed>("seed", fixed(at_least(0)), "What every random number of the run follows from."),
};

std::string bound(double value) {
  const auto whole = static_cast<index>(value);
  return static_cast<double>(whole) == value ? concat(whole) : concat(value);
}

std::string problem_with_choice(const Key& key, std::string_view text) {
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
    return concat(key, " holds an empty string, expected paths");
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

std::string Key::path() const { return concat(section, '.', name); }

std::string Key::expected() const {
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

std::string Key::problem_with(const Value& value) const {
  bool is_accepted = true;
  if (const auto* integer = std::get_if<index>(&value)) {
    is_accepted = rule.range.contains(static_cast<double>(*integer));
  } else if (const auto* number = std::get_if<double>(&value)) {
    is_accepted = std::isfinite(*number) && rule.range.contains(*number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
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
