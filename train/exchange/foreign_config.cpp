#include "train/exchange/foreign_config.h"

#include <algorithm>
#include <cstdint>

#include "autograd/base/error.h"
#include "train/config/parse.h"
#include "train/config/schema.h"

namespace dikkat {
namespace {

/// What of the model the family cannot say.
std::vector<std::string> differences(const Family& family, const Config& config) {
  std::vector<std::string> found;
  const TransformerConfig& model = config.model;
  for (const FixedKey& fixed : family.fixed) {
    const schema::Key* key = schema::find_key("model", fixed.key);
    require(key != nullptr, "family_of: model.", fixed.key, " is no key");
    const bool is_bias = fixed.key == "bias" || fixed.key == "qkv_bias";
    const std::string value = schema::to_toml(key->get(config));
    if (value != fixed.value && !(is_bias && family.has_all_biases)) {
      found.push_back(concat(key->path(), " is ", value, ", expected ", fixed.value));
    }
  }
  const auto has_key = [&](std::string_view ours) {
    return std::any_of(family.config.begin(), family.config.end(), [&](const KeyName& name) { return name.ours == ours; });
  };
  if (!has_key("n_kv_head") && model.n_kv_head != model.n_head) {
    found.push_back(concat("model.n_kv_head is ", *model.n_kv_head, ", expected model.n_head = ", model.n_head));
  }
  if (!has_key("head_size") && model.head_size * model.n_head != model.n_embd) {
    found.push_back(concat("model.head_size is ", *model.head_size, ", expected model.n_embd / model.n_head"));
  }
  return found;
}

}  // namespace

const Family* family_of(const TransformerConfig& model, std::string& why) {
  Config config;
  config.model = with_defaults(model);
  if (model.kind != ModelKind::gpt) {
    why = "model.kind is \"encoder_decoder\", expected \"gpt\"";
    return nullptr;
  }
  std::size_t least = SIZE_MAX;
  for (const Family& family : families()) {
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
