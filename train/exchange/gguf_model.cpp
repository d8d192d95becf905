#include "train/exchange/gguf_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "autograd/base/error.h"
#include "layers/positions.h"
#include "train/config/override.h"
#include "train/config/resolve.h"
#include "train/config/schema.h"
#include "train/exchange/formats/convert.h"
#include "train/exchange/gguf_sampling.h"
#include "train/exchange/gguf_tokenizer.h"

namespace dikkat {
namespace {

std::string string_value(const WeightFile& file, std::string_view key) {
  const MetaValue* value = file.value(key);
  const auto text = value != nullptr ? value->string() : std::nullopt;
  require_input(text.has_value(), file.name(), ": ", key, " is ", value != nullptr ? value->text() : "missing", ", expected a text");
  return std::string(*text);
}

/// Sets the key name.ours of [model] to the file's value of `theirs`, or to its default (name.absent).
void set(Config& config, const WeightFile& file, const KeyName& name, const std::string& theirs) {
  const schema::Key* key = schema::find_key("model", name.ours);
  require(key != nullptr, "gguf: model.", name.ours, " is not a key");
  const MetaValue* value = file.value(theirs);
  if (value == nullptr) {
    require_input(name.absent != kRequired, file.name(), " has no ", theirs);
    if (name.absent != kDerived) {
      apply_override(config, concat("model.", name.ours, '=', name.absent));
    }
    return;
  }
  schema::Value converted;
  if (key->type == schema::Type::integer && value->integer()) {
    converted = *value->integer();
  } else if (key->type == schema::Type::number && value->number()) {
    // An f32 is read as its shortest decimal form, such as 1e-5.
    converted =
        ours_of(name.form, value->type() == MetaType::f32 ? std::stod(concat(static_cast<float>(*value->number()))) : *value->number());
  }
  require_input(converted.index() != 0 && key->problem_with(converted).empty(), file.name(), ": ", theirs, " is ", value->text(),
                ", expected ", key->expected());
  key->set(config, converted);
}

/// The keys of [model] that determine RoPE's divisors. GGUF has only the divisors, so our files also store these keys.
constexpr std::string_view kRopeKeys[] = {"rope_factor", "rope_low_freq_factor", "rope_high_freq_factor", "rope_original_context"};
constexpr std::string_view kOwnPrefix = "dikkat.";

/// Returns whether the model's RoPE frequencies have these divisors.
bool has_divisors(const TransformerConfig& model, const std::vector<float>& divisors) {
  const std::vector<double> own = rope_divisors(model);
  return std::equal(divisors.begin(), divisors.end(), own.begin(), own.end(),
                    [](float theirs, double ours) { return std::abs(static_cast<double>(theirs) - ours) <= 1e-5 * ours; });
}

/// Reads Llama 3.1's divisors (f_d / scaled f_d), which are a tensor, and finds the keys that lead to them. These are the file's own if
/// dikkat wrote it, or else the usual ones.
void read_rope_divisors(const WeightFile& file, Config& config) {
  const WeightTensor* tensor = file.find("rope_freqs.weight");
  if (tensor == nullptr) {
    return;
  }
  TransformerConfig& model = config.model;
  const index half = model.head_size / 2;
  require_input(tensor->elements == half, file.name(), ": rope_freqs.weight is ", shape_text(tensor->shape), ", expected [", half, ']');
  std::vector<float> divisors(static_cast<std::size_t>(half));
  read_f32(*tensor, 0, half, divisors.data());
  model.rope_scaling = RopeScaling::llama3;
  if (file.value(concat(kOwnPrefix, kRopeKeys[0])) != nullptr) {
    for (const std::string_view key : kRopeKeys) {
      set(config, file, {"", key, kRequired}, concat(kOwnPrefix, key));
    }
    if (has_divisors(model, divisors)) {
      return;
    }
  }
  model.rope_low_freq_factor = 1;
  model.rope_high_freq_factor = 4;
  model.rope_factor = static_cast<double>(*std::max_element(divisors.begin(), divisors.end()));
  for (const index original : {8192, 4096, 2048, 16384, 32768}) {
    model.rope_original_context = original;
    if (model.rope_factor >= 1 && has_divisors(model, divisors)) {
      return;
    }
  }
  fail_input(file.name(),
             ": rope_freqs.weight does not scale RoPE as Llama 3.1 does, with the factors 1 and 4; dikkat knows no other scaling");
}

/// Returns the divisors in a tensor, one for each pair that RoPE rotates.
std::vector<double> factors_in(const WeightFile& file, const WeightTensor& tensor, index pairs) {
  require_input(tensor.elements == pairs && tensor.type == WeightType::f32, file.name(), ": ", tensor.name, " is ",
                shape_text(tensor.shape), " of ", tensor.type == WeightType::other ? tensor.type_name : std::string(name_of(tensor.type)),
                ", expected [", pairs, "] of f32");
  std::vector<float> factors(static_cast<std::size_t>(pairs));
  read_f32(tensor, 0, pairs, factors.data());
  return {factors.begin(), factors.end()};
}

/// Reads the share of a head that RoPE rotates, which GGUF has as a number of rows.
void read_rope_share(const WeightFile& file, const std::string& key, TransformerConfig& model) {
  const MetaValue* value = file.value(key);
  if (value == nullptr) {
    return;
  }
  const index size = with_defaults(model).head_size;
  const index rows = value->integer().value_or(0);
  require_input(rows >= 2 && rows <= size && rows % 2 == 0, file.name(), ": ", key, " is ", value->text(),
                ", expected an even number from 2 to ", size, ", the size of a head");
  model.rope_share = static_cast<double>(rows) / static_cast<double>(size);
  if (rotated_size(with_defaults(model)) != rows) {  // the product of both was rounded down
    model.rope_share = std::nextafter(model.rope_share, 1.0);
  }
}

/// Reads LongRoPE: two lists of divisors, both contexts, and the amplitude, which is 1 in llama.cpp if the file does not name it. The model
/// then has the original context.
void read_long_rope(const WeightFile& file, const std::string& prefix, Config& config) {
  TransformerConfig& model = config.model;
  const std::string amplitude = concat(prefix, "rope.scaling.attn_factor");
  const MetaValue* factor = file.value(amplitude);
  const WeightTensor *shorts = file.find(kShortFactors), *longs = file.find(kLongFactors);
  if (shorts == nullptr && longs == nullptr) {
    require_input(factor == nullptr || factor->number() == 1.0, file.name(), ": ", amplitude, " is ",
                  factor != nullptr ? factor->text() : "", ", expected 1.0 without ", kShortFactors);
    return;
  }
  require_input(shorts != nullptr && longs != nullptr, file.name(), " has no ", shorts == nullptr ? kShortFactors : kLongFactors,
                ", expected both lists of LongRoPE or none");
  require_input(model.rope_scaling == RopeScaling::none, file.name(), ": ", prefix,
                "rope.scaling.factor scales RoPE, expected none with LongRoPE's lists");
  const index pairs = rotated_size(with_defaults(model)) / 2;
  model.rope_short_factors = factors_in(file, *shorts, pairs);
  model.rope_long_factors = factors_in(file, *longs, pairs);
  model.rope_scaling = RopeScaling::longrope;
  set(config, file, {"", "rope_original_context", kRequired}, concat(prefix, "rope.scaling.original_context_length"));
  model.rope_factor = std::max(static_cast<double>(model.block_size) / static_cast<double>(model.rope_original_context), 1.0);
  model.block_size = std::min(model.block_size, model.rope_original_context);
  model.rope_amplitude = Defaulted<double>();
  const auto usual = static_cast<float>(*with_defaults(model).rope_amplitude);
  if (factor == nullptr || !factor->number() || static_cast<float>(*factor->number()) != usual) {
    set(config, file, {"", "rope_amplitude", "1.0"}, amplitude);
  }
}

/// Reads a window that llama.cpp does not compute in this architecture. One that no text fills changes nothing.
void read_unused_window(const WeightFile& file, const std::string& key, Config& config) {
  if (const MetaValue* window = file.value(key); window != nullptr && window->integer().value_or(-1) != 0) {
    set(config, file, {"", "window", kRequired}, key);
    config.model.window = config.model.window >= config.model.block_size ? 0 : config.model.window;
  }
}

/// Returns whether a GGUF value equals a boolean or number.
bool equals(const MetaValue& value, const schema::Value& expected) {
  if (const auto* flag = std::get_if<bool>(&expected)) {
    return value.boolean() == *flag;
  }
  const auto* whole = std::get_if<index>(&expected);
  const double number = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(expected);
  return value.number() == number;
}

/// Returns the value that a NeededValue requires: a boolean or number, or the value of a key of [model].
schema::Value expected_value(const NeededValue& needed, const Config& config) {
  if (needed.value.starts_with('=')) {
    const schema::Key* key = schema::find_key("model", needed.value.substr(1));
    require(key != nullptr, "gguf: model.", needed.value.substr(1), " is not a key");
    return key->get(config);
  }
  if (needed.value == "true" || needed.value == "false") {
    return needed.value == "true";
  }
  return std::stod(std::string(needed.value));
}

/// Throws InputError for a value that this program does not support, and for an unknown key of the architecture, which may change what the
/// model computes. `config` must have all defaults.
void check_architecture_keys(const WeightFile& file, const Family& family, const Config& config) {
  const std::string prefix = concat(gguf_name_of(family), '.');
  for (const NeededValue& needed : family.gguf_needed) {
    const MetaValue* value = file.value(concat(prefix, needed.key));
    const schema::Value expected = expected_value(needed, config);
    require_input(value == nullptr || equals(*value, expected), file.name(), ": ", prefix, needed.key, " is ",
                  value != nullptr ? value->text() : "", ", expected ", schema::to_toml(expected), needed.advice.empty() ? "" : ": ",
                  needed.advice);
  }
  for (const MetaEntry& entry : file.metadata()) {
    if (!entry.key.starts_with(prefix)) {
      continue;
    }
    const std::string_view key = std::string_view(entry.key).substr(prefix.size());
    const bool is_known = std::ranges::any_of(family.gguf, [&](const KeyName& one) { return one.theirs == key; }) ||
                          std::ranges::any_of(family.gguf_needed, [&](const NeededValue& one) { return one.key == key; }) ||
                          std::ranges::find(family.gguf_ignored, key) != family.gguf_ignored.end();
    require_input(is_known || entry.value.says_nothing(), file.name(), " has the key ", entry.key, " (", entry.value.text(),
                  "), which dikkat does not know and which may change what the model computes");
  }
}

/// Throws InputError for a model that differs from the values in llama.cpp's code for the architecture.
void check_implied(const Family& family, const Config& config) {
  require_input(!family.gguf.empty(), "GGUF has no architecture for this model: Hugging Face's is ", family.name,
                ", expected another format (--format hf)");
  for (const FixedKey& implied : family.gguf_implied) {
    const schema::Key* key = schema::find_key("model", implied.key);
    require(key != nullptr, "gguf: model.", implied.key, " is not a key");
    Config usual;
    usual.model = config.model;
    if (implied.value == kDerived) {
      usual.model.attention_scale = implied.key == "attention_scale" ? Defaulted<double>() : usual.model.attention_scale;
      usual.model.head_size = implied.key == "head_size" ? Defaulted<index>() : usual.model.head_size;
      usual.model = with_defaults(usual.model);
    } else {
      apply_override(usual, concat("model.", implied.key, '=', implied.value));
    }
    require_input(key->get(config) == key->get(usual), "GGUF has no key for model.", implied.key, " in the architecture ",
                  gguf_name_of(family), ": it is ", schema::to_toml(key->get(config)), ", expected ", schema::to_toml(key->get(usual)),
                  ", which llama.cpp computes");
  }
  require_input(!is_coded(family, "window_pattern") || config.model.window > 0, "GGUF's architecture ", gguf_name_of(family),
                " has windows: model.window is 0, expected 1 or more");
}

/// Reads RoPE's scaling. As in llama.cpp, a factor without a type is linear, and rope.scale_linear is an older name of the factor.
void read_rope_scaling(const WeightFile& file, const Family& family, Config& config) {
  const std::string prefix = concat(gguf_name_of(family), ".rope.");
  const std::string type = prefix + "scaling.type";
  const std::string kind = file.value(type) != nullptr ? string_value(file, type) : "linear";
  require_input(kind == "none" || kind == "linear", file.name(), ": ", type, " is ", in_quotes(kind), ", expected none or linear");
  const std::string newer = prefix + "scaling.factor", older = prefix + "scale_linear";
  const std::string& factor = file.value(newer) != nullptr || file.value(older) == nullptr ? newer : older;
  const MetaValue* value = file.value(factor);
  if (kind == "none" || (value == nullptr && file.value(type) == nullptr) || (value != nullptr && value->number() == 0.0)) {
    return;
  }
  config.model.rope_scaling = RopeScaling::linear;
  set(config, file, {"", "rope_factor", kRequired}, factor);
}

/// Throws InputError unless the file holds a complete model.
void check_whole_model(const WeightFile& file) {
  const MetaValue* parts = file.value("split.count");
  require_input(parts == nullptr || parts->integer().value_or(0) <= 1, file.name(), " is one of ", parts != nullptr ? parts->text() : "",
                " parts of a model (split.count): join them first with llama-gguf-split --merge FIRST-PART OUT.gguf");
  const MetaValue* type = file.value("general.type");
  require_input(type == nullptr || type->string() == "model", file.name(), ": general.type is ", type != nullptr ? type->text() : "",
                ", expected \"model\"");
}

/// Returns general.file_type, as llama.cpp numbers it.
std::uint32_t file_type_of(WeightType type) {
  switch (type) {
    case WeightType::f16: return 1;
    case WeightType::q4_0: return 2;
    case WeightType::q8_0: return 7;
    case WeightType::bf16: return 32;
    default: return 0;
  }
}

/// Returns the name with another spelling of "phi-3" unless the tokenizer is Phi-3's. In every model with such a name, llama.cpp looks for
/// Phi-3's special tokens, and fails to load the file without them (llama-vocab.cpp, "phi3").
std::string loadable_name(std::string name, const Tokenizer& tokenizer) {
  const std::vector<SpecialToken> special = tokenizer.special_tokens();
  const bool has_all = std::ranges::all_of(std::array{"<s>", "</s>", "<unk>", "<|endoftext|>"}, [&](std::string_view wanted) {
    return std::ranges::find(special, wanted, &SpecialToken::name) != special.end();
  });
  if (has_all) {
    return name;
  }
  const auto lower = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text;
  };
  for (const std::string_view found : {"phi-3", "phi3"}) {
    for (std::size_t at = lower(name).find(found); at != std::string::npos; at = lower(name).find(found)) {
      name.replace(at + 3, found.size() - 3, "_3");
    }
  }
  return name;
}

}  // namespace

std::vector<MetaEntry> gguf_metadata(const Family& family, const TransformerConfig& model, const Tokenizer& tokenizer,
                                     const ExportOptions& options, std::vector<std::string>& notes) {
  Config config;
  config.model = with_defaults(model);
  config.model.block_size = exported_context(config.model);

  // Add the file's values, and the keys that the family's table names.
  check_implied(family, config);
  std::vector<MetaEntry> values{{"general.architecture", MetaValue(gguf_name_of(family))},
                                {"general.name", MetaValue(loadable_name(options.name, tokenizer))},
                                {"general.file_type", MetaValue(file_type_of(options.type))},
                                {"general.quantization_version", MetaValue(std::uint32_t{2})}};
  const auto add = [&](std::string_view key, const MetaValue& value) { values.push_back({concat(gguf_name_of(family), '.', key), value}); };
  const auto value_of = [&](std::string_view ours, Form form = Form::same) {
    const schema::Value value = schema::find_key("model", ours)->get(config);
    const auto* integer = std::get_if<index>(&value);
    return integer != nullptr ? MetaValue(static_cast<std::uint32_t>(*integer))
                              : MetaValue(static_cast<float>(theirs_of(form, std::get<double>(value))));
  };
  for (const KeyName& key : family.gguf) {
    add(key.theirs, value_of(key.ours, key.form));
  }

  // Add RoPE's keys.
  if (model.positions == Positions::rope) {
    add("rope.dimension_count", MetaValue(static_cast<std::uint32_t>(rotated_size(model))));
    add("attention.value_length", MetaValue(static_cast<std::uint32_t>(*model.head_size)));
  }
  if (model.rope_scaling == RopeScaling::linear) {
    add("rope.scaling.type", MetaValue("linear"));
    add("rope.scaling.factor", MetaValue(static_cast<float>(model.rope_factor)));
  }
  if (model.positions == Positions::rope && model.rope_scaling == RopeScaling::longrope) {
    add("rope.scaling.original_context_length", value_of("rope_original_context"));
    add("rope.scaling.attn_factor", value_of("rope_amplitude"));
  }
  if (model.positions == Positions::rope && model.rope_scaling == RopeScaling::llama3) {
    for (const std::string_view key : kRopeKeys) {
      values.push_back({concat(kOwnPrefix, key), value_of(key)});
    }
  }

  notes = add_gguf_tokenizer(tokenizer, model.vocab_size, values);
  return values;
}

void add_gguf_rope_divisors(const TransformerConfig& model, std::vector<NewTensor>& tensors) {
  const auto add = [&](std::string_view name, const std::vector<double>& divisors) {
    tensors.push_back({.name = std::string(name),
                       .type = WeightType::f32,
                       .shape = {std::ssize(divisors)},
                       .values = [divisors](index first, index count, float* out) {
                         for (index i = 0; i < count; ++i) {
                           out[i] = static_cast<float>(divisors[static_cast<std::size_t>(first + i)]);
                         }
                       }});
  };
  if (model.positions != Positions::rope) {
    return;
  }
  if (model.rope_scaling == RopeScaling::llama3) {
    add("rope_freqs.weight", rope_divisors(model));
  } else if (model.rope_scaling == RopeScaling::longrope) {
    add(kLongFactors, long_factors(model));
    add(kShortFactors, short_factors(model));
  }
}

ForeignConfig read_gguf_config(const WeightFile& file) {
  // Find the family.
  check_whole_model(file);
  const std::string architecture = string_value(file, "general.architecture");
  const Family* family = family_of_gguf(architecture);
  if (family == nullptr) {
    std::string known;
    for (const Family& f : families()) {
      known += f.gguf.empty() ? "" : concat(known.empty() ? "" : ", ", gguf_name_of(f));
    }
    fail_input(file.name(), ": general.architecture is ", in_quotes(architecture), ", expected one of ", known);
  }

  // Read the keys of [model]: the family's fixed ones, those in the file, and those that only llama.cpp's code has.
  Config config;
  for (const FixedKey& fixed : family->fixed) {
    apply_override(config, concat("model.", fixed.key, '=', fixed.value));
  }
  for (const KeyName& key : family->gguf) {
    set(config, file, key, concat(architecture, '.', key.theirs));
  }
  for (const FixedKey& implied : family->gguf_implied) {
    if (implied.value != kDerived) {
      apply_override(config, concat("model.", implied.key, '=', implied.value));
    }
  }
  // Take the size of the vocabulary and the kind of output head from the tensors.
  const WeightTensor* table = file.find("token_embd.weight");
  require_input(table != nullptr && table->shape.size() == 2, file.name(), " has no matrix token_embd.weight, so it does not hold a model");
  const std::string rows = concat(architecture, ".vocab_size");
  require_input(file.value(rows) == nullptr || config.model.vocab_size == table->shape[0], file.name(), ": ", rows, " is ",
                file.value(rows) != nullptr ? file.value(rows)->text() : "", ", but token_embd.weight has ", table->shape[0],
                " rows, expected as many");
  config.model.vocab_size = table->shape[0];
  config.model.tie_embeddings = file.find("output.weight") == nullptr;

  // Read RoPE's keys, and check the model with all defaults.
  if (config.model.positions == Positions::rope) {
    read_rope_scaling(file, *family, config);
  }
  const std::string prefix = concat(architecture, '.');
  if (is_coded(*family, "rope_short_factors")) {
    read_unused_window(file, prefix + "attention.sliding_window", config);
    read_rope_share(file, prefix + "rope.dimension_count", config.model);
    read_long_rope(file, prefix, config);
  }
  for (const std::string_view name : {kShortFactors, kLongFactors}) {
    require_input(is_coded(*family, "rope_short_factors") || file.find(name) == nullptr, file.name(), " has ", name,
                  ", LongRoPE's factors, which dikkat does not know in the architecture ", architecture);
  }
  resolve(config);
  try {
    validate(config);
  } catch (const InputError& error) {
    fail_input(file.name(), " does not describe a valid model: ", error.what());
  }
  check_architecture_keys(file, *family, config);
  if (config.model.positions == Positions::rope) {
    read_rope_divisors(file, config);
  }

  // Collect the tokens that end texts and turns.
  ForeignConfig found{family, config.model, {}};
  if (std::string note = note_on_long_context(found.model, file.name()); !note.empty()) {
    found.notes.push_back(std::move(note));
  }
  for (const char* const key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    if (const MetaValue* end = file.value(key); end != nullptr && end->integer()) {
      require_input(*end->integer() >= 0 && *end->integer() < config.model.vocab_size, file.name(), ": ", key, " is ", end->text(),
                    ", expected a token of the model");
      found.end_tokens.push_back(static_cast<Token>(*end->integer()));
    }
  }
  read_gguf_sampling(file, found);
  return found;
}

}  // namespace dikkat
