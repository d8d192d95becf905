#include "train/exchange/hf_config.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/config/override.h"
#include "train/config/resolve.h"
#include "train/config/schema.h"
#include "train/exchange/hf_generation.h"
#include "train/exchange/hf_reader.h"
#include "train/exchange/hf_rope.h"
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
    {"gemma3", "images; Gemma 3 that reads only texts (gemma3_text: 270M and 1B) is supported"},
    {"graniteswitch", "adapters inside of the model"},
    {"gpt_neox", "partial rotary positions and parallel branches"},
    {"gptj", "partial rotary positions and parallel branches"},
    {"phi", "partial rotary positions and parallel branches"},
    {"opt", "positions with an offset"},
    {"bloom", "ALiBi positions"},
    {"falcon", "parallel branches"},
    {"olmo3", "YaRN's scaling of RoPE"},
    {"mamba", "state-space layers"},
};

[[noreturn]] void refuse_model_type(const std::string& name, const std::string& type) {
  const auto found = std::find_if(std::begin(kNotYet), std::end(kNotYet), [&](const auto& entry) { return entry.first == type; });
  fail_input(name, ": model_type is ", schema::in_quotes(type), ", expected one of ", family_names(),
             found == std::end(kNotYet) ? "" : concat("; this type would need ", found->second));
}

/// Returns a whole number of at least `least`.
index whole_number(const HfReader& reader, std::string_view key, const json& value, index least) {
  require_input(value.is_number_integer() && value >= least && value <= INT32_MAX, reader.name(), ": ", key, " is ", short_text(value),
                ", expected an integer of at least ", least);
  return value.get<index>();
}

/// Returns the size of the groups of layers whose last one differs from the others; 0 if there are none. Throws InputError for any other
/// order of layers.
index group_of(const HfReader& reader, std::string_view key, const std::vector<bool>& differs) {
  const auto first = std::ranges::find(differs, true);
  const index size = first == differs.end() ? 0 : first - differs.begin() + 1;
  for (index layer = 0; layer < std::ssize(differs); ++layer) {
    const bool is_last = size > 0 && (layer + 1) % size == 0;
    require_input(differs[static_cast<std::size_t>(layer)] == is_last, reader.name(), ": ", key, " has an order of layers in which layer ",
                  layer, " is an exception, expected groups of equal size whose last layer differs; dikkat knows no other order");
  }
  return size;
}

/// Reads layer_types: whether each layer sees the whole text. Throws InputError for a layer that is neither of the two kinds.
std::vector<bool> layers_without_window(const HfReader& reader, const json& layers, index count) {
  require_input(layers.is_array() && std::ssize(layers) == count, reader.name(), ": layer_types is ", short_text(layers),
                ", expected a list of ", count, " layers");
  std::vector<bool> whole;
  for (const json& layer : layers) {
    require_input(layer == "full_attention" || layer == "sliding_attention", reader.name(), ": layer_types has ", short_text(layer),
                  ", expected only \"full_attention\" and \"sliding_attention\"");
    whole.push_back(layer == "full_attention");
  }
  return whole;
}

/// Reads sliding windows, and which layers have them.
void read_window(const HfReader& reader, const json& object, const Family& family, Config& config) {
  TransformerConfig& model = config.model;
  // Read the window, which null and use_sliding_window = false turn off.
  const bool has_pattern = is_coded(family, "window_pattern");
  const json *window = reader.find("sliding_window"), *is_on = reader.find("use_sliding_window");
  require_input(window != nullptr || !has_pattern || object.contains("sliding_window"), reader.name(), " has no sliding_window");
  if ((window == nullptr && object.contains("sliding_window")) || (is_on != nullptr && *is_on == false)) {
    return;
  }
  model.window = window != nullptr ? whole_number(reader, "sliding_window", *window, 1) : family.window;
  if (family.window == 0 && !has_pattern && model.window >= model.block_size) {
    model.window = 0;  // Phi's files name one that no text fills
  }
  // Read which layers have it: a list, or the size of groups, which has two names.
  const json* layers = reader.find("layer_types");
  const json *size = reader.find("sliding_window_pattern"), *older = reader.find("_sliding_window_pattern");
  size = size != nullptr ? size : older;
  if (layers != nullptr) {
    const std::vector<bool> whole = layers_without_window(reader, *layers, model.n_layer);
    if (std::ranges::find(whole, false) == whole.end()) {
      model.window = 0;
      return;
    }
    // A model with fewer layers than a group has only windows. Then the size of a group changes nothing, but is kept.
    model.window_pattern = group_of(reader, "layer_types", whole);
    const bool is_short = model.window_pattern == 0 && size != nullptr && size->is_number_integer() && *size > model.n_layer;
    require_input(size == nullptr || is_short || *size == model.window_pattern, reader.name(), ": sliding_window_pattern is ",
                  size != nullptr ? short_text(*size) : "", ", but layer_types has groups of ", model.window_pattern,
                  " layers, expected the same");
    model.window_pattern = is_short ? size->get<index>() : model.window_pattern;
  } else if (has_pattern) {
    constexpr index kGemma3 = 6;
    model.window_pattern = size != nullptr ? whole_number(reader, "sliding_window_pattern", *size, 1) : kGemma3;
  }
}

/// Reads which layers have no RoPE: a list with 1 for those that have it, or the size of groups whose last layer has none.
void read_rope_pattern(const HfReader& reader, Config& config) {
  constexpr index kUsual = 4;
  const json *list = reader.find("no_rope_layers"), *size = reader.find("no_rope_layer_interval");
  if (list == nullptr || (list->is_array() && list->empty())) {
    config.model.rope_pattern = size != nullptr ? whole_number(reader, "no_rope_layer_interval", *size, 1) : kUsual;
    return;
  }
  require_input(list->is_array() && std::ssize(*list) == config.model.n_layer, reader.name(), ": no_rope_layers is ", short_text(*list),
                ", expected a list of ", config.model.n_layer, " numbers");
  std::vector<bool> without;
  for (const json& has : *list) {
    require_input(has == 0 || has == 1, reader.name(), ": no_rope_layers has ", short_text(has), ", expected only 0 and 1");
    without.push_back(has == 0);
  }
  config.model.rope_pattern = group_of(reader, "no_rope_layers", without);
}

/// Throws InputError for a value that the family does not support. A null means the same as a missing key, unless the class has a default.
void check_needed(const HfReader& reader, const json& object, const Family& family) {
  for (const NeededValue& needed : family.needed) {
    const bool is_there = object.contains(needed.key), has_default = !needed.absent.empty();
    const json found = is_there ? object[std::string(needed.key)] : has_default ? parse_json(needed.absent) : json();
    require_input((found.is_null() && !has_default) || found == parse_json(needed.value), reader.name(), ": ", needed.key, " is ",
                  short_text(found), is_there ? "" : ", the default of files without it", ", expected ", needed.value,
                  needed.advice.empty() ? "" : "; ", needed.advice);
  }
}

/// Returns a remark that lists unknown keys, or an empty string. transformers ignores such keys too, unless the model's own code reads
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

constexpr std::string_view kClassifierEnd = "ForSequenceClassification";
constexpr std::string_view kSeveralLabels = "multi_label_classification";

/// Reads the labels of a classifier, whose class ends in ForSequenceClassification; there are none for other classes.
ClassifyConfig read_labels_of(const HfReader& reader, const Family& family) {
  const json* classes = reader.find("architectures");
  const bool has_class = classes != nullptr && classes->is_array() && !classes->empty() && classes->front().is_string();
  const std::string name = has_class ? classes->front().get<std::string>() : "";
  if (!name.ends_with(kClassifierEnd)) {
    return {};
  }
  require_input(name == family.classifier, reader.name(), ": architectures is ", short_text(*classes), ", expected ",
                family.classifier.empty() ? family.architecture : family.classifier);
  // Read the names of labels, which have defaults.
  ClassifyConfig classify;
  classify.field = "label";
  const json *names = reader.find("id2label"), *count = reader.find("num_labels"), *problem = reader.find("problem_type");
  constexpr index kUsual = 2;
  const index labels = names != nullptr && names->is_object() ? std::ssize(*names)
                       : count != nullptr                     ? whole_number(reader, "num_labels", *count, 1)
                                                              : kUsual;
  constexpr index kMost = 100'000;
  require_input(labels <= kMost, reader.name(), " has ", labels, " labels, expected at most ", kMost);
  for (index i = 0; i < labels; ++i) {
    const std::string id = concat(i);
    const bool is_named = names != nullptr && names->is_object();
    require_input(!is_named || (names->contains(id) && (*names)[id].is_string()), reader.name(), ": id2label has no name for ", id,
                  ", expected one for each of 0 to ", labels - 1);
    classify.labels.push_back(is_named ? (*names)[id].get<std::string>() : "LABEL_" + id);
  }
  classify.several = problem != nullptr && *problem == kSeveralLabels;
  require_input(problem == nullptr || classify.several || *problem == "single_label_classification", reader.name(), ": problem_type is ",
                problem != nullptr ? short_text(*problem) : "", ", expected \"single_label_classification\" or \"", kSeveralLabels, '"');
  require_input(labels > 1 || classify.several, reader.name(), " has one label, which means regression, expected two or more");
  return classify;
}

void put_labels(const ClassifyConfig& classify, const Family& family, std::optional<Token> pad, json& object) {
  object["architectures"] = json::array({family.classifier});
  object["num_labels"] = classify.labels.size();
  for (std::size_t i = 0; i < classify.labels.size(); ++i) {
    object["id2label"][concat(i)] = classify.labels[i];
    object["label2id"][classify.labels[i]] = i;
  }
  object["problem_type"] = classify.several ? kSeveralLabels : "single_label_classification";
  object["pad_token_id"] = pad ? json(*pad) : json();
}

}  // namespace

ForeignConfig read_hf_config(std::string_view text, const std::string& name) {
  // Find the family.
  const json object = parse_json_object(text, name, "a config.json of Hugging Face");
  const HfReader reader(object, name);
  const json* type = reader.find("model_type");
  require_input(type != nullptr && type->is_string(), name, " has no model_type, expected a config.json of Hugging Face");
  const Family* family = family_named(type->get<std::string>());
  if (family == nullptr) {
    refuse_model_type(name, type->get<std::string>());
  }

  // Read the keys of [model]: the family's fixed ones, then those in the file.
  Config config;
  for (const FixedKey& fixed : family->fixed) {
    apply_override(config, concat("model.", fixed.key, '=', fixed.value));
  }
  for (const KeyName& key : family->config) {
    const json* value = reader.find(key.theirs);
    require_input(value != nullptr || key.absent != kRequired, name, " has no ", key.theirs);
    const bool is_null = value == nullptr && object.contains(key.theirs);  // all classes take null as the number of heads
    require_input(!is_null || key.absent == kDerived || key.ours == "n_kv_head", name, ": ", key.theirs,
                  " is null, expected a value, or no such key, which means ", key.absent);
    if (value != nullptr) {
      reader.set(config, key.ours, key.theirs, *value, key.form);
    } else if (key.absent != kDerived && !is_null) {
      reader.set(config, key.ours, key.theirs, parse_json(key.absent), key.form);
    }
  }

  // Check the keys that may have only one value, and read windows and RoPE.
  check_needed(reader, object, *family);
  if (is_coded(*family, "window")) {
    read_window(reader, object, *family, config);
  } else if (const json* layers = reader.find("layer_types"); layers != nullptr || family->needs_layer_types) {
    require_input(layers != nullptr, name, " has no layer_types, which means layers that dikkat does not have, expected only \"",
                  family->kind_of_layer, '"');
    require_input(layers->is_array() && std::ssize(*layers) == config.model.n_layer, name, ": layer_types is ", short_text(*layers),
                  ", expected a list of ", config.model.n_layer, " layers");
    for (const json& layer : *layers) {
      require_input(layer == family->kind_of_layer, name, ": layer_types has ", short_text(layer), ", expected only \"",
                    family->kind_of_layer, '"');
    }
  }
  if (is_coded(*family, "rope_pattern")) {
    read_rope_pattern(reader, config);
  }
  read_hf_rope(reader, *family, config);

  // Check the model as a whole.
  resolve(config);
  try {
    validate(config);
  } catch (const InputError& error) {
    fail_input(name, " does not describe a valid model: ", error.what());
  }
  ForeignConfig found{family, config.model, hf_end_tokens(reader, config.model.vocab_size)};
  found.classify = read_labels_of(reader, *family);
  found.model.classes = std::ssize(found.classify.labels);
  if (std::string note = note_on_unknown_keys(object, name, *family); !note.empty()) {
    found.notes.push_back(std::move(note));
  }
  if (std::string note = note_on_long_context(found.model, name); !note.empty()) {
    found.notes.push_back(std::move(note));
  }
  return found;
}

std::string hf_config_text(const Family& family, const TransformerConfig& model, const HfExtras& extras) {
  Config config;
  config.model = with_defaults(model);
  config.model.block_size = exported_context(config.model);
  json object{{"architectures", json::array({family.architecture})},
              {"model_type", family.name},
              {"initializer_range", 0.02},
              {"torch_dtype", extras.dtype},
              {"use_cache", true}};

  // Write the keys that may have only one value.
  for (const NeededValue& needed : family.needed) {
    if (const json value = parse_json(needed.value); !value.is_null() && !value.is_number()) {
      object[std::string(needed.key)] = value;
    }
  }
  // Write the keys of [model] as the types that transformers expects.
  for (const KeyName& key : family.config) {
    const schema::Value value = schema::find_key("model", key.ours)->get(config);
    json& to = object[std::string(key.theirs)];
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, double>) {
            const double theirs = theirs_of(key.form, v);
            const bool is_whole = key.form == Form::inverse_root && std::trunc(theirs) == theirs;  // transformers expects an integer
            to = is_whole ? json(static_cast<index>(theirs)) : json(theirs);
          } else if constexpr (std::is_same_v<T, index> || std::is_same_v<T, bool>) {
            to = v;
          }
        },
        value);
  }
  if (object.contains("n_positions")) {
    object["n_ctx"] = object["n_positions"];  // llama.cpp's converter reads it
  }

  // Write windows, and layers without RoPE.
  const auto of_layers = [&](const auto& value_of) {
    json list = json::array();
    for (index layer = 0; layer < model.n_layer; ++layer) {
      list.push_back(value_of(layer));
    }
    return list;
  };
  if (is_coded(family, "window")) {
    object["sliding_window"] = model.window > 0 ? json(model.window) : json();
  }
  if (is_coded(family, "window_pattern")) {
    object["layer_types"] = of_layers([&](index layer) { return window_of(model, layer) > 0 ? "sliding_attention" : "full_attention"; });
    if (model.window_pattern > 0) {
      object["sliding_window_pattern"] = model.window_pattern;
    }
  }
  if (is_coded(family, "rope_pattern")) {
    object["no_rope_layers"] = of_layers([&](index layer) { return has_rope(config.model, layer) ? 1 : 0; });
    object["no_rope_layer_interval"] = model.rope_pattern;
  }
  if (is_coded(family, "rope_theta_local") && model.window > 0) {
    object["rope_local_base_freq"] = model.rope_theta_local > 0 ? model.rope_theta_local : model.rope_theta;
  }

  // Write RoPE in the form of transformers 4, which transformers 5 reads too.
  if (config.model.positions == Positions::rope) {
    object["rope_theta"] = config.model.rope_theta;
    json scaling;
    if (config.model.rope_scaling != RopeScaling::none) {
      scaling = {{"rope_type", name_of(config.model.rope_scaling)}, {"factor", config.model.rope_factor}};
    }
    if (is_coded(family, "rope_share")) {
      object["partial_rotary_factor"] = config.model.rope_share;
    }
    if (is_coded(family, "rope_short_factors")) {
      object["original_max_position_embeddings"] =
          config.model.rope_scaling == RopeScaling::longrope ? config.model.rope_original_context : config.model.block_size;
    }
    // LongRoPE and Llama 3.1's scaling have keys of their own.
    if (config.model.rope_scaling == RopeScaling::longrope) {  // transformers 4 refuses any other key
      scaling = {{"type", "longrope"}, {"short_factor", short_factors(config.model)}, {"long_factor", long_factors(config.model)}};
    }
    if (config.model.rope_scaling == RopeScaling::llama3) {
      scaling["low_freq_factor"] = config.model.rope_low_freq_factor;
      scaling["high_freq_factor"] = config.model.rope_high_freq_factor;
      scaling["original_max_position_embeddings"] = config.model.rope_original_context;
    }
    object["rope_scaling"] = scaling;
  }

  // Write the tokens around a text.
  const auto put_token = [&](const char* key, std::optional<Token> token) { object[key] = token ? json(*token) : json(); };
  put_token("bos_token_id", extras.bos);
  put_token("eos_token_id", extras.eos);
  if (extras.classify != nullptr) {
    put_labels(*extras.classify, family, extras.eos, object);
  }
  return object.dump(2) + '\n';
}

}  // namespace dikkat
