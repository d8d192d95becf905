#include "train/exchange/hf_rope.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/config/schema.h"

namespace dikkat {
namespace {

using nlohmann::json;

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
      {"longrope",
       {{"short_factor", "rope_short_factors"}, {"long_factor", "rope_long_factors"}},
       {"original_max_position_embeddings", "factor", "attention_factor"}},
  };
  return forms;
}

/// Reads LongRoPE's keys other than its two lists: the original context, which config.json or the object names, and the amplitude. The
/// amplitude follows from both contexts unless the object has it. The model then has the original context.
void read_long_rope(const HfReader& reader, const char* where, const json& object, Config& config) {
  TransformerConfig& model = config.model;
  const json *whole = reader.find("max_position_embeddings"), *amplitude = find_value(object, "attention_factor");
  const json *outside = reader.find("original_max_position_embeddings"), *inside = find_value(object, "original_max_position_embeddings");
  const json* original = outside != nullptr ? outside : inside;
  require_input(original != nullptr, reader.name(), ": ", where, " of type \"longrope\" has no original_max_position_embeddings");
  require_input(inside == nullptr || *inside == *original, reader.name(), ": original_max_position_embeddings is ", short_text(*original),
                ", and in ", where, ' ', inside != nullptr ? short_text(*inside) : "", ", expected one value");
  reader.set(config, "rope_original_context", "original_max_position_embeddings", *original);

  // Versions of transformers disagree on a factor that is not the ratio of both contexts.
  const index longer = whole != nullptr ? whole->get<index>() : model.block_size;
  const double ratio = static_cast<double>(longer) / static_cast<double>(model.rope_original_context);
  const json* factor = find_value(object, "factor");
  require_input(factor == nullptr || *factor == ratio, reader.name(), ": ", where, " has the factor ",
                factor != nullptr ? short_text(*factor) : "",
                ", expected max_position_embeddings / original_max_position_embeddings = ", schema::to_toml(ratio));
  model.rope_factor = std::max(ratio, 1.0);
  model.block_size = std::min(longer, model.rope_original_context);
  model.rope_amplitude = Defaulted<double>();
  if (amplitude != nullptr) {
    reader.set(config, "rope_amplitude", "attention_factor", *amplitude);
  }
}

/// Reads the share of a head that RoPE rotates: partial_rotary_factor of config.json or of an object of RoPE, which must agree.
void read_rope_share(const HfReader& reader, const json* object, Config& config) {
  const json *outside = reader.find("partial_rotary_factor"),
             *inside = object != nullptr ? find_value(*object, "partial_rotary_factor") : nullptr;
  require_input(outside == nullptr || inside == nullptr || *outside == *inside, reader.name(), ": partial_rotary_factor is ",
                outside != nullptr ? short_text(*outside) : "", ", and for RoPE ", inside != nullptr ? short_text(*inside) : "",
                ", expected one value");
  if (const json* share = outside != nullptr ? outside : inside; share != nullptr) {
    reader.set(config, "rope_share", "partial_rotary_factor", *share);
  }
}

/// Reads an object of RoPE: rope_scaling of transformers 4, or rope_parameters of transformers 5, which also has rope_theta. Refuses
/// unknown and missing keys, because ignoring them would compute another model.
void read_rope_object(const HfReader& reader, const char* where, const json& object, const Family& family, Config& config) {
  // Read the type, which has two names.
  require_input(object.is_object(), reader.name(), ": ", where, " is ", short_text(object), ", expected an object");
  const json *type = find_value(object, "rope_type"), *older = find_value(object, "type");
  require_input(type == nullptr || older == nullptr || *type == *older, reader.name(), ": ", where, " has rope_type ",
                type != nullptr ? short_text(*type) : "", " and type ", older != nullptr ? short_text(*older) : "", ", expected only one");
  type = type != nullptr ? type : older;
  require_input(type == nullptr || type->is_string(), reader.name(), ": ", where, " has the type ",
                type != nullptr ? short_text(*type) : "", ", expected a text");
  const bool has_factors = is_coded(family, "rope_short_factors"), has_share = is_coded(family, "rope_share");
  std::string kind = type != nullptr ? type->get<std::string>() : "default";
  kind = kind == "su" && has_factors ? "longrope" : kind;  // Phi-3's first name
  const auto form = std::ranges::find(rope_forms(), kind, &RopeForm::type);
  const bool is_possible = form != rope_forms().end() && (kind == "default" || (kind == "longrope") == has_factors);
  require_input(is_possible, reader.name(), ": RoPE is scaled by ", schema::in_quotes(kind), " (", where, "), expected ",
                has_factors ? "default or longrope for " : "default, linear or llama3 for ", family.name);

  // Check that no key is unknown.
  for (const auto& item : object.items()) {
    const std::string& key = item.key();
    const json& value = item.value();
    const auto is = [&](const auto& name) { return name == key; };
    const bool is_known = is("rope_type") || is("type") || is("rope_theta") || std::ranges::any_of(form->ignored, is) ||
                          (has_share && is("partial_rotary_factor")) ||
                          std::ranges::any_of(form->needed, [&](const auto& entry) { return entry.first == key; });
    const bool is_one = (is("partial_rotary_factor") || is("factor") || is("attention_factor")) && value.is_number() && value == 1;
    require_input(is_known || is_one || value.is_null(), reader.name(), ": ", where, " of type ", schema::in_quotes(kind), " has the key ",
                  key, " (", short_text(value), "), which dikkat does not know");
  }
  // Read the keys that the type needs.
  for (const auto& [key, ours] : form->needed) {
    const json* value = find_value(object, key);
    require_input(value != nullptr, reader.name(), ": ", where, " of type ", schema::in_quotes(kind), " has no ", key);
    reader.set(config, ours, key, *value);
  }
  config.model.rope_scaling = kind == "default" ? RopeScaling::none : *value_named<RopeScaling>(kind);
  if (config.model.rope_scaling == RopeScaling::longrope) {
    read_long_rope(reader, where, object, config);
  }
  if (has_share) {
    read_rope_share(reader, &object, config);
  }
}

/// Reads RoPE's keys: rope_theta and rope_scaling of transformers 4, rope_parameters of transformers 5. A file may have both forms if they
/// agree.
void read_rope(const HfReader& reader, const Family& family, Config& config) {
  const json *parameters = reader.find("rope_parameters"), *scaling = reader.find("rope_scaling"), *theta = reader.find("rope_theta");
  if (parameters != nullptr) {
    read_rope_object(reader, "rope_parameters", *parameters, family, config);
    const json* inside = find_value(*parameters, "rope_theta");
    require_input(inside != nullptr || theta != nullptr, reader.name(), ": rope_parameters has no rope_theta");
    require_input(inside == nullptr || theta == nullptr || *inside == *theta, reader.name(), ": rope_theta is ",
                  theta != nullptr ? short_text(*theta) : "", ", and in rope_parameters ", inside != nullptr ? short_text(*inside) : "",
                  ", expected one value");
    theta = inside != nullptr ? inside : theta;
  }
  if (scaling != nullptr) {
    Config other = config;
    read_rope_object(reader, "rope_scaling", *scaling, family, other);
    require_input(parameters == nullptr || other.model == config.model, reader.name(), ": rope_scaling is ", short_text(*scaling),
                  ", and rope_parameters is ", parameters != nullptr ? short_text(*parameters) : "", ", expected only one");
    const json* inside = find_value(*scaling, "rope_theta");
    require_input(inside == nullptr || theta == nullptr || *inside == *theta, reader.name(), ": rope_theta is ",
                  theta != nullptr ? short_text(*theta) : "", ", and in rope_scaling ", inside != nullptr ? short_text(*inside) : "",
                  ", expected one value");
    theta = theta != nullptr ? theta : inside;
    config = other;
  }
  reader.set(config, "rope_theta", "rope_theta", theta != nullptr ? *theta : json(family.rope_theta));
  if (parameters == nullptr && scaling == nullptr && is_coded(family, "rope_share")) {
    read_rope_share(reader, nullptr, config);
  }
}

/// Reads the RoPE of a family whose layers with a window have a base of their own. This is rope_local_base_freq of transformers 4, or an
/// object of rope_parameters for each kind of layer.
void read_rope_of_kinds(const HfReader& reader, const Family& family, Config& config) {
  const json* parameters = reader.find("rope_parameters");
  const json *whole = parameters != nullptr ? find_value(*parameters, "full_attention") : nullptr,
             *local = parameters != nullptr ? find_value(*parameters, "sliding_attention") : nullptr;
  json plain = reader.object();
  const json* theta = reader.find("rope_local_base_freq");
  if (whole != nullptr && local != nullptr) {
    Config windowed;
    read_rope_object(reader, "rope_parameters.sliding_attention", *local, family, windowed);
    require_input(windowed.model.rope_scaling == RopeScaling::none, reader.name(),
                  ": rope_parameters.sliding_attention scales RoPE, expected rope_type \"default\"");
    theta = find_value(*local, "rope_theta");
    plain["rope_parameters"] = *whole;
  }
  read_rope(HfReader(plain, reader.name()), family, config);
  if (config.model.window > 0) {
    constexpr double kUsualLocal = 10'000;
    reader.set(config, "rope_theta_local", "rope_local_base_freq", theta != nullptr ? *theta : json(kUsualLocal));
  }
}

}  // namespace

void read_hf_rope(const HfReader& reader, const Family& family, Config& config) {
  if (is_coded(family, "rope_theta_local")) {
    read_rope_of_kinds(reader, family, config);
  } else if (config.model.positions == Positions::rope) {
    read_rope(reader, family, config);
  }
}

}  // namespace dikkat
