#include "train/exchange/hf_config.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/config/parse.h"
#include "train/config/schema.h"
#include "train/exchange/untrusted_json.h"

namespace dikkat {
namespace {

using nlohmann::json;

/// Families that people have, and what this program would need for them.
constexpr std::pair<std::string_view, std::string_view> kNotYet[] = {
    {"mistral", "sliding-window attention"},
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
             found == std::end(kNotYet) ? "" : concat("; it would need ", found->second));
}

class Reader {
 public:
  Reader(const json& object, const std::string& name) : object_(object), name_(name) {}

  /// The value of a key; null if it is absent or null.
  const json* find(std::string_view key) const { return find_in(object_, key); }
  static const json* find_in(const json& object, std::string_view key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }

  std::string text_of(const json& value) const { return short_text(value); }

  /// Sets a key of [model] to a JSON value.
  void set(Config& config, std::string_view ours, std::string_view theirs, const json& value) const {
    const schema::Key* key = schema::find_key("model", ours);
    require(key != nullptr, "config.json: model.", ours, " is no key");
    schema::Value converted;
    if (key->type == schema::Type::integer && value.is_number_integer() &&
        !(value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<index>::max()))) {
      converted = value.get<index>();
    } else if (key->type == schema::Type::number && value.is_number()) {
      converted = value.get<double>();
    } else if (key->type == schema::Type::boolean && value.is_boolean()) {
      converted = value.get<bool>();
    } else {
      fail_input(name_, ": ", theirs, " is ", text_of(value), ", expected ", key->expected());
    }
    require_input(key->problem_with(converted).empty(), name_, ": ", theirs, " is ", text_of(value), ", expected ", key->expected());
    key->set(config, converted);
  }

  double number(const json& object, std::string_view key, double absent) const {
    const json* value = find_in(object, key);
    if (value == nullptr) {
      return absent;
    }
    require_input(value->is_number(), name_, ": ", key, " is ", text_of(*value), ", expected a number");
    return value->get<double>();
  }

  const std::string& name() const { return name_; }

 private:
  const json& object_;
  const std::string& name_;
};

/// RoPE's keys: rope_theta and rope_scaling of transformers 4, rope_parameters of transformers 5.
void read_rope(const Reader& reader, const json& object, Config& config) {
  const json* parameters = reader.find("rope_parameters");
  const json* scaling = parameters != nullptr ? parameters : reader.find("rope_scaling");
  const json& of_theta = parameters != nullptr && parameters->is_object() && parameters->contains("rope_theta") ? *parameters : object;
  reader.set(config, "rope_theta", "rope_theta", reader.number(of_theta, "rope_theta", 10'000));
  if (scaling == nullptr) {
    return;
  }
  require_input(scaling->is_object(), reader.name(), ": rope_scaling is ", reader.text_of(*scaling), ", expected an object");
  const json* type = Reader::find_in(*scaling, "rope_type");
  type = type != nullptr ? type : Reader::find_in(*scaling, "type");
  const std::string kind = type != nullptr && type->is_string() ? type->get<std::string>() : "default";
  if (kind == "default") {
    return;
  }
  const auto found = value_named<RopeScaling>(kind);
  require_input(found && *found != RopeScaling::none, reader.name(), ": RoPE is scaled by ", schema::in_quotes(kind),
                ", expected default, linear or llama3");
  config.model.rope_scaling = *found;
  reader.set(config, "rope_factor", "factor", reader.number(*scaling, "factor", 1));
  if (*found == RopeScaling::llama3) {
    reader.set(config, "rope_low_freq_factor", "low_freq_factor", reader.number(*scaling, "low_freq_factor", 1));
    reader.set(config, "rope_high_freq_factor", "high_freq_factor", reader.number(*scaling, "high_freq_factor", 4));
    const json* original = Reader::find_in(*scaling, "original_max_position_embeddings");
    reader.set(config, "rope_original_context", "original_max_position_embeddings", original != nullptr ? *original : json(8192));
  }
}

std::vector<Token> end_tokens_of(const Reader& reader, index vocab_size) {
  std::vector<Token> tokens;
  const json* ids = reader.find("eos_token_id");
  if (ids == nullptr) {
    return tokens;
  }
  for (const json& id : ids->is_array() ? *ids : json::array({*ids})) {
    require_input(id.is_number_integer() && id >= 0 && id < vocab_size, reader.name(), ": eos_token_id is ", reader.text_of(*ids),
                  ", expected ids of 0 to ", vocab_size - 1);
    tokens.push_back(id.get<Token>());
  }
  return tokens;
}

}  // namespace

ForeignConfig read_hf_config(std::string_view text, const std::string& name) {
  const json object = parse_untrusted_object(text, name, "a config.json of Hugging Face");
  const Reader reader(object, name);
  const json* type = reader.find("model_type");
  require_input(type != nullptr && type->is_string(), name, " has no model_type, expected a config.json of Hugging Face");
  const Family* family = family_named(type->get<std::string>());
  if (family == nullptr) {
    refuse_model_type(name, type->get<std::string>());
  }
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
  for (const NeededValue& needed : family->needed) {
    const json* value = reader.find(needed.key);
    require_input(value == nullptr || *value == json::parse(needed.value), name, ": ", needed.key, " is ",
                  value != nullptr ? reader.text_of(*value) : "", ", expected ", needed.value);
  }
  if (const json* layers = reader.find("layer_types"); layers != nullptr && layers->is_array()) {
    for (const json& layer : *layers) {
      require_input(layer == "full_attention", name, ": layer_types has ", reader.text_of(layer), ", expected \"full_attention\" alone");
    }
  }
  if (config.model.positions == Positions::rope) {
    read_rope(reader, object, config);
  }
  resolve(config);
  try {
    validate(config);
  } catch (const InputError& error) {
    fail_input(name, " describes no model: ", error.what());
  }
  return {family, config.model, end_tokens_of(reader, config.model.vocab_size)};
}

void add_hf_end_tokens(std::string_view text, const std::string& name, ForeignConfig& config) {
  const json object = parse_untrusted_object(text, name, "a config.json of Hugging Face");
  for (const Token end : end_tokens_of(Reader(object, name), config.model.vocab_size)) {
    if (std::find(config.end_tokens.begin(), config.end_tokens.end(), end) == config.end_tokens.end()) {
      config.end_tokens.push_back(end);
    }
  }
}

std::string hf_generation_text(const TextTokens& tokens) {
  json object = json::object();
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
  const auto put_token = [&](const char* key, std::optional<Token> token) { object[key] = token ? json(*token) : json(); };
  put_token("bos_token_id", extras.bos);
  put_token("eos_token_id", extras.eos);
  return object.dump(2) + '\n';
}

}  // namespace dikkat
