#include "train/exchange/foreign_config.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "autograd/base/error.h"
#include "train/config/schema.h"

namespace dikkat {
namespace {

/// Keys of [model] that only matter to the initialization or training of a model.
constexpr std::string_view kOfTraining[] = {"dropout", "zero_init_projections", "zero_head"};

/// Keys of [model] that have no effect on a GPT. family_of() refuses any other kind.
constexpr std::string_view kOfKind[] = {"kind", "n_encoder_layer", "share_embeddings"};

/// Keys of [model] that hf_config.cpp and gguf_model.cpp write if the model has RoPE.
constexpr std::string_view kOfRope[] = {"rope_theta",           "rope_scaling",          "rope_factor",
                                        "rope_low_freq_factor", "rope_high_freq_factor", "rope_original_context"};

/// Keys of [model] that differences() checks against other keys if the family does not name them.
constexpr std::string_view kOfHeads[] = {"n_kv_head", "head_size", "attention_scale"};

/// A key of [model] that GGUF has no name for: a separate output head is a tensor in the file.
constexpr std::string_view kTied = "tie_embeddings";

bool holds(std::span<const std::string_view> names, std::string_view key) { return std::ranges::find(names, key) != names.end(); }

bool names_key(std::span<const KeyName> names, std::string_view key) {
  return std::ranges::find(names, key, &KeyName::ours) != names.end();
}

/// Adds RoPE's settings that the family cannot describe. Only a family with rope_short_factors has LongRoPE, and it has no other scaling.
void add_differences_of_rope(const Family& family, const TransformerConfig& model, std::vector<std::string>& found) {
  const bool is_long = model.rope_scaling == RopeScaling::longrope;
  const bool has_factors = is_coded(family, "rope_short_factors");
  if (model.positions != Positions::rope) {
    return;
  }
  // Check the kind of scaling.
  if (has_factors ? !is_long && model.rope_scaling != RopeScaling::none : is_long) {
    found.push_back(concat("model.rope_scaling is \"", name_of(model.rope_scaling), "\", expected ",
                           has_factors ? "\"none\" or \"longrope\"" : "\"none\", \"linear\" or \"llama3\""));
    return;
  }
  if (!has_factors) {
    return;
  }
  // Files have both lists or none, and the amplitude follows from two contexts.
  if (!is_long && !(model.rope_short_factors.empty() && model.rope_long_factors.empty())) {
    found.push_back("model.rope_short_factors is given, expected model.rope_scaling = \"longrope\" with it");
  }
  if (is_long && model.rope_long_factors.empty() && model.rope_factor > 1) {
    found.push_back(
        "model.rope_long_factors is [], expected one number for each pair, as in model.rope_short_factors, or model.rope_factor = 1.0");
  }
  // Check the amplitude, which must follow from the contexts, and the share of a head.
  TransformerConfig usual = model;
  usual.rope_amplitude = Defaulted<double>();
  usual.rope_factor = static_cast<double>(exported_context(model)) / static_cast<double>(model.rope_original_context);
  if (const double amplitude = *with_defaults(usual).rope_amplitude; model.rope_amplitude != amplitude) {
    found.push_back(concat("model.rope_amplitude is ", schema::to_toml(double{model.rope_amplitude}), ", expected ",
                           schema::to_toml(amplitude), ", which follows from the other keys"));
  }
  if (const auto rows = static_cast<index>(static_cast<double>(model.head_size) * model.rope_share); rows != rotated_size(model)) {
    found.push_back(concat("model.rope_share is ", schema::to_toml(model.rope_share), ", which is ", rows,
                           " numbers of a head, expected an even number of at least 2"));
  }
}

/// Lists the settings of the model that the family cannot describe.
std::vector<std::string> differences(const Family& family, const Config& config) {
  std::vector<std::string> found;
  const TransformerConfig& model = config.model;
  for (const FixedKey& fixed : family.fixed) {
    const schema::Key* key = schema::find_key("model", fixed.key);
    require(key != nullptr, "family_of: model.", fixed.key, " is not a key");
    const bool is_bias = fixed.key == "bias" || fixed.key == "qkv_bias";
    const std::string value = schema::to_toml(key->get(config));
    if (value != fixed.value && !(is_bias && family.has_all_biases)) {
      found.push_back(concat(key->path(), " is ", value, ", expected ", fixed.value));
    }
  }
  if (!names_key(family.config, "n_kv_head") && model.n_kv_head != model.n_head) {
    found.push_back(concat("model.n_kv_head is ", *model.n_kv_head, ", expected model.n_head = ", model.n_head));
  }
  if (!names_key(family.config, "head_size") && model.head_size * model.n_head != model.n_embd) {
    found.push_back(concat("model.head_size is ", *model.head_size, ", expected model.n_embd / model.n_head"));
  }
  if (const double usual = 1 / std::sqrt(static_cast<double>(model.head_size));
      !names_key(family.config, "attention_scale") && model.attention_scale != usual) {
    found.push_back(concat("model.attention_scale is ", schema::to_toml(double{model.attention_scale}),
                           ", expected 1 / sqrt(model.head_size) = ", schema::to_toml(usual)));
  }
  add_differences_of_rope(family, model, found);
  return found;
}

}  // namespace

index exported_context(const TransformerConfig& model) {
  const bool is_longer = model.positions == Positions::rope && model.rope_scaling == RopeScaling::longrope;
  return is_longer ? static_cast<index>(std::llround(model.rope_factor * static_cast<double>(model.rope_original_context)))
                   : model.block_size;
}

std::vector<double> short_factors(const TransformerConfig& model) {
  return model.rope_short_factors.empty() ? std::vector<double>(static_cast<std::size_t>(rotated_size(model) / 2), 1.0)
                                          : model.rope_short_factors;
}

std::vector<double> long_factors(const TransformerConfig& model) {
  return model.rope_long_factors.empty() ? short_factors(model) : model.rope_long_factors;
}

std::string note_on_long_context(const TransformerConfig& model, const std::string& name) {
  const index whole = exported_context(model);
  return whole <= model.block_size ? ""
                                   : concat(name, " names a context of ", whole, " tokens; dikkat reads at most ",
                                            model.rope_original_context, " of them, LongRoPE's original context");
}

std::vector<std::string> unknown_keys(const Family& family) {
  std::vector<std::string> unknown;
  for (const schema::Key& key : schema::keys()) {
    const bool is_fixed = std::ranges::find(family.fixed, key.name, &FixedKey::key) != family.fixed.end();
    const bool is_compared = holds(kOfHeads, key.name) && !names_key(family.config, key.name);
    const bool is_listed = holds(kOfTraining, key.name) || holds(kOfKind, key.name) || holds(kOfRope, key.name);
    const bool is_implied = std::ranges::find(family.gguf_implied, key.name, &FixedKey::key) != family.gguf_implied.end();
    const bool is_written =
        (names_key(family.config, key.name) || is_coded(family, key.name)) &&
        (family.gguf.empty() || names_key(family.gguf, key.name) || is_implied || key.name == kTied || holds(family.gguf_coded, key.name));
    if (key.section == "model" && !is_fixed && !is_compared && !is_listed && !is_written) {
      unknown.push_back(key.path());
    }
  }
  return unknown;
}

std::vector<const Family*> families_of(const TransformerConfig& model, std::string& why) {
  std::vector<const Family*> able;
  Config config;
  config.model = with_defaults(model);
  if (model.kind != ModelKind::gpt) {
    why = "model.kind is \"encoder_decoder\", expected \"gpt\"";
    return able;
  }
  std::size_t least = SIZE_MAX;
  for (const Family& family : families()) {
    const std::vector<std::string> unknown = unknown_keys(family);
    require(unknown.empty(), "family_of: the family ", family.name, " does not know ", unknown.empty() ? "" : unknown.front(),
            ", expected a row in families/, or a name in foreign_config.cpp");
    const std::vector<std::string> found = differences(family, config);
    if (found.empty()) {
      able.push_back(&family);
    } else if (found.size() < least) {
      least = found.size();
      why.clear();
      for (const std::string& difference : found) {
        why += concat(why.empty() ? "" : "; ", difference);
      }
      why += concat(" (", family.name, ", the nearest)");
    }
  }
  return able;
}

const Family* family_of(const TransformerConfig& model, std::string& why) {
  const std::vector<const Family*> able = families_of(model, why);
  return able.empty() ? nullptr : able.front();
}

}  // namespace dikkat
