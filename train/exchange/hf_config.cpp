#include "train/exchange/hf_config.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/config/override.h"
#include "train/config/resolve.h"
#include "train/config/schema.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using nlohmann::json;

/// Families that are not supported yet, and what they would need.
constexpr std::pair<std::string_view, std::string_view> kNotYet[] = {
    {"mixtral", "mixtures of experts"},
    {"qwen2_moe", "mixtures of experts"},
    {"qwen3_moe", "mixtures of experts"},
    {"gemma", "norms with a weight of 1 + w"},
    {"gemma2", "norms with a weight of 1 + w, norms after each branch, and softcapped attention"},
    {"gemma3", "norms with a weight of 1 + w, norms after each branch, and sliding-window attention"},
    {"gemma3_text", "norms with a weight of 1 + w, norms after each branch, and sliding-window attention"},
    {"gpt_neox", "partial rotary positions and parallel branches"},
    {"gptj", "partial rotary positions and parallel branches"},
    {"phi", "partial rotary positions and parallel branches"},
    {"phi3", "fused projections and long-context RoPE"},
    {"smollm3", "layers without positions"},
    {"opt", "positions with an offset"},
    {"bloom", "ALiBi positions"},
    {"falcon", "parallel branches"},
    {"olmo2", "norms after each branch"},
    {"mamba", "state-space layers"},
};

[[noreturn]] void refuse_model_type(const std::string& name, const std::string& type) {
  std::string known;
  for (const Family& family : families()) {
    known += concat(known.empty() ? "" : ", ", family.name);
  }
  const auto found = std::find_if(std::begin(kNotYet), std::end(kNotYet), [&](const auto& entry) { return entry.first == type; });
  fail_input(name, ": model_type is ", schema::in_quotes(type), ", expected one of ", known,
             found == std::end(kNotYet) ? "" : concat("; this type would need ", found->second));
}

/// Reads values of a JSON object. Error messages begin with the object's name.
class Reader {
 public:
  Reader(const json& object, const std::string& name) : object_(object), name_(name) {}

  /// Returns the value of a key, or null if it is absent or null.
  const json* find(std::string_view key) const { return find_value(object_, key); }

  /// Sets a key of [model] to a JSON value.
  void set(Config& config, std::string_view ours, std::string_view theirs, const json& value) const {
    const schema::Key* key = schema::find_key("model", ours);
    require(key != nullptr, "config.json: model.", ours, " is not a key");
    schema::Value converted;
    if (key->type == schema::Type::integer && value.is_number_integer() &&
        !(value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<index>::max()))) {
      converted = value.get<index>();
    } else if (key->type == schema::Type::number && value.is_number()) {
      converted = value.get<double>();
    } else if (key->type == schema::Type::boolean && value.is_boolean()) {
      converted = value.get<bool>();
    } else {
      fail_input(name_, ": ", theirs, " is ", short_text(value), ", expected ", key->expected());
    }
    require_input(key->problem_with(converted).empty(), name_, ": ", theirs, " is ", short_text(value), ", expected ", key->expected());
    key->set(config, converted);
  }

  const std::string& name() const { return name_; }

 private:
  const json& object_;
  const std::string& name_;
};

/// The keys of a kind of RoPE scaling: those that it needs, and those that change nothing.
struct RopeForm {
  std::string_view type;
  std::vector<std::pair<std::string_view, std::string_view>> needed;  // a key, and the key of [model] with the same meaning
  std::vector<std::string_view> ignored{};
};
const std::vector<RopeForm>& rope_forms() {
  static const std::vector<RopeForm> forms{
      {"default", {}, {"original_max_position_embeddings"}},
      {"linear", {{"factor", "rope_factor"}}, {"original_max_position_embeddings"}},
      {"llama3",
       {{"factor", "rope_factor"},
        {"low_freq_factor", "rope_low_freq_factor"},
        {"high_freq_factor", "rope_high_freq_factor"},
        {"original_max_position_embeddings", "rope_original_context"}}},
  };
  return forms;
}

/// Reads an object of RoPE: rope_scaling of transformers 4, or rope_parameters of transformers 5, which also has rope_theta. Refuses
/// unknown and missing keys, because ignoring them would compute another model.
void read_rope_object(const Reader& reader, const char* where, const json& object, Config& config) {
  // The type, which has two names.
  require_input(object.is_object(), reader.name(), ": ", where, " is ", short_text(object), ", expected an object");
  const json *type = find_value(object, "rope_type"), *older = find_value(object, "type");
  require_input(type == nullptr || older == nullptr || *type == *older, reader.name(), ": ", where, " has rope_type ",
                type != nullptr ? short_text(*type) : "", " and type ", older != nullptr ? short_text(*older) : "", ", expected only one");
  type = type != nullptr ? type : older;
  require_input(type == nullptr || type->is_string(), reader.name(), ": ", where, " has the type ",
                type != nullptr ? short_text(*type) : "", ", expected a text");
  const std::string kind = type != nullptr ? type->get<std::string>() : "default";
  const auto form = std::ranges::find(rope_forms(), kind, &RopeForm::type);
  require_input(form != rope_forms().end(), reader.name(), ": RoPE is scaled by ", schema::in_quotes(kind), " (", where,
                "), expected default, linear or llama3");

  // The keys: none is unknown, and none that the type needs is missing.
  for (const auto& item : object.items()) {
    const std::string& key = item.key();
    const json& value = item.value();
    const auto is = [&](const auto& name) { return name == key; };
    const bool is_known = is("rope_type") || is("type") || is("rope_theta") || std::ranges::any_of(form->ignored, is) ||
                          std::ranges::any_of(form->needed, [&](const auto& entry) { return entry.first == key; });
    const bool is_one = (is("partial_rotary_factor") || is("factor") || is("attention_factor")) && value.is_number() && value == 1;
    require_input(is_known || is_one || value.is_null(), reader.name(), ": ", where, " of type ", schema::in_quotes(kind), " has the key ",
                  key, " (", short_text(value), "), which dikkat does not know");
  }
  for (const auto& [key, ours] : form->needed) {
    const json* value = find_value(object, key);
    require_input(value != nullptr, reader.name(), ": ", where, " of type ", schema::in_quotes(kind), " has no ", key);
    reader.set(config, ours, key, *value);
  }
  config.model.rope_scaling = kind == "default" ? RopeScaling::none : *value_named<RopeScaling>(kind);
}

/// Reads RoPE's keys: rope_theta and rope_scaling of transformers 4, rope_parameters of transformers 5. A file may have both forms if they
/// agree.
void read_rope(const Reader& reader, Config& config) {
  constexpr double kUsualTheta = 10'000;  // transformers 4's default of rope_theta
  const json *parameters = reader.find("rope_parameters"), *scaling = reader.find("rope_scaling"), *theta = reader.find("rope_theta");
  if (parameters != nullptr) {
    read_rope_object(reader, "rope_parameters", *parameters, config);
    const json* inside = find_value(*parameters, "rope_theta");
    require_input(inside != nullptr || theta != nullptr, reader.name(), ": rope_parameters has no rope_theta");
    require_input(inside == nullptr || theta == nullptr || *inside == *theta, reader.name(), ": rope_theta is ",
                  theta != nullptr ? short_text(*theta) : "", ", and in rope_parameters ", inside != nullptr ? short_text(*inside) : "",
                  ", expected one value");
    theta = inside != nullptr ? inside : theta;
  }
  if (scaling != nullptr) {
    Config other = config;
    read_rope_object(reader, "rope_scaling", *scaling, other);
    require_input(parameters == nullptr || other.model == config.model, reader.name(), ": rope_scaling is ", short_text(*scaling),
                  ", and rope_parameters is ", parameters != nullptr ? short_text(*parameters) : "", ", expected only one");
    const json* inside = find_value(*scaling, "rope_theta");
    require_input(inside == nullptr || theta == nullptr || *inside == *theta, reader.name(), ": rope_theta is ",
                  theta != nullptr ? short_text(*theta) : "", ", and in rope_scaling ", inside != nullptr ? short_text(*inside) : "",
                  ", expected one value");
    theta = theta != nullptr ? theta : inside;
    config = other;
  }
  reader.set(config, "rope_theta", "rope_theta", theta != nullptr ? *theta : json(kUsualTheta));
}

/// Throws InputError for a value that the family does not support.
void check_needed(const Reader& reader, const json& object, const Family& family) {
  const json* uses_window = reader.find("use_sliding_window");
  for (const NeededValue& needed : family.needed) {
    if (needed.key == "sliding_window" && uses_window != nullptr && *uses_window == false) {
      continue;
    }
    const json* value = reader.find(needed.key);
    const json absent = value == nullptr && !needed.absent.empty() && !object.contains(needed.key) ? json::parse(needed.absent) : json();
    const json& found = value != nullptr ? *value : absent;
    require_input(found.is_null() || found == json::parse(needed.value), reader.name(), ": ", needed.key, " is ", short_text(found),
                  value == nullptr ? ", the family's default" : "", ", expected ", needed.value, needed.advice.empty() ? "" : "; ",
                  needed.advice);
  }
}

/// Returns a remark that lists unknown keys, or an empty string. transformers ignores such keys too, unless code beside the model reads
/// them.
std::string note_on_unknown_keys(const json& object, const std::string& name, const Family& family) {
  std::string list;
  for (const auto& item : object.items()) {
    const std::string& key = item.key();
    const json& value = item.value();
    const bool is_known = std::ranges::any_of(family.config, [&](const KeyName& one) { return one.theirs == key; }) ||
                          std::ranges::any_of(family.needed, [&](const NeededValue& one) { return one.key == key; }) ||
                          std::ranges::find(family.ignored, key) != family.ignored.end();
    if (!is_nothing(value) && !is_known) {
      list += concat(list.empty() ? "" : ", ", key, " (", short_text(value), ")");
    }
  }
  return list.empty() ? "" : concat(name, " has unknown keys, which are ignored: ", list);
}

std::vector<Token> end_tokens_of(const Reader& reader, index vocab_size) {
  std::vector<Token> tokens;
  const json* ids = reader.find("eos_token_id");
  if (ids == nullptr) {
    return tokens;
  }
  for (const json& id : ids->is_array() ? *ids : json::array({*ids})) {
    require_input(id.is_number_integer() && id >= 0 && id < vocab_size, reader.name(), ": eos_token_id is ", short_text(*ids),
                  ", expected ids from 0 to ", vocab_size - 1);
    tokens.push_back(id.get<Token>());
  }
  return tokens;
}

}  // namespace

ForeignConfig read_hf_config(std::string_view text, const std::string& name) {
  // The family.
  const json object = parse_json_object(text, name, "a config.json of Hugging Face");
  const Reader reader(object, name);
  const json* type = reader.find("model_type");
  require_input(type != nullptr && type->is_string(), name, " has no model_type, expected a config.json of Hugging Face");
  const Family* family = family_named(type->get<std::string>());
  if (family == nullptr) {
    refuse_model_type(name, type->get<std::string>());
  }

  // The keys of [model]: the family's fixed ones, then those in the file.
  Config config;
  for (const FixedKey& fixed : family->fixed) {
    apply_override(config, concat("model.", fixed.key, '=', fixed.value));
  }
  for (const KeyName& key : family->config) {
    const json* value = reader.find(key.theirs);
    require_input(value != nullptr || key.absent != kRequired, name, " has no ", key.theirs);
    if (value != nullptr) {
      reader.set(config, key.ours, key.theirs, *value);
    } else if (key.absent != kDerived) {
      reader.set(config, key.ours, key.theirs, json::parse(key.absent));
    }
  }

  // Keys that may only have one value, and RoPE.
  check_needed(reader, object, *family);
  if (const json* layers = reader.find("layer_types"); layers != nullptr) {
    require_input(layers->is_array(), name, ": layer_types is ", short_text(*layers), ", expected a list");
    for (const json& layer : *layers) {
      require_input(layer == "full_attention", name, ": layer_types has ", short_text(layer), ", expected only \"full_attention\"");
    }
  }
  if (config.model.positions == Positions::rope) {
    read_rope(reader, config);
  }

  // The model as a whole.
  resolve(config);
  try {
    validate(config);
  } catch (const InputError& error) {
    fail_input(name, " does not describe a valid model: ", error.what());
  }
  ForeignConfig found{family, config.model, end_tokens_of(reader, config.model.vocab_size)};
  if (std::string note = note_on_unknown_keys(object, name, *family); !note.empty()) {
    found.notes.push_back(std::move(note));
  }
  return found;
}

void add_hf_generation(std::string_view text, const std::string& name, ForeignConfig& config) {
  const json object = parse_json_object(text, name, "a generation_config.json of Hugging Face");
  const auto read = [&](const char* key, double most, auto& value) {
    using N = std::remove_reference_t<decltype(value)>;
    const json* const found = find_value(object, key);
    if (found == nullptr) {
      return;
    }
    const bool is_number = std::is_same_v<N, double> ? found->is_number() : found->is_number_integer();
    require_input(is_number && 0 <= found->get<double>() && found->get<double>() <= most, name, ": ", key, " is ", short_text(*found),
                  ", expected a number from 0 to ", most);
    value = found->get<N>();
  };
  read("temperature", 1000, config.sampling.temperature);
  read("top_k", 1e9, config.sampling.top_k);
  read("top_p", 1, config.sampling.top_p);
  for (const Token end : end_tokens_of(Reader(object, name), config.model.vocab_size)) {
    if (std::find(config.end_tokens.begin(), config.end_tokens.end(), end) == config.end_tokens.end()) {
      config.end_tokens.push_back(end);
    }
  }
}

std::string hf_generation_text(const TextTokens& tokens, const AnswerSampling& sampling) {
  json object{
      {"do_sample", sampling.temperature > 0}, {"temperature", sampling.temperature}, {"top_k", sampling.top_k}, {"top_p", sampling.top_p}};
  if (tokens.bos) {
    object["bos_token_id"] = *tokens.bos;
  }
  if (tokens.ends.size() == 1) {
    object["eos_token_id"] = tokens.ends.front();
  } else if (!tokens.ends.empty()) {
    object["eos_token_id"] = tokens.ends;
  }
  return object.dump(2) + '\n';
}

std::string hf_config_text(const Family& family, const TransformerConfig& model, const HfExtras& extras) {
  Config config;
  config.model = with_defaults(model);
  json object{{"architectures", json::array({family.architecture})},
              {"model_type", family.name},
              {"initializer_range", 0.02},
              {"torch_dtype", extras.dtype},
              {"use_cache", true}};

  // The family's keys, with the only value that some of them may have.
  for (const NeededValue& needed : family.needed) {
    if (const json value = json::parse(needed.value); !value.is_null() && !value.is_number()) {
      object[std::string(needed.key)] = value;
    }
  }
  for (const KeyName& key : family.config) {
    const schema::Value value = schema::find_key("model", key.ours)->get(config);
    json& to = object[std::string(key.theirs)];
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, index> || std::is_same_v<T, double> || std::is_same_v<T, bool>) {
            to = v;
          }
        },
        value);
  }
  if (object.contains("n_positions")) {
    object["n_ctx"] = object["n_positions"];  // llama.cpp's converter reads it
  }

  // RoPE, in the form of transformers 4, which transformers 5 reads too.
  if (config.model.positions == Positions::rope) {
    object["rope_theta"] = config.model.rope_theta;
    json scaling;
    if (config.model.rope_scaling != RopeScaling::none) {
      scaling = {{"rope_type", name_of(config.model.rope_scaling)}, {"factor", config.model.rope_factor}};
    }
    if (config.model.rope_scaling == RopeScaling::llama3) {
      scaling["low_freq_factor"] = config.model.rope_low_freq_factor;
      scaling["high_freq_factor"] = config.model.rope_high_freq_factor;
      scaling["original_max_position_embeddings"] = config.model.rope_original_context;
    }
    object["rope_scaling"] = scaling;
  }

  // Tokens around a text.
  const auto put_token = [&](const char* key, std::optional<Token> token) { object[key] = token ? json(*token) : json(); };
  put_token("bos_token_id", extras.bos);
  put_token("eos_token_id", extras.eos);
  return object.dump(2) + '\n';
}

}  // namespace dikkat
