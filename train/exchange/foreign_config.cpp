#include "train/exchange/foreign_config.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "autograd/base/error.h"
#include "train/config/schema.h"

namespace dikkat {
namespace {

/// Keys of [model] that only matter to the initialisation or training of a model.
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
  return found;
}

}  // namespace

std::vector<std::string> unknown_keys(const Family& family) {
  std::vector<std::string> unknown;
  for (const schema::Key& key : schema::keys()) {
    const bool is_fixed = std::ranges::find(family.fixed, key.name, &FixedKey::key) != family.fixed.end();
    const bool is_compared = holds(kOfHeads, key.name) && !names_key(family.config, key.name);
    const bool is_listed = holds(kOfTraining, key.name) || holds(kOfKind, key.name) || holds(kOfRope, key.name);
    const bool is_implied = std::ranges::find(family.gguf_implied, key.name, &FixedKey::key) != family.gguf_implied.end();
    const bool is_written = (names_key(family.config, key.name) || is_coded(family, key.name)) &&
                            (family.gguf.empty() || names_key(family.gguf, key.name) || is_implied || key.name == kTied);
    if (key.section == "model" && !is_fixed && !is_compared && !is_listed && !is_written) {
      unknown.push_back(key.path());
    }
  }
  return unknown;
}

std::vector<const Family*> families_of(const TransformerConfig& model) {
  Config config;
  config.model = with_defaults(model);
  std::vector<const Family*> found;
  for (const Family& family : families()) {
    if (model.kind == ModelKind::gpt && differences(family, config).empty()) {
      found.push_back(&family);
    }
  }
  return found;
}

const Family* family_of(const TransformerConfig& model, std::string& why) {
  Config config;
  config.model = with_defaults(model);
  if (model.kind != ModelKind::gpt) {
    why = "model.kind is \"encoder_decoder\", expected \"gpt\"";
    return nullptr;
  }
  std::size_t least = SIZE_MAX;
  for (const Family& family : families()) {
    const std::vector<std::string> unknown = unknown_keys(family);
    require(unknown.empty(), "family_of: the family ", family.name, " does not know ", unknown.empty() ? "" : unknown.front(),
            ", expected a row in family.cpp, or a name in foreign_config.cpp");
    const std::vector<std::string> found = differences(family, config);
    if (found.empty()) {
      return &family;
    }
    if (found.size() < least) {
      least = found.size();
      why.clear();
      for (const std::string& difference : found) {
        why += concat(why.empty() ? "" : "; ", difference);
      }
      why += concat(" (", family.name, ", the nearest)");
    }
  }
  return nullptr;
}

}  // namespace dikkat
